package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pannier"
	"pannier/replay"
)

// TestReplayCalls records a call of a tool and decides it again: the same, until tools are off, or its script changed. The tool is
// never run.
func TestReplayCalls(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	w, state := reportWorkspace(t), t.TempDir()
	ran := filepath.Join(w, "ran")
	settings := filepath.Join(t.TempDir(), "settings.yaml")
	enable := func(enabled string) {
		t.Helper()
		text := "workspace: " + w + "\nenvironment:\n  own: block\ntools:\n  enabled: " + enabled + "\n"
		need(t, os.WriteFile(settings, []byte(text), 0o600))
	}
	s := startSidecar(t, w, "--tools-enabled", "--tools-runner=self", "--scan=report", "--state-dir", state, "--platform-url", "off")
	s.refusedBy(t, pannier.ToolNotAllowed)
	s.runs(t, exitYes, "sha256:", "tool", "allow", "repo-review")
	s.runs(t, exitYes, "report\n{}\n", "tool", "call", reportTool)
	s.hasEvent(t, pannier.EventSkillToolCalled, reportTool)
	s.stops(t)
	journal := filepath.Join(state, testWorkspaceID, "journal")
	differs := func(want string) {
		t.Helper()
		cmd := command("replay", "--config", settings, "--json", journal)
		out, _ := cmd.Output()
		var report replay.Report
		if err := json.Unmarshal(out, &report); err != nil || report.Replayed[pannier.EventSkillToolCalled] != 1 {
			t.Fatalf("%v: %s", err, out)
		}
		var found []string
		for _, d := range report.Differences {
			if d.Type == pannier.EventSkillToolCalled {
				found = append(found, fmt.Sprintf("%s: %s was %s, is %s", d.Detail, d.Field, d.Recorded, d.Now))
			}
		}
		if got := strings.Join(found, "; "); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("found %q, want %q", got, want)
		}
	}
	enable("true")
	differs("")
	enable("false")
	differs("not offered any more: " + pannier.ToolsDisabled)
	enable("true")
	writeReport(t, w, "touch "+ran+"\n")
	differs("fingerprint was")
	if _, err := os.Stat(ran); err == nil {
		t.Error("a replay ran the tool")
	}
}

// TestReplayExplainsATool records a turn in which a tool is not offered and a skill lacks a dependency: the event says why, and a replay
// with other settings names the tool.
func TestReplayExplainsATool(t *testing.T) {
	t.Parallel()
	w, state := newWorkspace(t), t.TempDir()
	writeIn(t, w, toolFile("skills/calc/tools/calc.py", "add")+`mkdir skills/needy; printf -- '---\nname: needy\ndescription: Needs it.\ndependencies: {api_keys: [NEEDY_KEY]}\n---\nDo it.\n' > skills/needy/SKILL.md`)
	s := startSidecar(t, w, "--platform-url", "off", "--state-dir", state, "--turn-events", "replay")
	s.offers(t, "skill.calc.add")
	must(s.Resolve(t.Context(), pannier.Turn{Text: "/skill:needy"}))(t)
	s.hasEvent(t, pannier.EventTurnResolved, `"skills":[{"slug":"needy","state":"rejected","reason":"dependency_missing","codes":["missing_api_key"],"subjects":["NEEDY_KEY"]}],`+
		`"excluded_tools":[{"name":"skill.calc.add","reason":"`+pannier.ToolsDisabled+`"}]`)
	s.stops(t)
	settings := filepath.Join(t.TempDir(), "settings.yaml")
	for enabled, want := range map[string]string{"false": "", "true": `: excluded_tools.skill.calc.add was [{"name":"skill.calc.add","reason":"` + pannier.ToolsDisabled + `"}], is null`} {
		need(t, os.WriteFile(settings, []byte("environment:\n  own: block\ntools:\n  enabled: "+enabled+"\n"), 0o600))
		out, code := runCommand(t, cleanEnviron(), "replay", "--workspace", w, "--config", settings, filepath.Join(state, testWorkspaceID, "journal"))
		if !strings.Contains(out, want) || want == "" && strings.Contains(out, "excluded_tools") {
			t.Errorf("tools.enabled: %s: exit code %d: %s", enabled, code, out)
		}
	}
}
