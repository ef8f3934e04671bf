package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

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

// TestSkillTypes drops a skill of each type, and follows it to the answer: a text, a text with a tool, and tools without a SKILL.md.
func TestSkillTypes(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	w := newWorkspace(t)
	s := startSidecar(t, w, "--tools-enabled", "--tools-runner=self", "--scan=report", "--state-dir", t.TempDir())
	const python = "from langchain_core.tools import tool\n@tool\ndef add(a: int, b: int) -> int:\n    \"Add.\"\n    return a + b\n"
	for _, tt := range []struct{ slug, script, text, tool string }{
		{"context", "mkdir -p skills/context; printf '%s\\n' --- 'name: context' 'description: Has a text.' --- 'Say it in three lines.' > skills/context/SKILL.md", "Say it in three lines.", ""},
		{"hybrid", "mkdir -p skills/hybrid/tools; printf '%s\\n' --- 'name: hybrid' 'description: Has both.' --- 'Add what is asked.' > skills/hybrid/SKILL.md; cat > skills/hybrid/tools/calc.py <<'EOF'\n" + python + "EOF\n", "Add what is asked.", "skill.hybrid.add"},
		{"calculator", "mkdir -p skills/calculator/tools; cat > skills/calculator/tools/calc.py <<'EOF'\n" + python + "EOF\n", "", "skill.calculator.add"},
	} {
		s.write(t, tt.script)
		eventually(t, tt.slug+" is active", func() error {
			r, err := s.Resolve(t.Context(), pannier.Turn{Text: "/skill:" + tt.slug})
			if err == nil && (len(r.Active) == 0 || r.Active[0].Slug != tt.slug) {
				err = fmt.Errorf("%+v", r)
			}
			if err != nil || tt.text == "" {
				return err
			}
			content, err := s.Content(t.Context(), tt.slug)
			if err == nil && !strings.Contains(fmt.Sprintf("%+v", content), tt.text) {
				err = fmt.Errorf("%+v", content)
			}
			return err
		})
		if tt.tool == "" {
			continue
		}
		says := func(code string) {
			t.Helper()
			eventually(t, fmt.Sprintf("the list and the call of %s say %q", tt.tool, code), func() error {
				list, err := s.Tools(t.Context())
				if err != nil {
					return err
				}
				listed := "not listed"
				for _, tool := range list.Tools {
					if tool.Name == tt.tool {
						if listed = ""; tool.Why != nil {
							listed = tool.Why.Code
						}
					}
				}
				got, err := s.CallTool(t.Context(), tt.tool, pannier.ToolCall{Arguments: json.RawMessage(`{"a":40,"b":2}`)})
				called, _ := codeOfCall(got, err)
				if listed != code || called != code || code == "" && got.Output != "42" {
					return fmt.Errorf("the list says %q, the call %q: %+v, %v", listed, called, got, err)
				}
				return nil
			})
		}
		says(pannier.ToolNotAllowed)
		s.runs(t, exitYes, "sha256:", "tool", "allow", tt.slug)
		says("")
		s.write(t, "echo '# changed' >> skills/"+tt.slug+"/tools/calc.py")
		says(pannier.ToolNotAllowed)
	}
}

// TestToolNames calls a tool by both of its names, over each protocol, and finds the one for models wherever a tool is named.
func TestToolNames(t *testing.T) {
	t.Parallel()
	server := newRecordedRequests(t)
	w := newWorkspace(t)
	long := strings.Repeat("long-", 15) + "x"
	writeIn(t, w, netSkill("net-2", "skills", server.URL, "ask", long))
	s := startSidecar(t, w, "--tools-enabled", "--scan=report", "--state-dir", t.TempDir(), "--tools-http-allow", strings.TrimPrefix(server.URL, "http://"))
	cmd := command("mcp", "--socket", s.socket)
	h := startMCP(t, mcpVersions[0], cmd)
	vendors := []*regexp.Regexp{regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`), regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`)}
	s.allow(t, "net-2", "skill.net-2.ask")
	list, err := s.Tools(t.Context())
	if err != nil || len(list.Tools) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	turn, err := s.Resolve(t.Context(), pannier.Turn{Text: "/skill:net-2"})
	if err != nil || len(turn.Tools) != 2 {
		t.Fatalf("%+v, %v", turn, err)
	}
	for i, tool := range list.Tools {
		for _, vendor := range vendors {
			if !vendor.MatchString(tool.ModelName) || turn.Tools[i].ModelName != tool.ModelName {
				t.Errorf("%q and %q do not match %s", tool.ModelName, turn.Tools[i].ModelName, vendor)
			}
		}
		for _, name := range []string{tool.Name, tool.ModelName} {
			result, err := s.CallTool(t.Context(), name, pannier.ToolCall{})
			if err != nil || !result.OK || result.Name != tool.Name || result.ModelName != tool.ModelName {
				t.Errorf("HTTP: %s: %+v, %v", name, result, err)
			}
			answer := string(s.answerTo(t, "POST", "/v1/rpc", `{"jsonrpc":"2.0","id":1,"method":"skills/tools/call","params":{"name":"`+name+`"}}`))
			if !strings.Contains(answer, `"model_name":"`+tool.ModelName+`"`) || !strings.Contains(answer, `"output":"answer"`) {
				t.Errorf("JSON-RPC: %s: %s", name, answer)
			}
			hosted, err := h.CallTool(t.Context(), &mcp.CallToolParams{Name: name})
			if err != nil || hosted.IsError {
				t.Errorf("MCP: %s: %+v, %v", name, hosted, err)
			}
			s.runs(t, exitYes, "answer\n", "tool", "call", name)
			s.runs(t, exitYes, tool.ModelName, "tool", "show", name)
		}
	}
	s.hasEvent(t, pannier.EventSkillToolCalled, `"model_name":"skill__net-2__ask"`)
	s.runs(t, exitYes, "", "policy", "set", "net-2", "--tools=false")
	s.runs(t, exitNo, "disabled_by_config", "tool", "call", "skill__net-2__ask")
	if list, err = s.Tools(t.Context()); err != nil || len(list.Excluded) != 2 || list.Excluded[0].ModelName != "skill__net-2__ask" {
		t.Errorf("%+v, %v", list.Excluded, err)
	}
}
