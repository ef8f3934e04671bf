package resolve_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pannier"
	"pannier/registry/resolve"
)

// proposes adds overrides: part, key and value of each.
func proposes(texts ...string) func(*pannier.Entry) {
	return func(e *pannier.Entry) {
		e.TrustLevel = pannier.TrustVerified
		for i := 0; i < len(texts); i += 3 {
			e.Overrides = append(e.Overrides, pannier.Override{Part: texts[i], Key: texts[i+1], Value: json.RawMessage(texts[i+2])})
		}
	}
}

func overrideRules(mode string, parts ...string) resolve.Rules {
	if len(parts) == 0 {
		parts = []string{pannier.OverrideTools, pannier.OverrideModel, pannier.OverrideContext}
	}
	return resolve.Rules{Overrides: resolve.OverrideRules{Mode: mode, Parts: parts, Trust: pannier.TrustVerified}}
}

func TestOverrides(t *testing.T) {
	shell := declaresTool("run", `{"kind":"shell","config":{"command":["x"]}}`)
	one := proposes("model", "effort", `"high"`)
	s := snapshot(
		entry("a", one, proposes("model", "prefer", `["x"]`, "context", "max_chars", `900`, "context", "include", `["src/**","doc/*"]`)),
		entry("b", proposes("model", "effort", `"low"`, "model", "provider", `"acme"`, "context", "max_chars", `100`, "context", "include", `["**/*.go"]`, "context", "exclude", `["src/x/**"]`)),
		entry("glob", proposes("context", "include", `["../*"]`, "context", "exclude", `["/etc/*"]`, "context", "include", `["{a"]`)),
		entry("held", one, func(e *pannier.Entry) { e.LastGood = true }),
		entry("offered", implicit, one),
		entry("off", one, func(e *pannier.Entry) { e.Policy.OverridesOff = true }),
		entry("path", implicit, one, func(e *pannier.Entry) { e.Paths = []string{"*.pdf"} }),
		entry("poor", one, trusted(pannier.TrustCommunity)),
		entry("tooled", implicit, shell, trusted(pannier.TrustVerified)),
		entry("tools", proposes(
			"tools", "aliases.go", `"skill.tooled.run"`, "tools", "aliases.Read", `"Write"`, "tools", "aliases.w", `"Write"`, "tools", "aliases.gone", `"Gone"`,
			"tools", "defaults.Write.mode", `"append"`, "tools", "defaults.skill__tooled__run.deep", `true`, "tools", "defaults.Gone.x", `1`)),
		entry("tools-too", proposes("tools", "aliases.w", `"Read"`, "tools", "defaults.Write.mode", `"x"`, "tools", "defaults.Write.size", `1`)),
		entry("strict", allows("Read"), proposes("tools", "aliases.w", `"Write"`, "tools", "aliases.r", `"Read"`)),
	)
	for _, tt := range []struct {
		text, parts        string
		effective, refused string
	}{
		{text: ""},
		{text: "$held"},
		{text: "see x.pdf", effective: `{"model":{"effort":"high"}}`},
		{text: "$a", effective: `{"model":{"prefer":["x"],"effort":"high"},"context":{"include":[["src/**","doc/*"]],"paths":[],"max_chars":900}}`},
		{
			text: "$a $b src/a.go src/x/b.go doc/c.md", refused: "b.effort conflict",
			effective: `{"model":{"prefer":["x"],"provider":"acme","effort":"high"},"context":{"include":[["src/**","doc/*"],["**/*.go"]],"exclude":["src/x/**"],"paths":["src/a.go"],"max_chars":100}}`,
		},
		{text: "$a", parts: "tools", effective: `{}`, refused: "a.effort part_not_allowed, a.prefer part_not_allowed, a.max_chars part_not_allowed, a.include part_not_allowed"},
		{text: "$off $poor", effective: `{}`, refused: "off.effort disabled_by_policy, poor.effort trust_too_low"},
		{text: "$glob", effective: `{}`, refused: "glob.include outside_project, glob.exclude outside_project, glob.include outside_project"},
		{
			text: "$tools $tools-too", refused: "tools.aliases.Read alias_shadows, tools.aliases.gone tool_unknown, tools.defaults.Gone.x tool_unknown, tools-too.aliases.w conflict, tools-too.defaults.Write.mode conflict",
			effective: `{"tools":{"aliases":{"go":"skill.tooled.run","w":"Write"},"defaults":{"Write":{"mode":"append","size":1},"skill__tooled__run":{"deep":true}}}}`,
		},
		{text: "$strict", effective: `{"tools":{"aliases":{"r":"Read"}}}`, refused: "strict.aliases.w tool_unknown"},
	} {
		turn := pannier.Turn{Text: tt.text, Tools: []string{"Read", "Write"}}
		rules := overrideRules(pannier.OverridesApply, strings.Fields(tt.parts)...)
		o := rules.Resolve(s, turn).Overrides
		if o == nil {
			if tt.effective != "" {
				t.Errorf("%q: nothing is proposed", tt.text)
			}
			continue
		}
		effective, err := json.Marshal(o.Effective)
		var refused []string
		for _, r := range o.Refused {
			refused = append(refused, fmt.Sprintf("%s.%s %s", r.Slug, r.Key, r.Reason))
		}
		if got := strings.Join(refused, ", "); err != nil || string(effective) != tt.effective || got != tt.refused {
			t.Errorf("%q: %s, refused %q, %v", tt.text, effective, got, err)
		}
		// A turn that is answered without what is automatic decides the same.
		turn.NamedOnly = true
		if again := rules.Resolve(s, turn).Overrides; again == nil || fmt.Sprint(*again) != fmt.Sprint(*o) {
			t.Errorf("%q: %+v without the rest", tt.text, again)
		}
		for _, mode := range []string{"", pannier.OverridesIgnore} {
			if got := overrideRules(mode).Resolve(s, turn).Overrides; got != nil {
				t.Errorf("mode %q: %+v", mode, got)
			}
		}
	}
	// Without tools of the caller nothing is known of them.
	if o := overrideRules(pannier.OverridesSuggest).Resolve(s, pannier.Turn{Text: "$tools"}).Overrides; len(o.Effective.Tools.Aliases) != 1 || o.Mode != pannier.OverridesSuggest {
		t.Errorf("without tools: %+v", o)
	}
}

