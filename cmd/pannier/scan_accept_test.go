package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pannier"
)

// TestAcceptedSkill accepts a finding by the command line: the skill can be used until it changes, at its path only.
func TestAcceptedSkill(t *testing.T) {
	t.Parallel()
	w, stateDir := newWorkspace(t), t.TempDir()
	writeIn(t, w, hostileSkill("evil"))
	args := []string{"--platform-url", "off", "--state-dir", stateDir, "--scan", "enforce"}
	s := startSidecar(t, w, args...)
	s.standsAt(t, "evil", pannier.StateIneligible, pannier.ReasonSecurityBlocked)

	for _, wrong := range [][]string{
		{"--accept", "scan.none", "--reason", "r"}, {"--accept", "scan.command.pipe_shell"}, {"--accept", "scan.file.elf", "--reason", "r"},
	} {
		if out, code := s.run(append([]string{"scan", "evil"}, wrong...)...); code == exitYes || !strings.Contains(out, "hint: ") {
			t.Errorf("%v: exit code %d\n%s", wrong, code, out)
		}
	}
	s.standsAt(t, "evil", pannier.StateIneligible, pannier.ReasonSecurityBlocked)

	out, code := s.run("scan", "evil", "--accept", "scan.command.pipe_shell", "--reason", "our own host")
	if code != exitYes || !strings.Contains(out, "our own host") || !strings.Contains(out, "decision     warn") {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	s.standsAt(t, "evil", pannier.StateEligible)
	for _, command := range []string{"show", "health"} {
		if out, _ := s.run(command, "evil"); !strings.Contains(out, "scan.command.pipe_shell by uid:") || !strings.Contains(out, ": our own host") {
			t.Errorf("%s:\n%s", command, out)
		}
	}
	if out, code := s.run("health", "evil", "--json"); code != exitYes || strings.Contains(strings.ReplaceAll(out, " ", ""), `"severity":"block"`) || !strings.Contains(out, "pipe_shell") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	s.terminate(t)
	s = startSidecar(t, w, args...)
	s.standsAt(t, "evil", pannier.StateEligible)

	s.write(t, "printf more > skills/evil/more.md; sleep 0.2")
	s.standsAt(t, "evil", pannier.StateIneligible, pannier.ReasonSecurityBlocked) // another content
	s.write(t, "rm skills/evil/more.md; sleep 0.2")
	s.standsAt(t, "evil", pannier.StateEligible) // exactly the content that was accepted
	s.write(t, "mkdir skills/other; mv skills/evil skills/other/evil")
	s.standsAt(t, "evil", pannier.StateIneligible, pannier.ReasonSecurityBlocked) // another skill takes the slug
	s.write(t, "mv skills/other/evil skills/evil; sleep 0.2")
	s.standsAt(t, "evil", pannier.StateEligible)

	if out, code := s.run("scan", "evil", "--accept", "none"); code != exitNo || strings.Contains(out, "our own host") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	s.standsAt(t, "evil", pannier.StateIneligible, pannier.ReasonSecurityBlocked)
}

// TestAcceptedInstallation installs a skill with a blocking finding that is accepted, under each setting.
func TestAcceptedInstallation(t *testing.T) {
	t.Parallel()
	from := t.TempDir()
	writeIn(t, from, "mkdir skills\n"+hostileSkill("evil"))
	dir := filepath.Join(from, "skills", "evil")
	for _, mode := range []string{"off", "report", "enforce"} {
		w := newWorkspace(t)
		s := startSidecar(t, w, "--platform-url", "off", "--state-dir", t.TempDir(), "--scan", mode)
		accept := []string{"install", dir, "--accept", "scan.command.pipe_shell", "--reason", "our own host"}
		s.runs(t, exitNo, "scan.command.pipe_shell", "install", dir)
		if out, code := s.run("install", dir, "--accept", "scan.file.elf", "--reason", "r"); code == exitYes || !strings.Contains(out, "scan.file.elf") {
			t.Errorf("%s: exit code %d\n%s", mode, code, out)
		}
		s.runs(t, exitYes, "our own host", append(accept, "--dry-run")...)
		s.runs(t, exitYes, "our own host", accept...)
		if e, err := s.entry(t, "evil"); err != nil || e.State != pannier.StateEligible { // the answer comes with the snapshot
			t.Errorf("%s: %s, %v", mode, e.State, err)
		}
		s.scannedBy(t, "evil", pannier.ScanInstall, pannier.ScanWarn)
		lock, err := os.ReadFile(filepath.Join(w, "skills", ".pannier", "lock.json"))
		if err != nil || !strings.Contains(string(lock), `"reason": "our own host"`) {
			t.Errorf("%s: %v\n%s", mode, err, lock)
		}
		if audit, err := s.Audit(t.Context(), "evil", 10); err != nil || len(audit.Entries) == 0 {
			t.Errorf("%s: %+v, %v", mode, audit, err)
		} else if text, err := compactJSON(audit.Entries[0].Detail); err != nil || !strings.Contains(string(text), "our own host") {
			t.Errorf("%s: audit %s, %v", mode, text, err)
		}
		s.write(t, "printf more > skills/evil/more.md; sleep 0.2")
		if mode == "enforce" {
			s.standsAt(t, "evil", pannier.StateIneligible, pannier.ReasonSecurityBlocked)
		}
		s.terminate(t)
	}
}
