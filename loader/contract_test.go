package loader_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
)

// front returns the skill that a frontmatter makes; a description is added to it.
func front(t *testing.T, fields string) *pannier.Skill {
	t.Helper()
	return read(t, "---\ndescription: d\n"+fields+"---\nbody\n")
}

// TestAllToolsCountAsAbsent keeps a skill whose allowed-tools is *, with or without quotes: it restricts nothing.
func TestAllToolsCountAsAbsent(t *testing.T) {
	for _, text := range []string{"*", "'*'", "[*]", "\n  - *", "\n- *", "['*', Read]"} {
		s := front(t, "allowed-tools: "+text+"\n")
		if s.Broken || len(s.AllowedTools) > 0 || len(s.Problems) != 1 || s.Problems[0].Severity != pannier.SeverityWarning || s.Problems[0].Field != "allowed-tools" {
			t.Errorf("%q: broken %t, tools %q, problems %v", text, s.Broken, s.AllowedTools, s.Problems)
		}
	}
}

func TestFields(t *testing.T) {
	tests := []struct {
		name, fields string
		want         func(*pannier.Skill) any
		is           any
	}{
		{"name", "name: \" PDF Tools \"\n", func(s *pannier.Skill) any { return s.Name }, "PDF Tools"},
		{"name that is a number", "name: 123\n", func(s *pannier.Skill) any { return s.Name }, "123"},
		{"no name", "name:\n", func(s *pannier.Skill) any { return s.Name }, "pdf"},
		{"version as written", "version: 1.0.0-rc.1+5\n", func(s *pannier.Skill) any { return s.Version }, "1.0.0-rc.1+5"},
		{"version below metadata", "metadata:\n  version: \"1.0\"\n", func(s *pannier.Skill) any { return s.Version }, "1.0"},
		{"version below metadata in JSON", "metadata: '{\"version\": \"2.1.0\"}'\n", func(s *pannier.Skill) any { return s.Version }, "2.1.0"},
		{"version at the top first", "version: 2.0.0\nmetadata: {version: 1.0.0}\n", func(s *pannier.Skill) any { return s.Version }, "2.0.0"},
		{"no version below metadata", "metadata: {version: [1]}\n", func(s *pannier.Skill) any { return s.Version }, ""},
		{"word as written", "license: yes\n", func(s *pannier.Skill) any { return s.License }, "yes"},
		{"homepage", "homepage: https://example.org/#x\n", func(s *pannier.Skill) any { return s.Homepage }, "https://example.org/#x"},
		{"emoji", "emoji: 📄\n", func(s *pannier.Skill) any { return s.Emoji }, "📄"},
		{"tags in a text", "tags: a, b ,, c\n", func(s *pannier.Skill) any { return s.Tags }, []string{"a", "b", "c"}},
		{"tags in a list", "tags: [a, \"b, c\", 1]\n", func(s *pannier.Skill) any { return s.Tags }, []string{"a", "b, c", "1"}},
		{"no tags", "tags: []\n", func(s *pannier.Skill) any { return s.Tags }, []string(nil)},
		{"example in a text", "examples: do this, then that\n", func(s *pannier.Skill) any { return s.Examples }, []string{"do this, then that"}},
		{"examples in a list", "examples:\n  - one\n  - two\n", func(s *pannier.Skill) any { return s.Examples }, []string{"one", "two"}},
		{"tools with commas", "allowed-tools: Read, Grep,Bash(git:*)\n", func(s *pannier.Skill) any { return s.AllowedTools }, []string{"Read", "Grep", "Bash(git:*)"}},
		{"tools with blanks", "allowed-tools: Read  Bash(git add:*, git rm:*) Grep\n", func(s *pannier.Skill) any { return s.AllowedTools }, []string{"Read", "Bash(git add:*, git rm:*)", "Grep"}},
		{"tools on lines", "allowed-tools: |\n  Read\n  Bash(a (b c) d)\n", func(s *pannier.Skill) any { return s.AllowedTools }, []string{"Read", "Bash(a (b c) d)"}},
		{"open parenthesis", "allowed-tools: Bash(git add\n", func(s *pannier.Skill) any { return s.AllowedTools }, []string{"Bash(git add"}},
		{"closed too often", "allowed-tools: a) b\n", func(s *pannier.Skill) any { return s.AllowedTools }, []string{"a)", "b"}},
		{"tools in a list", "allowed-tools: [Read, Bash(git add:*)]\n", func(s *pannier.Skill) any { return s.AllowedTools }, []string{"Read", "Bash(git add:*)"}},
		{"trigger in a text", "triggers: asked, or told\n", func(s *pannier.Skill) any { return s.Triggers }, []string{"asked, or told"}},
		{"triggers and when to use", "triggers: [a, b]\nwhen-to-use: Whenever it rains, or snows.\n", func(s *pannier.Skill) any { return s.Triggers }, []string{"a", "b", "Whenever it rains, or snows."}},
		{"one trigger twice", "triggers: [a]\nwhen-to-use: a\n", func(s *pannier.Skill) any { return s.Triggers }, []string{"a"}},
		{"paths in a text", "paths: \"*.{ts,tsx}, src/**\"\n", func(s *pannier.Skill) any { return s.Paths }, []string{"*.{ts,tsx}", "src/**"}},
		{"paths on lines", "paths: |\n  a/*\n  b/*\n", func(s *pannier.Skill) any { return s.Paths }, []string{"a/*", "b/*"}},
		{"paths in a list", "paths: [\"a, b\", \"c\"]\n", func(s *pannier.Skill) any { return s.Paths }, []string{"a, b", "c"}},
		{"compatibility", "compatibility: Needs git.\n", func(s *pannier.Skill) any { return s.Compatibility }, "Needs git."},
		{"compatibility of a dialect", "metadata: {openclaw: {compatibility: Needs git.}}\n", func(s *pannier.Skill) any { return s.Compatibility }, "Needs git."},
		{"conflicts", "conflicts: [acme/PDF Tools, b, b]\n", func(s *pannier.Skill) any { return s.Conflicts }, []string{"acme/pdf-tools", "b"}},
		{"conflict with an owner that has no letter", "conflicts: 技/pdf\n", func(s *pannier.Skill) any { return s.Conflicts }, []string{"pdf"}},
		{"primary variable", "primary-env: A_KEY\nmetadata: {openclaw: {primaryEnv: B_KEY}}\n", func(s *pannier.Skill) any { return s.PrimaryEnv }, "A_KEY"},
		{"primary variable of a dialect", "metadata: {openclaw: {}, clawdbot: {primaryEnv: B_KEY}}\n", func(s *pannier.Skill) any { return s.PrimaryEnv }, "B_KEY"},
		{"a primary variable is not a requirement", "primary-env: A_KEY\n", func(s *pannier.Skill) any { return s.Requirements }, pannier.Requirements{}},
		{"key of the settings", "metadata: {openclaw: {skillKey: k}}\n", func(s *pannier.Skill) any { return s.SkillKey }, "k"},
		{"conflicts in a text", "conflicts: b, a\n", func(s *pannier.Skill) any { return s.Conflicts }, []string{"a", "b"}},
		{"overrides are no requirements", "overrides: {model: {effort: x}}\n", func(s *pannier.Skill) any { return s.Requirements }, pannier.Requirements{}},
		{"overrides", "overrides:\n  tools:\n    aliases: {sum: skill.csv.sum}\n    defaults: {skill.csv.sum: {limit: 10, deep: true}}\n  model: {prefer: [a, b], provider: acme, effort: high}\n" +
			"  context: {include: [src/**], exclude: ['*.key'], max_chars: 800}\n", func(s *pannier.Skill) any { return s.Overrides }, []pannier.Override{
			{Part: "tools", Key: "aliases.sum", Value: json.RawMessage(`"skill.csv.sum"`)},
			{Part: "tools", Key: "defaults.skill.csv.sum.limit", Value: json.RawMessage(`10`)},
			{Part: "tools", Key: "defaults.skill.csv.sum.deep", Value: json.RawMessage(`true`)},
			{Part: "model", Key: "prefer", Value: json.RawMessage(`["a","b"]`)},
			{Part: "model", Key: "provider", Value: json.RawMessage(`"acme"`)},
			{Part: "model", Key: "effort", Value: json.RawMessage(`"high"`)},
			{Part: "context", Key: "include", Value: json.RawMessage(`["src/**"]`)},
			{Part: "context", Key: "exclude", Value: json.RawMessage(`["*.key"]`)},
			{Part: "context", Key: "max_chars", Value: json.RawMessage(`800`)},
		}},
		{"user-invocable", "user-invocable: false\n", func(s *pannier.Skill) any { return s.UserInvocable }, false},
		{"user-invocable by default", "", func(s *pannier.Skill) any { return s.UserInvocable }, true},
		{"disable-model-invocation", "disable-model-invocation: true\n", func(s *pannier.Skill) any { return s.DisableModelInvocation }, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := front(t, tt.fields)
			if diff := cmp.Diff(tt.is, tt.want(s)); diff != "" || len(s.Problems) > 0 {
				t.Errorf("want -, got +:\n%s\nproblems %v", diff, s.Problems)
			}
		})
	}
}

