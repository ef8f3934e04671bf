package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"pannier"
	"pannier/tools"
)

// TestPermission shows how each tool starts, and what is against it.
func TestPermission(t *testing.T) {
	b := newBench()
	b.known, b.options.Network, b.options.Hosts, b.options.ProjectDirs = b.print, true, []string{"api.example"}, []string{"/home/ann"}
	b.files = append(b.files, pannier.ToolFile{Path: "scripts/go.sh", Size: 30}, pannier.ToolFile{Path: "data", Size: 12})
	b.entry().TrustLevel, b.entry().Policy.ToolsAllowed = pannier.TrustUntrusted, pannier.DigestOf([]byte("before"))
	b.entry().RuntimeTools = append(b.entry().RuntimeTools, pannier.Tool{
		Name: "send", Kind: pannier.RuntimeHTTP, Declaration: json.RawMessage(`{"kind":"http","config":{"url":"https://x.example/{a}","method":"post","headers":{"A":"${secret:K}","B":"${secret:K} ${secret:A}"}}}`),
	})
	b.options.Secrets = func(string, json.RawMessage) (bool, error) { return true, errors.New("there is no secret") }
	p, err := tools.New(b.options).Permission(t.Context(), b.entry().Skill)
	if err != nil || p.Fingerprint != b.print || p.Allowed || p.ToolsAllowed.IsZero() || p.Files != 4 || p.Bytes != 42 || !p.Network || len(p.Hosts) != 1 || p.Refused != nil ||
		!slices.Equal(p.Env, []string{"LANG", "KEY"}) || !slices.Equal(p.ProjectDirs, b.options.ProjectDirs) {
		t.Errorf("%+v, %v", p, err)
	}
	starts := map[string]string{}
	for _, tool := range p.Tools {
		how := tool
		how.Name, how.Kind, how.Description, how.Why = "", "", "", nil
		text, _ := json.Marshal(how)
		starts[tool.Name] = string(text)
		if refused := tool.Why != nil; refused != (tool.Kind == pannier.RuntimeHTTP) {
			t.Errorf("%s: why %+v", tool.Name, tool.Why)
		}
	}
	for name, want := range map[string]string{
		"skill.a.run": `{"name":"","kind":"","description":"","command":["scripts/run","${skill_dir}"]}`, "skill.a.add": `{"name":"","kind":"","description":"","file":"tools/calc.py","function":"add"}`,
		"skill.a.go-sh": `{"name":"","kind":"","description":"","file":"scripts/go.sh"}`, "skill.a.read": `{"name":"","kind":"","description":"","target_tool":"read_file"}`,
		"skill.a.send": `{"name":"","kind":"","description":"","method":"POST","url":"https://x.example/{a}","secrets":["A","K"]}`,
	} {
		if starts[name] != want {
			t.Errorf("%s: %s, want %s", name, starts[name], want)
		}
	}
}

// TestPermissionOfFiles refuses files that must not run, and shows no tools of other files than the fingerprint covers.
func TestPermissionOfFiles(t *testing.T) {
	for name, tt := range map[string]struct {
		change  func(*bench)
		refused string
		err     error
	}{
		"sound":             {func(*bench) {}, "", nil},
		"unusable":          {func(b *bench) { b.unusable(pannier.ReasonMissingBinary) }, "", nil}, // its tools say so, below
		"not scanned":       {func(b *bench) { b.scan = nil }, pannier.ToolUnscanned, nil},
		"blocked":           {func(b *bench) { b.scan.Decision = pannier.ScanBlock }, pannier.ToolUnscanned, nil},
		"linked":            {func(b *bench) { b.linked = true }, pannier.ToolChanged, nil},
		"held":              {func(b *bench) { b.entry().LastGood = true }, pannier.ToolChanged, nil},
		"other files":       {func(b *bench) { b.known = pannier.DigestOf([]byte("other")) }, "", pannier.ErrChanged},
		"another SKILL.md":  {func(b *bench) { b.files[0].SHA256 = b.print }, "", pannier.ErrChanged},
		"files that change": {func(b *bench) { b.readErr = pannier.ErrChanged }, "", pannier.ErrChanged},
		"gone": {func(b *bench) {
			b.options.Await = func(context.Context, *pannier.Skill) *pannier.Snapshot { return &pannier.Snapshot{} }
		}, "", pannier.ErrChanged},
	} {
		b := newBench()
		b.known = b.print
		skill := b.entry().Skill
		tt.change(b)
		p, err := tools.New(b.options).Permission(t.Context(), skill)
		if !errors.Is(err, tt.err) || tt.err == nil && len(p.Tools) == 0 {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
		if why := len(p.Tools) > 0 && p.Tools[0].Why != nil && p.Tools[0].Why.Code == pannier.ToolDependencyMissing; why != (name == "unusable") {
			t.Errorf("%s: why %+v", name, p.Tools)
		}
		code := ""
		if p.Refused != nil {
			code = p.Refused.Code
		}
		if code != tt.refused || code != "" && p.Refused.Hint == "" {
			t.Errorf("%s: refused %+v, want %q", name, p.Refused, tt.refused)
		}
	}
}