// TestOverriddenCalls follows aliases, and fills in what a call leaves out.
func TestOverriddenCalls(t *testing.T) {
	s := snapshot(
		entry("chosen", proposes("tools", "aliases.go", `"skill.tooled.run"`, "tools", "defaults.skill__tooled__run.deep", `true`, "tools", "defaults.skill.tooled.run.n", `1`)),
		entry("tooled", implicit, declaresTool("run", `{"kind":"shell","config":{"command":["x"]}}`), trusted(pannier.TrustVerified)),
	)
	for _, tt := range []struct{ mode, skill, name, arguments, want string }{
		{pannier.OverridesApply, "chosen", "go", ``, `skill.tooled.run {"deep":true,"n":1}`},
		{pannier.OverridesApply, "chosen", "go", `{"n":2}`, `skill.tooled.run {"deep":true,"n":2}`},
		{pannier.OverridesApply, "chosen", "skill.tooled.run", `{"deep":null,"n":2}`, `skill.tooled.run {"deep":null,"n":2}`},
		{pannier.OverridesApply, "chosen", "go", `[1]`, `skill.tooled.run [1]`},
		{pannier.OverridesApply, "tooled", "go", ``, `go `},
		{pannier.OverridesApply, "gone", "go", ``, `go `},
		{pannier.OverridesSuggest, "chosen", "go", ``, `go `},
		{pannier.OverridesIgnore, "chosen", "go", ``, `go `},
	} {
		name, arguments := overrideRules(tt.mode).Overridden(s, []string{tt.skill}, tt.name, json.RawMessage(tt.arguments))
		if got := name + " " + string(arguments); got != tt.want {
			t.Errorf("%+v: got %s", tt, got)
		}
	}
}
