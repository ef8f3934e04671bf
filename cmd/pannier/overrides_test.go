package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pannier"
)

// overridesSkill proposes one override that every setting allows, one of another part, and one that no turn allows.
const overridesSkill = proxySkill + `mkdir -p skills/chooser; cat > skills/chooser/SKILL.md <<'END'
---
name: chooser
description: Chooses how to work.
overrides:
  tools:
    aliases: {peek: skill.proxy.read, Read: skill.proxy.read}
    defaults: {skill.proxy.read: {limit: 5}}
  model: {effort: high}
  context: {max_chars: 700}
---
Choose.
END
`

// TestOverridesAreIgnored by default: no answer and no event has them.
func TestOverridesAreIgnored(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	writeIn(t, w, overridesSkill)
	s := startSidecar(t, w, "--platform-url", "off", "--tools-enabled")
	turn := pannier.Turn{Text: "$chooser", Tools: []string{"Read"}}
	for _, method := range []string{"skills/resolve", "skills/prompt"} {
		answer, err := s.Call(t.Context(), method, turn)
		if err != nil || strings.Contains(string(answer), "override") {
			t.Errorf("%s: %v, %s", method, err, answer)
		}
	}
	if _, err := s.CallTool(t.Context(), "peek", pannier.ToolCall{Skills: []string{"chooser"}}); err == nil {
		t.Error("an alias is called")
	}
	s.runs(t, exitYes, `{"tools":{"aliases":{"peek"`, "show", "chooser")
	for _, e := range s.all(t) {
		if e.Type == pannier.EventSkillOverride {
			t.Errorf("%+v", e)
		}
	}
}

// TestOverridesApply resolves, calls, refuses by policy, records, and replays.
func TestOverridesApply(t *testing.T) {
	t.Parallel()
	w, state := newWorkspace(t), t.TempDir()
	writeIn(t, w, overridesSkill)
	settings := []string{"--policy-overrides", "apply", "--policy-overrides-parts", "tools,context", "--tools-enabled", "--scan=report"}
	s := startSidecar(t, w, append([]string{"--platform-url", "off", "--state-dir", state, "--turn-events", "replay"}, settings...)...)
	const want = `{"mode":"apply","proposed":[{"slug":"chooser","part":"tools","key":"aliases.peek","value":"skill.proxy.read"},` +
		`{"slug":"chooser","part":"tools","key":"aliases.Read","value":"skill.proxy.read"},{"slug":"chooser","part":"tools","key":"defaults.skill.proxy.read.limit","value":5},` +
		`{"slug":"chooser","part":"model","key":"effort","value":"high"},{"slug":"chooser","part":"context","key":"max_chars","value":700}],` +
		`"effective":{"tools":{"aliases":{"peek":"skill.proxy.read"},"defaults":{"skill.proxy.read":{"limit":5}}},"context":{"max_chars":700}},` +
		`"refused":[{"slug":"chooser","part":"tools","key":"aliases.Read","reason":"alias_shadows"},{"slug":"chooser","part":"model","key":"effort","reason":"part_not_allowed"}]}`
	turn := pannier.Turn{Text: "$chooser", Tools: []string{"Read"}, Format: "molecule"}
	r, err := s.Resolve(t.Context(), turn)
	if err != nil {
		t.Fatal(err)
	}
	prompt, err := s.Prompt(t.Context(), turn)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []*pannier.TurnOverrides{r.Overrides, prompt.Overrides} {
		if text, err := json.Marshal(o); err != nil || string(text) != want {
			t.Errorf("got %s\nwant %s, %v", text, want, err)
		}
	}
	if prompt.Chars > 700 {
		t.Errorf("the prompt has %d characters", prompt.Chars)
	}
	s.runs(t, exitYes, "tools.aliases.peek", "resolve", "$chooser", "--tool", "Read")
	eventually(t, "the tool was scanned, and is called by its alias", func() error {
		called, err := s.CallTool(t.Context(), "peek", pannier.ToolCall{Arguments: json.RawMessage(`{"path":"a"}`), Skills: []string{"chooser"}})
		if err == nil && (called.Name != "skill.proxy.read" || called.Proxy == nil || string(called.Proxy.Arguments) != `{"limit":5,"path":"a"}`) {
			err = fmt.Errorf("called %+v", called)
		}
		return err
	})
	s.hasEvent(t, pannier.EventSkillOverride, `"key":"aliases.peek","value":"skill.proxy.read","decision":"applied"`)
	s.hasEvent(t, pannier.EventSkillOverride, `"key":"effort","value":"high","decision":"refused","reason":"part_not_allowed"`)
	if text, err := s.Metrics(t.Context()); err != nil || !strings.Contains(text, `pannier_overrides_total{decision="refused"} 6`) {
		t.Errorf("metrics: %v, %s", err, text)
	}
	off := func(to *bool) {
		t.Helper()
		if _, err := s.SetPolicy(t.Context(), "chooser", "", pannier.PolicyChange{Overrides: pannier.Toggle{Given: true, To: to}}); err != nil {
			t.Fatal(err)
		}
	}
	off(new(false))
	if r, err := s.Resolve(t.Context(), turn); err != nil || len(r.Overrides.Refused) != 5 || r.Overrides.Refused[0].Reason != pannier.OverrideRefusedPolicy {
		t.Errorf("refused by policy: %+v, %v", r.Overrides, err)
	}
	off(nil)
	if _, err := s.Resolve(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	if code := s.terminate(t); code != exitYes {
		t.Fatalf("exit code %d", code)
	}
	// A replay decides each again, by the settings that it is given.
	for parts, differs := range map[string]bool{"tools,context": false, "model": true} {
		file := filepath.Join(t.TempDir(), "settings.yaml")
		text := "environment: {own: block}\ntools: {enabled: true}\npolicy: {overrides: apply, overrides_parts: [" + parts + "]}\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, code := runCommand(t, nil, "replay", "--workspace", w, "--config", file, filepath.Join(state, testWorkspaceID, "journal"))
		if strings.Contains(out, "skill_override chooser model.effort: decision was \"refused\", is \"applied\"") != differs || !strings.Contains(out, "replayed") {
			t.Errorf("replay with %s: exit code %d: %s", parts, code, out)
		}
		if !differs && strings.Contains(out, "skill_override") {
			t.Errorf("replay with %s: %s", parts, out)
		}
	}
}
