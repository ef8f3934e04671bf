package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
)

// againSkill has tools whose calls come out the same, or differently, or are never repeated.
const againSkill = `mkdir -p skills/again; cat > skills/again/SKILL.md <<'EOF'
---
name: again
description: Is run again.
runtime:
  tools:
    - {tool_slug: echo, kind: shell, config: {command: [cat]}}
    - {tool_slug: fail, kind: shell, config: {command: [sh, -c, 'echo no; exit 3']}}
    - {tool_slug: time, kind: shell, config: {command: [date, '+%s.%N']}}
    - {tool_slug: quiet, kind: shell, config: {command: [cat]}, output_policy: {timeline: {mode: hidden}}}
    - {tool_slug: ask, kind: http, config: {url: 'http://169.254.169.254/latest'}}
    - {tool_slug: read, kind: function_proxy, config: {target_tool: read_file}}
---
Text
EOF
mkdir skills/again/tools; printf 'from langchain_core.tools import tool\n@tool\ndef add(a: int, b: int = 2) -> dict:\n    "Add."\n    return {"sum": a + b}\n' > skills/again/tools/sums.py
`

// repeatedRun is a run of a sidecar with calls of tools, and what replays it.
type repeatedRun struct {
	*sidecarUnderTest
	settings string // file
	state    string
}

// recordCalls runs a sidecar and calls each tool of the skill.
func recordCalls(t *testing.T) *repeatedRun {
	t.Helper()
	needsSandbox(t)
	w := newWorkspace(t)
	writeIn(t, w, againSkill)
	r := &repeatedRun{settings: filepath.Join(t.TempDir(), "settings.yaml"), state: t.TempDir()}
	r.setRunner(t, w, "self")
	r.sidecarUnderTest = startSidecar(t, w, "--tools-enabled", "--tools-runner=self", "--scan=report", "--turn-events-text", "--state-dir", r.state, "--platform-url", "off")
	eventually(t, "the skill was scanned", func() error {
		list, err := r.Tools(t.Context())
		if err != nil || len(list.Tools) != 7 || list.Tools[0].Why == nil || list.Tools[0].Why.Code != pannier.ToolNotAllowed {
			return fmt.Errorf("%+v, %w", list, err)
		}
		return nil
	})
	r.runs(t, exitYes, "sha256:", "tool", "allow", "again")
	for _, call := range [][2]string{
		{"echo", `{"z": "<&> \u2028 ü \u007f", "a": [1.0, 1e3, 12345678901234567890]}`},
		{"fail", "{}"},
		{"time", "{}"},
		{"quiet", "{}"},
		{"ask", "{}"},
		{"read", "{}"},
		{"add", `{"a":1}`},
		{"echo", `{"key": "ghp_` + strings.Repeat("A1b2", 9) + `"}`},
	} {
		name := "skill.again." + call[0]
		r.run("tool", "call", name, call[1], "--call-id", "call-"+call[0])
		r.hasEvent(t, pannier.EventSkillToolCalled, name)
	}
	r.hasEvent(t, pannier.EventSkillToolCalled, "[masked]")
	return r
}

func (r *repeatedRun) setRunner(t *testing.T, workspace, runner string) {
	t.Helper()
	text := "workspace: " + workspace + "\nworkspace_id: " + testWorkspaceID + "\nstate_dir: " + r.state + "\nenvironment:\n  own: block\ntools:\n  enabled: true\n  runner: " + runner + "\n"
	if err := os.WriteFile(r.settings, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// replays replays a journal and returns the report, with the calls in words.
func (r *repeatedRun) replays(t *testing.T, journal string, args ...string) (report replayReport, calls []string) {
	t.Helper()
	cmd := exec.Command(binary, append([]string{"replay", "--config", r.settings, "--json", journal}, args...)...)
	cmd.Env = cleanEnviron()
	out, _ := cmd.Output()
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := map[replayVerdict]int{replayEqual: exitYes, replayDiffers: exitNo, replayUnknown: exitUnknown}[report.Verdict]
	if code := cmd.ProcessState.ExitCode(); code != want {
		t.Errorf("exit code %d, want %d", code, want)
	}
	for _, c := range report.Calls {
		calls = append(calls, strings.TrimPrefix(c.Name, "skill.again.")+" "+c.words())
	}
	return report, calls
}

// recording writes the events so far to a file, changed by a function.
func (r *repeatedRun) recording(t *testing.T, change func(call map[string]any) bool) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "events")
	var kept []pannier.Event
	for _, e := range r.all(t) {
		if e.Type == pannier.EventSkillToolCalled {
			fields, err := fieldsByName(e.Data.(json.RawMessage))
			if err != nil {
				t.Fatal(err)
			}
			if !change(fields) {
				continue
			}
			text, err := json.Marshal(fields)
			if err != nil {
				t.Fatal(err)
			}
			e.Data = json.RawMessage(text)
		}
		kept = append(kept, e)
	}
	(&recorded{sidecarUnderTest: r.sidecarUnderTest}).print(t, path, kept)
	return path
}

