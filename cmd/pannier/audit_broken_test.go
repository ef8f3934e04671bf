package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAuditLogThatWasCut removes the newest entry of the audit log while no sidecar runs: the next one serves skills, takes
// changes, and says that the log is broken, also after another restart.
func TestAuditLogThatWasCut(t *testing.T) {
	t.Parallel()
	w, stateDir := workspaceWith(t, skillScript("pdf", "Reads it.")), t.TempDir()
	set := func(s *sidecarUnderTest, enabled string) {
		t.Helper()
		s.runs(t, exitYes, "", "policy", "set", "pdf", "--enabled="+enabled)
	}
	s := startSidecar(t, w, "--platform-url", "off", "--state-dir", stateDir)
	set(s, "false")
	set(s, "true")
	s.kill()
	paths, err := filepath.Glob(filepath.Join(stateDir, testWorkspaceID, "audit", "*.jsonl"))
	if err != nil || len(paths) != 1 {
		t.Fatal(paths, err)
	}
	text := must(os.ReadFile(paths[0]))(t)
	need(t, os.WriteFile(paths[0], text[:bytes.LastIndexByte(text[:len(text)-1], '\n')+1], 0o600))
	for range 2 {
		s := startSidecar(t, w, "--platform-url", "off", "--state-dir", stateDir)
		s.tellsOf(t, "audit_broken")
		set(s, "false")
		out, code := s.runWith(stateVariables(stateDir), "audit-log", "verify")
		if code != exitNo || !strings.Contains(out, "newest entries were removed") {
			t.Errorf("verify: exit code %d\n%s", code, out)
		}
		s.kill()
	}
}

// TestAuditLogVerifyAsksTheSidecar verifies the log of a sidecar whose state directory the command does not know.
func TestAuditLogVerifyAsksTheSidecar(t *testing.T) {
	t.Parallel()
	w, stateDir := workspaceWith(t, skillScript("pdf", "Reads it.")), t.TempDir()
	s := startSidecar(t, w, "--platform-url", "off", "--state-dir", stateDir)
	s.runs(t, exitYes, "no change was audited yet", "audit-log", "verify")
	s.runs(t, exitYes, "pdf", "policy", "set", "pdf", "--enabled=false")
	out, code := s.run("audit-log", "verify")
	point := out[strings.LastIndexByte(out, ' ')+1:]
	if code != exitYes || !strings.HasPrefix(out, stateDir) || !strings.Contains(out, ": 2 entries in an unbroken chain, newest 2:sha256:") {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	s.runs(t, exitYes, "pdf", "policy", "set", "pdf", "--enabled=true")
	s.runs(t, exitYes, ": 4 entries", "audit-log", "verify", "--expect", strings.TrimSpace(point))
	s.runs(t, exitNo, "the audit log was changed", "audit-log", "verify", "--expect", "2:sha256:"+strings.Repeat("1", 64))
	s.runs(t, exitUnknown, "--expect", "audit-log", "verify", "--expect", "2")
}
