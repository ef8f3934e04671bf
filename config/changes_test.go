//go:build unix

package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/config"
)

// readingOf returns what a workspace says that has these files.
func readingOf(t *testing.T, files map[string]string) pannier.Workspace {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return config.NewWorkspaceReader(dir, 0).Read()
}

func configYAML(text string) map[string]string { return map[string]string{pannier.WorkspaceFile: text} }

func TestChanges(t *testing.T) {
	const full = "name: a\ndescription: b\nversion: 1.0\nmodel: c\nskills: [d]\ntools: [e]\ndelegation: {timeout: 1}\nshared_context: [f]\nprompt_files: [g.md]\nmemory: {backend: h}\n"
	none := []string{}
	tests := []struct {
		name                        string
		before, after               map[string]string
		files, hot, restart, ignore []string
	}{
		{name: "nothing", before: configYAML(full), after: configYAML(full)},
		{name: "layout alone", before: configYAML("name: Ann\nskills: [a, b] # two\na2a: {port: 1}\n"), after: configYAML("# by hand\nskills:\n  - a\n  - \"b\"\na2a:\n  port: 1\nname: 'Ann'\n")},
		{name: "every hot field", before: configYAML("{}"), after: configYAML(full), files: []string{"config.yaml"}, hot: []string{"delegation", "description", "memory", "model", "name", "prompt_files", "shared_context", "skills", "tools", "version"}},
		{name: "fields that want a restart", before: configYAML("runtime: a\nruntime_config: {args: []}\na2a: {port: 1}\n"), after: configYAML("runtime: b\nruntime_config: {args: [x]}\nsub_workspaces: []\nrole: x\n"), files: []string{"config.yaml"}, restart: []string{"a2a", "role", "runtime", "runtime_config", "sub_workspaces"}},
		{name: "fields that nobody reads", before: configYAML("tier: 1\n"), after: configYAML("tier: 2\nenv: {required: [A]}\ntemplate_schema_version: 1\nmine: 1\n"), files: []string{"config.yaml"}, ignore: []string{"env", "mine", "template_schema_version", "tier"}},
		{name: "some of each", before: configYAML("name: a\na2a:\ntier: 1\n"), after: configYAML("name: b\na2a: {}\ntier: '1'\n"), files: []string{"config.yaml"}, hot: []string{"name"}, restart: []string{"a2a"}, ignore: []string{"tier"}},
		{name: "how a version is written", before: configYAML("version: 1.0\n"), after: configYAML("version: 1.00\n"), files: []string{"config.yaml"}, hot: []string{"version"}},
		{name: "config.yaml comes", before: nil, after: configYAML("# nothing\n"), files: []string{"config.yaml"}},
		{name: "config.yaml goes", before: configYAML("name: a\n"), after: nil, files: []string{"config.yaml"}, hot: []string{"name"}},
		{name: "memory comes", before: nil, after: map[string]string{"MEMORY.md": "m"}, files: []string{"MEMORY.md"}},
		{name: "prompt goes", before: map[string]string{"system-prompt.md": "s", "USER.md": "u"}, after: map[string]string{"USER.md": "u"}, files: []string{"system-prompt.md"}},
		{name: "prompts say something else", before: map[string]string{"system-prompt.md": "s", "USER.md": "u", "MEMORY.md": ""}, after: map[string]string{"system-prompt.md": "S", "USER.md": " u\r\n", "MEMORY.md": "m"}, files: []string{"MEMORY.md", "system-prompt.md"}},
		{name: "prompt that cannot be read any more", before: map[string]string{"system-prompt.md": ""}, after: map[string]string{"system-prompt.md": "\x00"}, files: []string{"system-prompt.md"}},
		{name: "list of prompts", before: map[string]string{"config.yaml": "prompt_files: [a, b]\n", "a": "1", "b": "1", "c": "1"}, after: map[string]string{"config.yaml": "prompt_files: [c, a]\n", "a": "1", "b": "1", "c": "1"}, files: []string{"b", "c", "config.yaml"}, hot: []string{"prompt_files"}},
		{name: "config.yaml as a prompt", before: configYAML("prompt_files: [config.yaml]\n"), after: configYAML("prompt_files: [config.yaml]\nname: x\n"), files: []string{"config.yaml"}, hot: []string{"name"}},
		{name: "broken config.yaml of which nothing was known", before: nil, after: configYAML("a: b: c\n")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, changed := config.Changes(readingOf(t, tt.before), readingOf(t, tt.after))
			or := func(list []string) []string { return append(slices.Clone(none), list...) }
			want := pannier.WorkspaceChanged{Files: or(tt.files), Fields: pannier.FieldChanges{Hot: or(tt.hot), Restart: or(tt.restart), Ignored: or(tt.ignore)}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if changed != (len(tt.files) > 0) {
				t.Errorf("changed is %v", changed)
			}
		})
	}
}

func TestBrokenConfigIsNoChange(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, pannier.WorkspaceFile)
	r := config.NewWorkspaceReader(dir, 0)
	var readings []pannier.Workspace
	for _, text := range []string{"name: a\ntier: 1\n", "name: [", "name: a\ntier: 1\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		readings = append(readings, r.Read())
	}
	for i := range 2 {
		if got, changed := config.Changes(readings[i], readings[i+1]); changed {
			t.Errorf("reading %d: %+v", i+1, got)
		}
	}
}

func TestRestartNeeded(t *testing.T) {
	tests := []struct {
		name       string
		first, now map[string]string
		want       []problem
	}{
		{"nothing", configYAML("runtime: a\n"), configYAML("runtime: 'a' # the same\n"), nil},
		{"hot fields and strangers", configYAML("name: a\n"), configYAML("name: b\nmodel: c\nmine: 1\nenv: {}\n"), nil},
		{"changed, new and gone", configYAML("runtime: a\na2a: {port: 1}\n"), configYAML("runtime: b\nrbac: {}\n"), []problem{
			{"config.restart_needed", "a2a", 0}, {"config.restart_needed", "rbac", 0}, {"config.restart_needed", "runtime", 0},
		}},
		{"tier", configYAML("tier: 1\n"), configYAML("tier: 2\n"), []problem{{"config.tier_ignored", "tier", 0}}},
		{"the agent cannot have started before", nil, configYAML("runtime: a\n"), nil},
		{"config.yaml is gone", configYAML("runtime: a\n"), nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			problems := config.RestartNeeded(readingOf(t, tt.first), readingOf(t, tt.now))
			if diff := cmp.Diff(tt.want, codes(t, pannier.Workspace{Problems: problems})); diff != "" {
				t.Error(diff)
			}
			for _, p := range problems {
				if p.Severity != pannier.SeverityInfo || !strings.HasPrefix(p.Message, p.Field+" has changed") {
					t.Errorf("%+v", p)
				}
			}
		})
	}
}

// TestFieldEffects holds the table to what it promises: each field once, with a reason that completes a sentence.
func TestFieldEffects(t *testing.T) {
	keys, reasons := config.Effects()
	seen := map[string]bool{}
	for i, key := range keys {
		if seen[key] || reasons[i] == "" || strings.HasSuffix(reasons[i], ".") {
			t.Errorf("%s: %q", key, reasons[i])
		}
		seen[key] = true
	}
}
