package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pannier"
)

// runReport is the example of the Pioneer skills architecture, "Runtime tools", as it stands there.
const runReport = `---
name: repo-review
slug: repo-review
description: Review code using the team's checklist. Use when the user asks for a code review or release-readiness pass.
runtime:
  tools:
    - tool_slug: run-report
      description: Run the report helper.
      kind: shell
      parameters:
        type: object
        additionalProperties: false
      execution_class: exclusive
      config:
        command:
          - scripts/run-report.sh
      output_policy:
        llm:
          mode: summary_only
---
# Repo Review
Read ` + "`references/checklist.md`" + ` before reviewing code.
`

// reportWorkspace has the skill of the example, whose script prints its arguments.
func reportWorkspace(t *testing.T) string {
	t.Helper()
	w := newWorkspace(t)
	writeReport(t, w, "echo report; cat \"$PANNIER_ARGUMENTS\"\n")
	need(t, os.WriteFile(filepath.Join(w, "skills", "repo-review", "SKILL.md"), []byte(runReport), 0o644))
	return w
}

func writeReport(t *testing.T, w, script string) {
	t.Helper()
	dir := filepath.Join(w, "skills", "repo-review", "scripts")
	need(t, os.MkdirAll(dir, 0o755))
	need(t, os.WriteFile(filepath.Join(dir, "run-report.sh"), []byte("#!/bin/sh\n"+script), 0o755))
}

const reportTool = "skill.repo-review.run-report"

// refusedBy waits until the tool is refused by a code, or by none.
func (s *sidecarUnderTest) refusedBy(t *testing.T, code string) {
	t.Helper()
	eventually(t, "the tool is refused by "+strconv.Quote(code), func() error {
		list, err := s.Tools(t.Context())
		for _, tool := range list.Tools {
			if tool.Name == reportTool && (tool.Why == nil && code == "" || tool.Why != nil && tool.Why.Code == code) {
				return err
			}
		}
		return errors.Join(err, fmt.Errorf("%+v", list))
	})
}

// runs runs a command, which has to exit with a code and to print a text.
func (s *sidecarUnderTest) runs(t *testing.T, code int, text string, args ...string) {
	t.Helper()
	if out, got := s.run(args...); got != code || !strings.Contains(out, text) {
		t.Errorf("%q: exit code %d, want %d with %q: %s", args, got, code, text, out)
	}
}

// TestSeedTool runs the example of the seed: listed, refused until it is allowed, called, changed, refused again.
func TestSeedTool(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	w := reportWorkspace(t)
	s := startSidecar(t, w, "--tools-enabled", "--tools-runner=self", "--scan=report", "--state-dir", t.TempDir())
	s.refusedBy(t, pannier.ToolNotAllowed)
	s.runs(t, exitNo, "pannier tool allow repo-review", "tool", "call", reportTool)
	s.runs(t, exitYes, "sha256:", "tool", "allow", "repo-review")
	s.runs(t, exitYes, "report\n{}\n", "tool", "call", reportTool)
	s.runs(t, exitUnknown, "additional properties '--help' not allowed", "tool", "call", reportTool, `{"--help":true}`)
	writeReport(t, w, "echo changed; exit 3\n")
	if out, code := s.run("tool", "call", reportTool); code == exitYes || strings.Contains(out, "exit code 3") {
		t.Errorf("a changed script: exit code %d: %s", code, out)
	}
	s.refusedBy(t, pannier.ToolNotAllowed)
	s.runs(t, exitYes, "sha256:", "tool", "allow", "repo-review")
	s.refusedBy(t, "")
	s.runs(t, exitNo, pannier.ToolFailed, "tool", "call", reportTool)
	s.runs(t, exitYes, "", "tool", "allow", "repo-review", "--remove")
	s.runs(t, exitNo, "are not allowed to run", "tool", "call", reportTool)
	if out, code := s.run("audit-log", "list", "repo-review", "--limit", "100"); code != exitYes || strings.Count(out, pannier.ActionAllowTools+" ") != 6 || strings.Contains(out, pannier.ActionSetPolicy) {
		t.Errorf("three permissions in the audit log: exit code %d\n%s", code, out)
	}
	s.hasEvent(t, pannier.EventSkillToolCalled, reportTool)
	entries, err := s.Audit(t.Context(), "", 100)
	calls := 0
	for _, e := range entries.Entries {
		if e.Action == pannier.ActionCallTool {
			calls++
		}
	}
	if err != nil || calls != 4 {
		t.Errorf("%d entries about two calls, %v", calls, err)
	}
}

// TestToolsAreOff unless an operator turns them on: what a skill brings is listed, and not run.
func TestToolsAreOff(t *testing.T) {
	t.Parallel()
	s := startSidecar(t, reportWorkspace(t))
	s.runs(t, exitYes, "dynamic_tools_disabled", "tool", "list")
	s.runs(t, exitNo, "not enabled", "tool", "call", reportTool)
}

// TestInterruptedCall is audited with an outcome by the start after a kill.
func TestInterruptedCall(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	w, state := reportWorkspace(t), t.TempDir()
	writeReport(t, w, "sleep 60\n")
	args := []string{"--tools-enabled", "--tools-runner=self", "--scan=report", "--state-dir", state}
	s := startSidecar(t, w, args...)
	s.refusedBy(t, pannier.ToolNotAllowed)
	s.runs(t, exitYes, "sha256:", "tool", "allow", "repo-review")
	called := make(chan struct{})
	go func() {
		defer close(called)
		s.run("tool", "call", reportTool)
	}()
	outcome := func(s *sidecarUnderTest, phase pannier.AuditPhase) {
		t.Helper()
		eventually(t, "the call has its "+string(phase), func() error {
			list, err := s.Audit(t.Context(), "repo-review", 10)
			if err == nil && (len(list.Entries) == 0 || list.Entries[0].Action != pannier.ActionCallTool || list.Entries[0].Phase != phase) {
				err = fmt.Errorf("%+v", list.Entries)
			}
			return err
		})
	}
	outcome(s, pannier.AuditIntent)
	s.process.kill()
	<-called
	s = startSidecar(t, w, args...)
	outcome(s, pannier.AuditOutcome)
}
