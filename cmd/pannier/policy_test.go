package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pannier"
)

func TestPolicySet(t *testing.T) {
	t.Parallel()
	w, stateDir := newWorkspace(t), t.TempDir()
	writeIn(t, w, skillScript("pdf", "Reads it."))
	args := []string{"--platform-url", "off", "--state-dir", stateDir}
	s := startSidecar(t, w, args...)
	s.judged(t, "pdf", pannier.StateEligible, pannier.EnvironmentSidecar)

	if out, code := s.run("policy", "set", "pdf", "--enabled=false"); code != 0 || !strings.Contains(out, "pdf   workspace  false    workspace  true      gateway") {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	s.judged(t, "pdf", pannier.StateDisabled, pannier.EnvironmentSidecar) // the answer came after the snapshot
	if card, err := s.Card(t.Context()); err != nil || strings.Contains(string(card), "pdf") {
		t.Errorf("the card shows a disabled skill: %s, %v", card, err)
	}
	r, err := s.Resolve(t.Context(), pannier.Turn{Text: "/skill:pdf"})
	if err != nil || len(r.Active) != 0 || len(r.Rejected) != 1 || r.Rejected[0].Reason != pannier.RejectedDisabled {
		t.Errorf("%+v, %v", r, err)
	}
	s.hasEvent(t, pannier.EventPolicyChanged, `"slug":"pdf","source_kind":"workspace","before":{},"after":{"enabled":false,"path":"skills/pdf"}`)
	s.hasEvent(t, pannier.EventSkillStateChanged, `"to":"disabled","cause":"disabled: workspace policy"`)

	s.kill()
	s = startSidecar(t, w, args...)
	s.judged(t, "pdf", pannier.StateDisabled, pannier.EnvironmentSidecar) // it is kept
	if out, code := s.run("policy", "set", "pdf", "--enabled=default", "--implicit=false"); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	s.judged(t, "pdf", pannier.StateEligible, pannier.EnvironmentSidecar)
	if p, err := s.Prompt(t.Context(), pannier.Turn{}); err != nil || p.Text != "" {
		t.Errorf("the prompt offers what nobody may use without being told: %q, %v", p.Text, err)
	}
	if r, err := s.Resolve(t.Context(), pannier.Turn{Text: "/skill:pdf"}); err != nil || len(r.Active) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	audit, err := s.Audit(t.Context(), "pdf", 10)
	if err != nil || len(audit.Entries) != 4 || audit.Entries[3].Seq != 1 || audit.Entries[0].SnapshotVersion == 0 {
		t.Errorf("audit %+v, %v", audit, err)
	}
}

// TestPolicyOfNoSkill sets a policy for a later skill, and warns that no skill has the slug.
func TestPolicyOfNoSkill(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	writeIn(t, w, skillScript("pdf", "Reads it."))
	s := startSidecar(t, w)
	for line, warning := range map[string]string{
		"policy set nosuch --implicit=true":    `warning: no skill "nosuch" of kind workspace`,
		"policy set nosuch --implicit=default": "",
		"policy set pdf --implicit=true":       "",
	} {
		code, _, complaint := runHere(t, append(strings.Fields(line), "--socket", s.socket)...)
		if code != exitYes || !strings.HasPrefix(complaint, warning) || warning == "" && complaint != "" {
			t.Errorf("%s: exit code %d: %s", line, code, complaint)
		}
	}
}

// TestAuditLogOfNoWorkspace names the directory that does not exist.
func TestAuditLogOfNoWorkspace(t *testing.T) {
	t.Parallel()
	none := filepath.Join(t.TempDir(), "none")
	code, _, complaint := runHere(t, "audit-log", "list", "--workspace", none, "--socket", shortDir(t)+"/s")
	if code != exitUnknown || !strings.Contains(complaint, none+": no such file") || !strings.Contains(complaint, "--workspace") {
		t.Errorf("exit code %d: %s", code, complaint)
	}
}

func TestPolicyOfTheSettings(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	writeIn(t, w, skillScript("pdf", "Reads it."))
	settings := filepath.Join(t.TempDir(), "pannier.yaml")
	if err := os.WriteFile(settings, []byte("policy:\n  skills:\n    pdf: {enabled: false}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startSidecar(t, w, "--platform-url", "off", "--config", settings)
	s.judged(t, "pdf", pannier.StateDisabled, pannier.EnvironmentSidecar)
	if out, code := s.run("policy", "set", "pdf", "--enabled=true"); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	s.judged(t, "pdf", pannier.StateEligible, pannier.EnvironmentSidecar)
}

// TestWhoMayChange asks as another user, whom the mode of the socket lets in.
func TestWhoMayChange(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can ask as another user")
	}
	const stranger, friend = 65533, 65532
	w := newWorkspace(t)
	writeIn(t, w, skillScript("pdf", "Reads it."))
	s := startSidecar(t, w, "--platform-url", "off", "--socket-mode", "0666", "--write-uids", "65532")
	program := filepath.Join(shortDir(t), "pannier") // where others may reach it
	writeIn(t, filepath.Dir(program), "cp "+binary+" pannier; chmod 755 . pannier")
	if err := os.Chmod(filepath.Dir(s.socket), 0o755); err != nil {
		t.Fatal(err)
	}
	ask := func(uid uint32, args ...string) (string, int) {
		cmd := exec.Command(program, append(args, "--socket", s.socket)...)
		cmd.Env, cmd.Dir = cleanEnviron(), filepath.Dir(program)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	if out, code := ask(stranger, "list"); code != 0 {
		t.Errorf("reading: exit code %d\n%s", code, out)
	}
	if out, code := ask(stranger, "environment", "--put"); code != 0 {
		t.Errorf("putting the environment: exit code %d\n%s", code, out)
	}
	if out, code := ask(stranger, "policy", "set", "pdf", "--enabled=false"); code != exitNo || !strings.Contains(out, "--write-uids") {
		t.Errorf("changing policy: exit code %d\n%s", code, out)
	}
	if out, code := ask(friend, "policy", "set", "pdf", "--enabled=false"); code != 0 {
		t.Errorf("changing policy as a user that the settings name: exit code %d\n%s", code, out)
	}
}

// TestNoChangeWithoutAudit puts a directory where the audit log would be.
func TestNoChangeWithoutAudit(t *testing.T) {
	t.Parallel()
	w, stateDir := newWorkspace(t), t.TempDir()
	writeIn(t, w, skillScript("pdf", "Reads it."))
	s := startSidecar(t, w, "--platform-url", "off", "--state-dir", stateDir)
	if out, code := s.run("policy", "set", "pdf", "--enabled=true"); code != 0 { // from here on there is a policy file
		t.Fatalf("exit code %d\n%s", code, out)
	}
	s.terminate(t)
	writeIn(t, stateDir, "mv "+testWorkspaceID+"/audit audit.kept; : > "+testWorkspaceID+"/audit")
	s = startSidecar(t, w, "--platform-url", "off", "--state-dir", stateDir)
	s.hasCondition(t, "audit_unusable")
	if out, code := s.run("policy", "set", "pdf", "--enabled=false"); code != exitUnknown || !strings.Contains(out, "nothing was changed") || !strings.Contains(out, "hint: ") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	s.judged(t, "pdf", pannier.StateEligible, pannier.EnvironmentSidecar)
	if err := os.Remove(filepath.Join(stateDir, testWorkspaceID, "audit")); err != nil {
		t.Fatal(err)
	}
	if out, code := s.run("policy", "set", "pdf", "--enabled=false"); code != 0 { // without a restart
		t.Errorf("exit code %d\n%s", code, out)
	}
	if h, err := s.Health(t.Context()); err != nil || strings.Contains(fmt.Sprint(h.Conditions), "audit_unusable") {
		t.Errorf("health %+v, %v", h, err)
	}
}
