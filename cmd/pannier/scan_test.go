package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pannier"
)

// shellFingerprint computes a fingerprint without any code of ours.
func shellFingerprint(t *testing.T, dir string) string {
	t.Helper()
	cmd := exec.Command("sh", "-euc", `find . -path ./.pannier -prune -o -type f \( -perm /111 -printf '%P\tx\n' -o -printf '%P\t-\n' \) | LC_ALL=C sort |
		while IFS="$(printf '\t')" read -r path mark; do
			printf '%s\0%s\0%s\n' "$path" "$mark" "$(sha256sum < "$path" | cut -d ' ' -f 1)"
		done | sha256sum`)
	cmd.Dir = dir
	out := must(cmd.Output())(t)
	return "sha256:" + strings.Fields(string(out))[0]
}

// hasFingerprint waits until the list shows the fingerprint of a skill as it is on the disk.
func (s *sidecarUnderTest) hasFingerprint(t *testing.T, slug string) pannier.Digest {
	t.Helper()
	want := shellFingerprint(t, filepath.Join(s.workspace, "skills", slug))
	var got pannier.Digest
	eventually(t, "the list shows the fingerprint of "+slug, func() error {
		e, err := s.entry(t, slug)
		if err != nil || e.Fingerprint.String() != want {
			return fmt.Errorf("%s, want %s (%v)", e.Fingerprint, want, err)
		}
		got = e.Fingerprint
		return nil
	})
	return got
}

func TestFingerprintsFollowTheFiles(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	writeIn(t, w, skillScript("pdf", "Reads it.")+skillScript("csv", "Reads that.")+"mkdir skills/pdf/scripts; printf '#!/bin/sh\n' > skills/pdf/scripts/run; chmod +x skills/pdf/scripts/run")
	s := startSidecar(t, w, "--platform-url", "off")
	before, other := s.hasFingerprint(t, "pdf"), s.hasFingerprint(t, "csv")
	version := s.version(t)

	s.write(t, "printf more > skills/pdf/reference.md") // right in the skill: it is watched
	if s.hasFingerprint(t, "pdf") == before {
		t.Error("the fingerprint did not change with the files")
	}
	s.write(t, "printf 'exit 1\n' >> skills/pdf/scripts/run") // below it: it is not, so somebody asks
	need(t, s.Rescan(t.Context()))
	s.hasFingerprint(t, "pdf")
	d, err := s.Skill(t.Context(), "pdf", "")
	if err != nil || d.Fingerprint != s.hasFingerprint(t, "pdf") || d.Scan != nil || s.hasFingerprint(t, "csv") != other {
		t.Errorf("%v, fingerprint %s, scan %+v", err, d.Fingerprint, d.Scan)
	}
	if now := s.version(t); now != version {
		t.Errorf("files beside SKILL.md made version %d of %d", now, version)
	}
	s.write(t, skillScript("pdf", "Reads it anew."))
	s.hasFingerprint(t, "pdf")
}

func (s *sidecarUnderTest) version(t *testing.T) uint64 {
	t.Helper()
	list := must(s.Skills(t.Context(), "", false))(t)
	return list.SnapshotVersion
}

func TestScanBlocksASkill(t *testing.T) {
	t.Parallel()
	w, stateDir := newWorkspace(t), t.TempDir()
	writeIn(t, w, skillScript("tool", "Has a program.")+skillScript("clean", "Has none.")+`mkdir skills/tool/bin; printf '\177ELF\002\001\001' > skills/tool/bin/tool`)
	args := []string{"--platform-url", "off", "--state-dir", stateDir}
	s := startSidecar(t, w, args...)
	s.judged(t, "tool", pannier.StateEligible, pannier.EnvironmentSidecar) // nobody has scanned it

	s.runs(t, exitYes, "decision     allow", "scan", "clean")
	out, code := s.run("scan", "tool", "--json")
	var report pannier.ScanReport
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != exitNo || report.Decision != pannier.ScanBlock || report.Unkept != "" || report.Files != 2 {
		t.Fatalf("exit code %d, %v\n%s", code, err, out)
	}
	s.judged(t, "tool", pannier.StateIneligible, pannier.EnvironmentSidecar) // the answer came after the snapshot
	if got := s.hasFingerprint(t, "tool"); got != report.Fingerprint {
		t.Errorf("scanned %s, listed %s", report.Fingerprint, got)
	}
	s.blockedBy(t, "tool", "scan.file.elf")
	s.hasEvent(t, pannier.EventSkillScanned, `"path":"skills/tool","fingerprint":"`+report.Fingerprint.String()+`","decision":"block","findings":1`)
	s.hasEvent(t, pannier.EventSkillStateChanged, `"to":"ineligible","cause":"security_blocked: scan.file.elf"`)
	if out, code := s.run("scan", "tool"); code != exitNo || !strings.Contains(out, "skills/tool/bin/tool: error: ") || !strings.Contains(out, "(scan.file.elf)") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	s.runs(t, exitYes, "block, 1 findings, 20", "show", "tool")
	version := s.version(t)

	s.terminate(t)
	s = startSidecar(t, w, args...)
	if e, err := s.entry(t, "tool"); err != nil || e.State != pannier.StateIneligible { // from the first answer on
		t.Errorf("after a restart %+v, %v", e, err)
	}
	if now := s.version(t); now != version {
		t.Errorf("the same is version %d after a restart, %d before", now, version)
	}
	s.hasFingerprint(t, "tool")
	s.blockedBy(t, "tool", "scan.file.elf")

	s.write(t, "rm -r skills/tool/bin")
	need(t, s.Rescan(t.Context()))
	s.judged(t, "tool", pannier.StateEligible, pannier.EnvironmentSidecar)
	s.hasFingerprint(t, "tool")
	if d, err := s.Skill(t.Context(), "tool", ""); err != nil || d.Scan != nil {
		t.Errorf("a skill that has changed has the scan %+v, %v", d.Scan, err)
	}

	s.kill()
	s = startSidecar(t, w, args...)
	s.judged(t, "tool", pannier.StateEligible, pannier.EnvironmentSidecar)
	s.write(t, `mkdir skills/tool/bin; printf '\177ELF\002\001\001' > skills/tool/bin/tool`)
	need(t, s.Rescan(t.Context()))
	s.judged(t, "tool", pannier.StateIneligible, pannier.EnvironmentSidecar) // what it was is known
}

// blockedBy waits until a skill shows the verdict that blocks it.
func (s *sidecarUnderTest) blockedBy(t *testing.T, slug, rule string) {
	t.Helper()
	eventually(t, slug+" is blocked by "+rule, func() error {
		d, err := s.Skill(t.Context(), slug, "")
		if err != nil {
			return err
		}
		if d.Scan == nil || d.Scan.Decision != pannier.ScanBlock || len(d.Scan.Findings) != 1 || d.Scan.Findings[0].Rule != rule || d.Scan.At.IsZero() {
			return fmt.Errorf("scan %+v", d.Scan)
		}
		if len(d.Reasons) != 1 || d.Reasons[0].Code != pannier.ReasonSecurityBlocked || d.Reasons[0].Subject != rule {
			return fmt.Errorf("reasons %+v", d.Reasons)
		}
		return nil
	})
}

func TestScanOfNothing(t *testing.T) {
	t.Parallel()
	s := startSidecar(t, newWorkspace(t), "--platform-url", "off")
	s.runs(t, exitNo, "hint: ", "scan", "none")
	s.terminate(t)
	s.runs(t, exitNoSidecar, "", "scan", "none")
}