// TestReplayRun runs recorded calls again while the sidecar runs: as recorded, with another output, or not, with the reason.
func TestReplayRun(t *testing.T) {
	t.Parallel()
	r := recordCalls(t)
	journal := filepath.Join(r.state, testWorkspaceID, "journal")
	if report, calls := r.replays(t, journal); len(calls) > 0 || len(report.Differences) > 0 {
		t.Errorf("without --run: %+v", report)
	}
	report, calls := r.replays(t, journal, "--run")
	want := []string{
		"echo same", "fail same", "time differs: output_digest",
		"quiet not run: the output policy of the tool hides its timeline, so the event has no fingerprint and no arguments",
		"ask not run: tools of kind http act on others", "read not run: tools of kind function_proxy act on others", "add same",
		"echo not run: the recorded arguments are not those that the tool got; secrets in them were replaced",
	}
	if diff := cmp.Diff(want, calls); diff != "" || report.Verdict != replayDiffers || len(report.Differences) != 1 || len(report.Unknown) < 4 {
		t.Errorf("%+v (-want +got):\n%s", report, diff)
	}
	entries, err := r.Audit(t.Context(), "again", 100)
	intents := 0
	for _, e := range entries.Entries {
		if e.Action == pannier.ActionCallTool && e.Phase == pannier.AuditIntent {
			intents++
		}
	}
	if err != nil || intents != 8 {
		t.Errorf("%d calls were audited, %v", intents, err)
	}

	only := func(name string, change func(map[string]any)) string {
		return r.recording(t, func(call map[string]any) bool {
			if call["call_id"] == "call-"+name && !strings.Contains(fmt.Sprint(call["arguments"]), "[masked]") {
				change(call)
				return true
			}
			return false
		})
	}
	same := only("echo", func(map[string]any) {})
	for _, tt := range []struct {
		journal, want string
		verdict       replayVerdict
	}{
		{same, "echo same", replayEqual},
		{only("fail", func(c map[string]any) { c["exit_code"] = 4 }), "fail differs: exit_code", replayDiffers},
		{only("fail", func(c map[string]any) { c["ok"] = true; delete(c, "code") }), "fail differs: ok, code", replayDiffers},
		{only("fail", func(c map[string]any) { c["code"] = pannier.ToolCanceled }), "fail not run: it ended with runtime.canceled, which", replayUnknown},
		{only("echo", func(c map[string]any) { delete(c, "arguments") }), "turn_events_text: true", replayUnknown},
		{only("echo", func(c map[string]any) { c["fingerprint"] = pannier.DigestOf(nil) }), "echo not run: it would not be decided as recorded", replayDiffers},
	} {
		report, calls := r.replays(t, tt.journal, "--run")
		if len(calls) != 1 || !strings.Contains(calls[0], tt.want) || report.Verdict != tt.verdict {
			t.Errorf("%q, want %q: %+v", calls, tt.want, report)
		}
	}

	cmd := exec.Command(binary, "replay", "--run", "--config", r.settings, same)
	cmd.Env = cleanEnviron()
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), " skill.again.echo same\n") {
		t.Errorf("%v: %s", err, out)
	}

	notRun := func(why string) {
		t.Helper()
		if report, calls := r.replays(t, same, "--run"); !slices.ContainsFunc(calls, func(c string) bool { return strings.Contains(c, "not run: "+why) }) {
			t.Errorf("%q: %+v", why, report)
		}
	}
	r.setRunner(t, r.workspace, "agent")
	notRun("tools.runner is agent")
	r.setRunner(t, r.workspace, "self")
	r.runs(t, exitYes, "", "tool", "allow", "again", "--remove") // the recording says that it is allowed
	notRun(pannier.ToolNotAllowed)
	writeIn(t, filepath.Join(r.state, testWorkspaceID), "echo damaged > policy.json")
	notRun("state.lost")
	r.write(t, "echo more >> skills/again/SKILL.md")
	notRun("it would not be decided as recorded")
}