func TestRuntime(t *testing.T) {
	tests := []struct {
		fields string
		want   []string
		wrong  bool
	}{
		{"", nil, false},
		{"runtime:\n", nil, false},
		{"runtime: []\n", nil, false},
		{"runtime: \"*\"\n", nil, false},
		{"runtime: [\"*\"]\n", nil, false},
		{"runtime: [a, \"*\"]\n", nil, false},
		{"runtime: claude-code\n", []string{"claude-code"}, false},
		{"runtime: [claude-code, hermes]\n", []string{"claude-code", "hermes"}, false},
		{"runtime: \", \"\n", nil, true},
		{"runtime: \"123\"\n", []string{"123"}, false},
		{"runtime: \"\"\n", nil, true},
		{"runtime: 123\n", nil, true},
		{"runtime: true\n", nil, true},
		{"runtime: [a, 1]\n", nil, true},
		{"runtime: [a, [b]]\n", nil, true},
		{"runtime: [a, ~]\n", nil, true},
		{"runtime: {x: y}\n", nil, true},
		{"runtime: {tools: []}\n", nil, false},
		{"runtime: {tools: [], adapters: hermes}\n", []string{"hermes"}, false},
		{"runtime: {adapters: [hermes, a]}\n", []string{"hermes", "a"}, false},
		{"runtime: {tools: [], adapters: {a: b}}\n", nil, true},
		{"runtime: {tools: []}\nruntimes: [hermes]\n", []string{"hermes"}, false},
		{"runtime: {tools: []}\nruntimes: 5\n", nil, true},
	}
	for _, tt := range tests {
		s := front(t, tt.fields)
		if diff := cmp.Diff(tt.want, s.Runtimes); diff != "" || s.Broken {
			t.Errorf("%q: want -, got +:\n%s", tt.fields, diff)
		}
		want := []string{}
		if tt.wrong {
			want = []string{"skill.runtime.value"}
		}
		if diff := cmp.Diff(want, codes(s.Problems)); diff != "" {
			t.Errorf("%q: problems %v", tt.fields, s.Problems)
		}
		if tt.wrong && len(s.Problems) > 0 && !strings.HasPrefix(s.Problems[0].String(), s.FilePath()+":") {
			t.Errorf("%q: %v has no line", tt.fields, s.Problems[0])
		}
	}
}

