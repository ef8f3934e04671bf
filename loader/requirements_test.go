package loader_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
)

func TestRequirementsOfEachDialect(t *testing.T) {
	tests := []struct {
		name, fields string
		want         pannier.Requirements
	}{
		{
			"dependencies", "dependencies:\n  env: [B, A]\n  api_keys: KEY\n  bins: [jq]\n  commands: [gh, jq]\n  mcp: [files, files]\n  config: [\"a.b\", c/d.json]\n",
			pannier.Requirements{Env: []string{"A", "B"}, APIKeys: []string{"KEY"}, Bins: []string{"gh", "jq"}, MCP: []string{"files"}, Config: []string{"a.b", "c/d.json"}},
		},
		{"null dependencies", "dependencies:\n", pannier.Requirements{}},
		{"text with commas", "dependencies: {env: \"A, B\"}\n", pannier.Requirements{Env: []string{"A", "B"}}},
		{
			"OpenClaw", "metadata: {openclaw: {requires: {env: [A], bins: [b], anyBins: [d, c], config: [x.y]}}}\n",
			pannier.Requirements{Env: []string{"A"}, Bins: []string{"b"}, AnyBins: []string{"c", "d"}, Config: []string{"x.y"}},
		},
		{"clawdbot's commands", "metadata: {clawdbot: {requires: {commands: [b, a], bins: a}}}\n", pannier.Requirements{Bins: []string{"a", "b"}}},
		{
			"Aleph", "eligibility:\n  os: [darwin, win]\n  required-bins: [b]\n  any-bins: [c]\n  required-env: [A]\n  required-config: [x.y]\n  always: true\n  enabled: true\n",
			pannier.Requirements{OS: []string{"darwin", "windows"}, Bins: []string{"b"}, AnyBins: []string{"c"}, Env: []string{"A"}, Config: []string{"x.y"}, Always: true},
		},
		{
			"all together", "eligibility: {required-env: [A], os: linux}\ndependencies: {env: [C, A], bins: [z]}\nmetadata: {openclaw: {os: [macos], requires: {env: [B], bins: [y, z]}}}\n",
			pannier.Requirements{OS: []string{"darwin", "linux"}, Env: []string{"A", "B", "C"}, Bins: []string{"y", "z"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := front(t, tt.fields)
			if diff := cmp.Diff(tt.want, s.Requirements); diff != "" || len(s.Problems) > 0 || s.DisabledBy != "" {
				t.Errorf("want -, got +:\n%s\nproblems %v, disabled by %q", diff, s.Problems, s.DisabledBy)
			}
		})
	}
}

func TestSkillSwitchesItselfOff(t *testing.T) {
	for fields, want := range map[string]string{
		"eligibility: {enabled: false}\n":                  "eligibility.enabled",
		"eligibility: {enabled: false, always: true}\n":    "eligibility.enabled",
		"eligibility: {enabled: true}\n":                   "",
		"eligibility: {enabled: ~}\n":                      "",
		"scope: disabled\n":                                "scope",
		"scope: \" Disabled \"\n":                          "scope",
		"scope: disabled\neligibility: {enabled: true}\n":  "scope",
		"scope: disabled\neligibility: {enabled: false}\n": "eligibility.enabled",
		"scope: system\n":                                  "",
		"scope: standalone\neligibility: {always: true}\n": "",
	} {
		if s := front(t, fields); s.DisabledBy != want || len(s.Problems) > 0 {
			t.Errorf("%q: disabled by %q, problems %v", fields, s.DisabledBy, s.Problems)
		}
	}
}

func TestCommands(t *testing.T) {
	const sound = "commands:\n  - name: /deploy\n    description: Deploys it.\n    args: <target> [--dry-run]\n  - {name: check, args: [a, b]}\n"
	s := front(t, sound)
	want := []pannier.Command{{Name: "deploy", Description: "Deploys it.", Args: "<target> [--dry-run]"}, {Name: "check", Args: "a b"}}
	if diff := cmp.Diff(want, s.Commands); diff != "" || len(s.Problems) > 0 {
		t.Errorf("want -, got +:\n%s\nproblems %v", diff, s.Problems)
	}
	for fault, column := range map[string]int{"check": 5, "{description: d}": 5, "{name: two words}": 5, "{name: deploy}": 5, "{name: [a]}": 5, "{name: /}": 5} {
		s := front(t, sound+"  - "+fault+"\n  - name: last\n")
		if len(s.Commands) != 3 || s.Commands[2].Name != "last" || len(s.Problems) != 1 {
			t.Fatalf("%s: %+v, problems %v", fault, s.Commands, s.Problems)
		}
		if p := s.Problems[0]; p.Code != "skill.command" || p.Line != 8 || p.Column != column || p.Field != "commands[2]" {
			t.Errorf("%s: %v in %s", fault, p, p.Field)
		}
	}
}

// TestCommandWithFaultyArgs keeps a command whose args are at fault.
func TestCommandWithFaultyArgs(t *testing.T) {
	s := front(t, "commands:\n  - name: solo\n    description: Alone.\n    args: {name: solo, required: true}\n")
	if len(s.Commands) != 1 || s.Commands[0].Description != "Alone." || s.Commands[0].Args != "" || len(s.Commands[0].Arguments) > 0 {
		t.Errorf("%+v", s.Commands)
	}
	if len(s.Problems) != 1 || s.Problems[0].Field != "commands[0].args" || s.Problems[0].Line != 6 {
		t.Errorf("problems %v", s.Problems)
	}
}

// TestCommandArguments: "Skills can expose CLI-style commands: pub struct SkillCommandSpec { pub name: String, pub description:
// String, pub args: Vec<CommandArg> }" (Skill System, "Skill Commands").
func TestCommandArguments(t *testing.T) {
	const declared = "commands:\n  - name: deploy\n    description: Deploys it.\n    args:\n" +
		"      - {name: target, description: Where to., required: true}\n      - {name: tag}\n      - mode\n"
	s := front(t, declared)
	want := []pannier.CommandArgument{{Name: "target", Description: "Where to.", Required: true}, {Name: "tag"}, {Name: "mode"}}
	if diff := cmp.Diff(want, s.Commands[0].Arguments); diff != "" || s.Commands[0].Args != "<target> [tag] [mode]" || len(s.Problems) > 0 {
		t.Errorf("want -, got +:\n%s\nargs %q, problems %v", diff, s.Commands[0].Args, s.Problems)
	}
	for fault, code := range map[string]string{
		"{description: d}": "skill.command", "{name: two words}": "skill.command", "{name: tag, required: true}": "skill.command",
		"{name: [a]}": "skill.command", "[a]": "skill.command", "~": "skill.command", "two words": "skill.command",
		"{name: x, required: often}": "skill.type", `{name: x, required: "yes"}`: "skill.type", "{name: x, description: {a: b}}": "skill.type",
	} {
		s := front(t, declared+"      - "+fault+"\n      - {name: last}\n")
		left := 4
		if code == "skill.type" {
			left = 5 // the argument stays, without what is wrong with it
		}
		if len(s.Commands) != 1 || len(s.Commands[0].Arguments) != left || len(s.Problems) != 1 {
			t.Errorf("%s: %+v, problems %v", fault, s.Commands, s.Problems)
			continue
		}
		if p := s.Problems[0]; p.Code != code || p.Line != 10 || !strings.HasPrefix(p.Field, "commands[0].args[3]") || p.Hint == "" {
			t.Errorf("%s: %v in %s", fault, p, p.Field)
		}
	}
}

func TestSemanticVersions(t *testing.T) {
	for version, sound := range map[string]bool{
		"1.0.0": true, "0.0.4": true, "10.20.30": true, "1.0.0-alpha.1": true, "1.0.0-0A.is.legal": true, "1.0.0+build.01": true,
		"1.0.0--": true, "1.0.0-rc.1+sha-5.x": true, "1.0.0-01a": true,
		"1": false, "1.0": false, "v1.0.0": false, "1.0.0.0": false, "01.0.0": false, "1.0.0-": false, "1.0.0-01": false,
		"1.0.0+": false, "1.0.0-a..b": false, "1.0.x": false, "1.0.0-ä": false, "latest": false, "-1.0.0": false,
	} {
		s := front(t, "version: \""+version+"\"\n")
		if told := len(s.Problems) > 0; s.Version != version || told == sound {
			t.Errorf("%q is %q with %v", version, s.Version, s.Problems)
		}
	}
	p := front(t, "version: 1.0\n").Problems[0]
	if p.Code != "skill.version.format" || p.Severity != pannier.SeverityWarning || p.Line != 3 || p.Column != 10 {
		t.Errorf("told %v", p)
	}
}
