package main

import (
	"strings"
	"testing"

	"pannier"
)

// TestCommandOfASidecar runs a command through the socket, which tells of it.
func TestCommandOfASidecar(t *testing.T) {
	t.Parallel()
	s := startSidecar(t, workspaceWith(t, skillScript("pdf-forms", "Reads it.")), "--platform-url", "off")
	s.judged(t, "pdf-forms", pannier.StateEligible, pannier.EnvironmentSidecar)
	s.runs(t, exitYes, "pdf_forms  pdf-forms  workspace  Reads it.", "command", "list")
	if out, code := s.run("command", "run", "/skill:pdf-forms", "fill", "in"); code != 0 || !strings.HasSuffix(out, "\n\nARGUMENTS: fill in\n") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	s.hasEvent(t, pannier.EventSkillLoaded, `"path":"skills/pdf-forms"`)
	s.hasEvent(t, pannier.EventSkillInvoked, `"slug":"pdf-forms","args":"fill in","mode":"manual"`)
	s.runs(t, exitYes, "", "policy", "set", "pdf-forms", "--enabled=false")
	s.runs(t, exitNo, "pdf-forms cannot be used: disabled (workspace policy)", "command", "run", "pdf_forms")
}

// TestPrintedRun has nothing that a terminal obeys, and keeps lines and tabs.
func TestPrintedRun(t *testing.T) {
	var out, err strings.Builder
	s := streams{out: &out, err: &err}
	run := pannier.CommandRun{Text: "a\tb\x1b[2J\r\n\u202ec\n\nd", Warnings: []string{"x\x1by"}}
	if e := s.printRun(run); e != nil || out.String() != "a\tb[2J\nc\n\nd\n" || err.String() != "warning xy\n" {
		t.Errorf("%q %q %v", out.String(), err.String(), e)
	}
}