// TestRuntimeInAText reads a text with commas as a list, as tags are, and says how to write one.
func TestRuntimeInAText(t *testing.T) {
	for _, fields := range []string{"runtime: claude-code, langgraph\n", "runtime: \"claude-code,langgraph,\"\n", "runtime: {adapters: 'claude-code, langgraph'}\n"} {
		s := front(t, fields)
		if !slices.Equal(s.Runtimes, []string{"claude-code", "langgraph"}) || !slices.Equal(codes(s.Problems), []string{"skill.runtime.text"}) {
			t.Fatalf("%q: %q, problems %v", fields, s.Runtimes, s.Problems)
		}
		if p := s.Problems[0]; p.Line == 0 || !strings.Contains(p.Hint, "runtime: [claude-code, langgraph]") {
			t.Errorf("%q: %+v", fields, p)
		}
	}
}

func TestMetadata(t *testing.T) {
	whole := pannier.Requirements{Bins: []string{"gh", "jq"}, AnyBins: []string{"bat", "cat"}, Env: []string{"TOKEN"}, OS: []string{"darwin", "linux"}, Always: true}
	tests := []struct {
		name, fields string
		want         pannier.Requirements
	}{
		{"mapping", "metadata:\n  openclaw:\n    always: true\n    os: [linux, macOS]\n    requires:\n      bins: [jq, gh, jq]\n      anyBins: [cat, bat]\n      env: [TOKEN]\n", whole},
		{"JSON on one line", `metadata: {"openclaw":{"always":true,"os":["linux","darwin"],"requires":{"bins":["gh","jq"],"anyBins":["bat","cat"],"env":["TOKEN"]}}}` + "\n", whole},
		{"JSON over lines", "metadata:\n  {\n    \"openclaw\":\n      { \"always\": true, \"os\": [\"linux\", \"darwin\"],\n        \"requires\": { \"bins\": [\"gh\", \"jq\"], \"anyBins\": [\"bat\", \"cat\"], \"env\": [\"TOKEN\"] } },\n  }\n", whole},
		{"JSON in quotes", `metadata: '{"openclaw":{"always":true,"os":"linux, darwin","requires":{"bins":"gh,jq","anyBins":["bat","cat"],"env":["TOKEN"]}}}'` + "\n", whole},
		{"surrogate pairs in JSON in quotes", `metadata: '{"openclaw":{"emoji":"\ud83d\udc3e","requires":{"bins":["jq"]}}}'` + "\n", pannier.Requirements{Bins: []string{"jq"}}},
		{"surrogate pairs in JSON in a block", "metadata: |\n  {\n  \t\"openclaw\":\n    {\"emoji\": \"\\ud83d\\udc3e\", \"requires\": {\"bins\": [\"jq\"]}}}\n", pannier.Requirements{Bins: []string{"jq"}}},
		{"surrogate pairs in a dialect", `metadata: {openclaw: '{"emoji":"\ud83d\udc3e","requires":{"bins":["jq"]}}'}` + "\n", pannier.Requirements{Bins: []string{"jq"}}},
		{"JSON in a block", "metadata: |\n  {\"openclaw\": {\"requires\": {\"bins\": [\"jq\"]}}}\n", pannier.Requirements{Bins: []string{"jq"}}},
		{"dialect as JSON in quotes", `metadata: {openclaw: '{"requires":{"bins":["jq"]}}', author: me}` + "\n", pannier.Requirements{Bins: []string{"jq"}}},
		{"four dialects", "metadata:\n  moltbot: {requires: {bins: [d]}, always: true}\n  clawdis: {requires: {bins: [c, a]}}\n  clawdbot: {requires: {bins: [b]}, os: win32}\n  openclaw: {requires: {bins: [a]}, always: false}\n", pannier.Requirements{Bins: []string{"a", "b", "c", "d"}, OS: []string{"windows"}, Always: true}},
		{"null", "metadata:\n", pannier.Requirements{}},
		{"null dialect", "metadata:\n  openclaw:\n", pannier.Requirements{}},
		{"foreign", "metadata: {author: x, hermes: [1]}\n", pannier.Requirements{}},
		{"empty text", "metadata: \"\"\n", pannier.Requirements{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := front(t, tt.fields)
			if diff := cmp.Diff(tt.want, s.Requirements); diff != "" || len(s.Problems) > 0 {
				t.Errorf("want -, got +:\n%s\nproblems %v", diff, s.Problems)
			}
		})
	}
	s := front(t, "emoji: a\nmetadata:\n  clawdbot: {emoji: c, homepage: h2}\n  openclaw: {emoji: b, homepage: h1, license: MIT}\n")
	if s.Emoji != "a" || s.Homepage != "h1" || s.License != "MIT" {
		t.Errorf("emoji %q, homepage %q, license %q; the top wins, then the current dialect", s.Emoji, s.Homepage, s.License)
	}
}

func TestWrongTypes(t *testing.T) {
	tests := []struct {
		name, fields, code, field string
		line, column              int
	}{
		{"list for a text", "name: [a]\n", "skill.type", "name", 3, 7},
		{"mapping for a text", "license:\n  a: b\n", "skill.type", "license", 4, 3},
		{"mapping for a list", "tags: {a: b}\n", "skill.type", "tags", 3, 7},
		{"list in a list", "tags: [a, [b]]\n", "skill.type", "tags", 3, 11},
		{"column in characters", "tags: [技能, [b]]\n", "skill.type", "tags", 3, 12},
		{"text for a flag", "user-invocable: \"true\"\n", "skill.type", "user-invocable", 3, 17},
		{"word for a flag", "disable-model-invocation: yes\n", "skill.type", "disable-model-invocation", 3, 27},
		{"all tools in quotes", "allowed-tools: '*'\n", "skill.tools.all", "allowed-tools", 3, 16},
		{"overrides of another shape", "overrides: [a]\n", "skill.overrides.entry", "overrides", 3, 12},
		{"overrides of another part", "overrides: {env: {A: b}}\n", "skill.overrides.entry", "overrides.env", 3, 18},
		{"overrides that nothing reads", "overrides: {model: {token: x}}\n", "skill.overrides.entry", "overrides.model.token", 3, 28},
		{"a default that is no scalar", "overrides: {tools: {defaults: {t: {a: [1]}}}}\n", "skill.overrides.entry", "overrides.tools.defaults.t.a", 3, 39},
		{"an alias with a dot", "overrides: {tools: {aliases: {a.b: t}}}\n", "skill.overrides.entry", "overrides.tools.aliases.a.b", 3, 36},
		{"a long override", "overrides: {model: {effort: " + strings.Repeat("x", 129) + "}}\n", "skill.overrides.entry", "overrides.model.effort", 3, 29},
		{"a limit below one", "overrides: {context: {max_chars: 0}}\n", "skill.overrides.entry", "overrides.context.max_chars", 3, 34},
		{"many overrides", "overrides: {tools: {aliases: {" + manyAliases + "}}}\n", "skill.overrides.count", "overrides", 3, 12},
		{"list of dependencies", "dependencies: [a, b]\n", "skill.type", "dependencies", 3, 15},
		{"mapping for tools", "allowed-tools: {a: b}\n", "skill.type", "allowed-tools", 3, 16},
		{"list for dependencies", "dependencies: [numpy]\n", "skill.type", "dependencies", 3, 15},
		{"text for dependencies", "dependencies: python3\n", "skill.type", "dependencies", 3, 15},
		{"mapping for env", "dependencies:\n  env: {a: b}\n", "skill.type", "dependencies.env", 4, 8},
		{"list in bins", "dependencies: {bins: [a, [b]]}\n", "skill.type", "dependencies.bins", 3, 26},
		{"list for eligibility", "eligibility: [a]\n", "skill.type", "eligibility", 3, 14},
		{"word for enabled", "eligibility: {enabled: no}\n", "skill.type", "eligibility.enabled", 3, 24},
		{"mapping for triggers", "triggers: {a: b}\n", "skill.type", "triggers", 3, 11},
		{"list for when-to-use", "when-to-use: [a]\n", "skill.type", "when-to-use", 3, 14},
		{"mapping for compatibility", "compatibility: {a: b}\n", "skill.type", "compatibility", 3, 16},
		{"no slug in conflicts", "conflicts: 技能\n", "skill.conflicts.value", "conflicts", 3, 12},
		{"text for commands", "commands: deploy\n", "skill.type", "commands", 3, 11},
		{"mapping in a command", "commands: [{name: a, description: [b]}]\n", "skill.type", "commands[0].description", 3, 35},
		{"object in config", "metadata: {openclaw: {requires: {config: [a.b, {c: d}]}}}\n", "skill.type", "metadata.openclaw.requires.config", 3, 48},
		{"list for metadata", "metadata: [a]\n", "skill.metadata.type", "metadata", 3, 11},
		{"text for metadata", "metadata: foo\n", "skill.metadata.type", "metadata", 3, 11},
		{"broken JSON for metadata", "metadata: '{\"a\": '\n", "skill.metadata.type", "metadata", 3, 11},
		{"flag for a dialect", "metadata: {openclaw: true}\n", "skill.metadata.type", "metadata.openclaw", 3, 22},
		{"text for always", "metadata: {openclaw: {always: \"x\"}}\n", "skill.type", "metadata.openclaw.always", 3, 31},
		{"list for requires", "metadata: {openclaw: {requires: [jq]}}\n", "skill.type", "metadata.openclaw.requires", 3, 33},
		{"list for scope", "scope: [disabled]\n", "skill.type", "scope", 3, 8},
		{"list for a primary variable", "metadata: {openclaw: {primaryEnv: [A]}}\n", "skill.type", "metadata.openclaw.primaryEnv", 3, 35},
		{"path for a binary", "metadata: {openclaw: {requires: {bins: [jq, /bin/sh]}}}\n", "skill.bins.path", "metadata.openclaw.requires.bins", 3, 40},
		{"path for any binary", "eligibility: {any-bins: ./run}\n", "skill.bins.path", "eligibility.any-bins", 3, 25},
		{"path for a command", "dependencies: {commands: [a/b]}\n", "skill.bins.path", "dependencies.commands", 3, 26},
		{"mapping for bins", "metadata:\n  openclaw:\n    requires:\n      bins: {a: b}\n", "skill.type", "metadata.openclaw.requires.bins", 6, 13},
		{"within JSON in quotes", "tags: a\nmetadata: '{\"openclaw\": {\"requires\": {\"bins\": {\"a\": 1}}}}'\n", "skill.type", "metadata.openclaw.requires.bins", 4, 11},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := front(t, tt.fields)
			if s.Broken || len(s.Problems) != 1 {
				t.Fatalf("broken %t, problems %v", s.Broken, s.Problems)
			}
			p := s.Problems[0]
			if p.Code != tt.code || p.Field != tt.field || p.Line != tt.line || p.Column != tt.column || p.Severity != pannier.SeverityWarning || p.Hint == "" {
				t.Errorf("%v in %q with hint %q, want %s in %q at %d:%d", p, p.Field, p.Hint, tt.code, tt.field, tt.line, tt.column)
			}
		})
	}
}

func TestSurrogatePairInMetadata(t *testing.T) {
	s := front(t, `metadata: '{"openclaw":{"emoji":"\ud83d\udc3e"}}'`+"\n")
	if s.Emoji != "\U0001f43e" || len(s.Problems) > 0 {
		t.Errorf("emoji %q, problems %v", s.Emoji, s.Problems)
	}
}

// TestFieldsInJSON finds what a frontmatter says in what clients are told.
func TestFieldsInJSON(t *testing.T) {
	told := func(fields string) map[string]any {
		text, err := json.Marshal(front(t, fields))
		var got map[string]any
		if err != nil || json.Unmarshal(text, &got) != nil {
			t.Fatal(err)
		}
		return got
	}
	want := map[string]any{"compatibility": "Needs git.", "conflicts": []any{"acme/a", "b"}, "primary_env": "KEY", "skill_key": "k"}
	got, bare := told("compatibility: Needs git.\nconflicts: [b, Acme/A]\nmetadata: {openclaw: {primaryEnv: KEY, skillKey: k}}\n"), told("")
	for key, value := range want {
		if diff := cmp.Diff(value, got[key]); diff != "" {
			t.Errorf("%s: want -, got +:\n%s", key, diff)
		}
		if _, ok := bare[key]; ok {
			t.Errorf("a skill without %s has it", key)
		}
	}
}

// manyAliases are one more than a skill can have.
var manyAliases = func() string {
	var all []string
	for i := range pannier.MaxOverrides + 1 {
		all = append(all, fmt.Sprintf("a%d: t", i))
	}
	return strings.Join(all, ", ")
}()
