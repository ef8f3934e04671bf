package profile_test

import (
	"strings"
	"testing"

	"pannier"
	"pannier/loader/profile"
)

func TestOpenClaw(t *testing.T) {
	tests := []struct {
		rule   string
		fields string // beside name and description, their lines divided by " / "
		want   string
	}{
		{"nothing else", "", ""},
		{"all texts", "slug: a / owner: o / license: MIT / compatibility: x / version: 1.0.0", ""},
		{"texts that have nothing are absent", "slug: / owner: ~ / version: null", ""},
		{"version is a number to them", "version: 1.0", "contract.version.type"},
		{"version in quotes", "version: '1.0'", ""},
		{"slug is a number", "slug: 12", "contract.slug.type"},
		{"owner is a list", "owner: [a]", "contract.owner.type"},
		{"license is a mapping", "license: {spdx: MIT}", "contract.license.type"},
		{"compatibility is a truth", "compatibility: true", "contract.compatibility.type"},
		{"user-invocable", "user-invocable: false / disable-model-invocation: True", ""},
		{"user-invocable is a text", "user-invocable: 'true'", "contract.user-invocable.type"},
		{"user-invocable is a word of YAML 1.1", "user-invocable: yes", "contract.user-invocable.type"},
		{"user-invocable has nothing", "user-invocable:", "contract.user-invocable.type"},
		{"disable-model-invocation is a number", "disable-model-invocation: 1", "contract.disable-model-invocation.type"},

		{"paths is a text", "paths: src/*.go", ""},
		{"paths is a list", "paths: [a, b]", ""},
		{"paths has nothing", "paths:", ""},
		{"paths is a mapping", "paths: {a: b}", "contract.paths.type"},
		{"an item of paths is a number", "paths: [a, 1]", "contract.paths.item_type"},
		{"an item of paths is nothing", "paths: [a, ~]", "contract.paths.item_type"},
		{"allowed-tools is a list", "allowed-tools: [Read, Write]", ""},
		{"allowed-tools is a number", "allowed-tools: 7", "contract.allowed-tools.type"},
		{"an item of allowed-tools is a list", "allowed-tools: [[a]]", "contract.allowed-tools.item_type"},

		{"dependencies", "dependencies: {env: A, bins: [git], mcp: }", ""},
		{"dependencies is a list", "dependencies: [git]", "contract.dependencies.type"},
		{"dependencies has nothing", "dependencies:", "contract.dependencies.type"},
		{"dependencies.bins is a mapping", "dependencies: {bins: {git: x}}", "contract.dependencies.bins.type"},
		{"an item of dependencies.env is a number", "dependencies: {env: [1]}", "contract.dependencies.env.item_type"},
		{"other dependencies are not known", "dependencies: {python: {a: 1}}", ""},

		{"runtime names adapters, as Molecule has it", "runtime: [claude-code]", ""},
		{"runtime names one adapter", "runtime: claude-code", ""},
		{"runtime is a number", "runtime: 123", "contract.runtime.type"},
		{"runtime lists a number", "runtime: [a, 1]", "contract.runtime.type"},
		{"runtime without tools", "runtime: {adapters: [a]}", ""},
		{"tools is a mapping", "runtime: {tools: {a: b}}", "contract.runtime.type"},
		{"a tool is a text", "runtime: {tools: [a]}", "contract.runtime.type"},
		{"a tool", "runtime: {tools: [{tool_slug: Run_it, kind: shell, execution_class: exclusive}]}", ""},
		{"a tool without a slug", "runtime: {tools: [{kind: shell}]}", "contract.runtime.tools.tool_slug"},
		{"a tool with a slug of nothing", "runtime: {tools: [{tool_slug: '__', kind: http}]}", "contract.runtime.tools.tool_slug"},
		{"a tool of no kind", "runtime: {tools: [{tool_slug: a}]}", "contract.runtime.tools.kind"},
		{"a tool of another kind", "runtime: {tools: [{tool_slug: a, kind: python}]}", "contract.runtime.tools.kind"},
		{"a tool of another class", "runtime: {tools: [{tool_slug: a, kind: http, execution_class: x}]}", "contract.runtime.tools.execution_class"},
		{"an output policy", "runtime: {tools: [{tool_slug: a, kind: http, output_policy: {llm: {mode: full, max_bytes: 1}, storage: {mode: none}, recovery: {mode: evidence, diagnostic_excerpt: {mode: output, max_chars: 9}}}}]}", ""},
		{"an output policy is a text", "runtime: {tools: [{tool_slug: a, kind: http, output_policy: full}]}", "contract.runtime.tools.output_policy"},
		{"a part that is not known", "runtime: {tools: [{tool_slug: a, kind: http, output_policy: {llmm: {mode: full}}}]}", "contract.runtime.tools.output_policy"},
		{"a mode that is not known", "runtime: {tools: [{tool_slug: a, kind: http, output_policy: {llm: {mode: hidden}}}]}", "contract.runtime.tools.output_policy"},
		{"a key that the mode does not have", "runtime: {tools: [{tool_slug: a, kind: http, output_policy: {llm: {mode: summary_only, max_bytes: 1}}}]}", "contract.runtime.tools.output_policy"},
		{"an excerpt that is not known", "runtime: {tools: [{tool_slug: a, kind: http, output_policy: {recovery: {mode: evidence, diagnostic_excerpt: all}}}]}", "contract.runtime.tools.output_policy"},

		{"metadata has nothing", "metadata:", ""},
		{"metadata is a list", "metadata: [a]", "contract.metadata.type openclaw.metadata.type"},
		{"metadata is a text", "metadata: hello", "contract.metadata.type openclaw.metadata.type"},
		{"metadata is a number", "metadata: 1", "contract.metadata.type openclaw.metadata.type"},
		{"metadata is JSON in a text", `metadata: '{"openclaw": {"os": ["linux"], "emoji": "\ud83d\udc3e"}}'`, ""},
		{"metadata is broken JSON", `metadata: '{"openclaw": }'`, "contract.metadata.invalid_json openclaw.metadata.type"},
		{"metadata is JSON with a wrong shape", `metadata: '{"openclaw": {"os": "linux"}}'`, "openclaw.metadata.openclaw.os.type"},
		{"other namespaces", "metadata: {hermes: 1, author: {x: y}}", ""},
		{"openclaw", "metadata: {openclaw: {os: [linux], skillKey: k, homepage: h, requires: {bins: [git], config: [a.b], env: 1}, emoji: 1}}", ""},
		{"openclaw is a text", "metadata: {openclaw: x}", "openclaw.metadata.openclaw.type"},
		{"openclaw has nothing", "metadata: {openclaw: }", "openclaw.metadata.openclaw.type"},
		{"openclaw is JSON in a text", `metadata: {openclaw: '{"os": ["linux"]}'}`, "openclaw.metadata.openclaw.type"},
		{"openclaw.os is a text", "metadata: {openclaw: {os: linux}}", "openclaw.metadata.openclaw.os.type"},
		{"openclaw.os has a number", "metadata: {openclaw: {os: [1]}}", "openclaw.metadata.openclaw.os.item_type"},
		{"openclaw.requires is a list, and the rest is still judged", "metadata: {openclaw: {requires: [git], homepage: 1}}", "openclaw.metadata.openclaw.homepage.type openclaw.metadata.openclaw.requires.type"},
		{"openclaw.requires.bins is a text", "metadata: {openclaw: {requires: {bins: git}}}", "openclaw.metadata.openclaw.requires.bins.type"},
		{"openclaw.requires.config has a mapping", "metadata: {openclaw: {requires: {config: [{a: b}]}}}", "openclaw.metadata.openclaw.requires.config.item_type"},
		{"openclaw.skillKey is a number", "metadata: {openclaw: {skillKey: 1}}", "openclaw.metadata.openclaw.skillKey.type"},
		{"clawdbot", "metadata: {clawdbot: {emoji: x, homepage: h, os: 1, requires: {commands: [a], bins: [b], config: 1}}}", ""},
		{"clawdbot is a list", "metadata: {clawdbot: [a]}", "openclaw.metadata.clawdbot.type"},
		{"clawdbot.emoji is a number", "metadata: {clawdbot: {emoji: 1}}", "openclaw.metadata.clawdbot.emoji.type"},
		{"clawdbot.homepage is a list", "metadata: {clawdbot: {homepage: [h]}}", "openclaw.metadata.clawdbot.homepage.type"},
		{"clawdbot.requires is a text", "metadata: {clawdbot: {requires: git}}", "openclaw.metadata.clawdbot.requires.type"},
		{"clawdbot.requires.commands is a text", "metadata: {clawdbot: {requires: {commands: a}}}", "openclaw.metadata.clawdbot.requires.commands.type"},
		{"clawdbot.requires.bins has a truth", "metadata: {clawdbot: {requires: {bins: [true]}}}", "openclaw.metadata.clawdbot.requires.bins.item_type"},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			lines := append([]string{"name: a", "description: d"}, strings.Split(tt.fields, " / ")...)
			s := skillOf("b", front(lines...))
			if !s.FrontFound {
				t.Fatal(s.Faults)
			}
			problems := profile.OpenClaw(s)
			checkProblems(t, problems)
			if got := codesOf(problems, pannier.SeverityError); got != tt.want {
				t.Errorf("errors %q, want %q", got, tt.want)
			}
			for _, p := range problems {
				if p.Line < 2 {
					t.Errorf("no place: %v", p)
				}
			}
		})
	}
}

func TestOpenClawTexts(t *testing.T) {
	tests := []struct{ name, description, errors, warnings string }{
		{"pdf_tools2", "d", "", ""},
		{"pdf-tools", "d", "", "openclaw.name.snake_case"},
		{"PDF Tools", "d", "", "openclaw.name.snake_case"},
		{"é", "d", "", "openclaw.name.snake_case"},
		{" ", "d", "openclaw.name.required", ""},
		{" ", "", "openclaw.name.required", ""},
		{"a", " ", "openclaw.description.required", ""},
	}
	for _, tt := range tests {
		s := skillOf("a", front("x: y"))
		s.Name, s.Description = tt.name, tt.description
		problems := profile.OpenClaw(s)
		checkProblems(t, problems)
		if codesOf(problems, pannier.SeverityError) != tt.errors || codesOf(problems, pannier.SeverityWarning) != tt.warnings {
			t.Errorf("%q, %q: %v", tt.name, tt.description, problems)
		}
	}
	if got := codesOf(profile.OpenClaw(skillOf("a", "# A\n")), pannier.SeverityError); got != "openclaw.frontmatter.invalid" {
		t.Errorf("without frontmatter: %s", got)
	}
}

func TestMolecule(t *testing.T) {
	tests := []struct{ rule, text, want string }{
		{"all three", front("name: a", "description: d", "version: 1.0.0"), ""},
		{"numbers are scalars", front("name: 1", "description: 2", "version: 1.0"), ""},
		{"other fields", front("name: pdf-tools", "description: d", "version: x", "other: y"), ""},
		{"a name with blanks", front("name: Bad Name!", "description: d", "version: x"), "molecule.name.invalid"},
		{"a name with a hyphen first", front("name: -a", "description: d", "version: x"), "molecule.name.invalid"},
		{"none of them", front("x: y"), "molecule.description.missing molecule.name.missing molecule.version.missing"},
		{"a version below metadata", front("name: a", "description: d", "metadata:", "  version: 1.0.0"), ""},
		{"a list as version below metadata", front("name: a", "description: d", "metadata:", "  version: [1]"), "molecule.version.missing"},
		{"a list as version", front("name: a", "description: d", "version: [1]", "metadata:", "  version: 1.0.0"), "molecule.version.type"},
		{"blank, nothing, null", front("name: ' '", "description:", "version: null"), "molecule.description.missing molecule.name.missing molecule.version.missing"},
		{"lists and mappings", front("name: [a]", "description: {a: b}", "version: 1.0.0"), "molecule.description.type molecule.name.type"},
		{"no frontmatter", "# A\n", "molecule.frontmatter.invalid"},
		{"not YAML", front("name: a: b"), "molecule.frontmatter.invalid"},
		{"a byte order mark hides the frontmatter there", "\ufeff" + front("name: a", "description: d", "version: 1"), "molecule.frontmatter.invalid"},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			problems := profile.Molecule(skillOf("a", tt.text))
			checkProblems(t, problems)
			if got := codesOf(problems, pannier.SeverityError); got != tt.want {
				t.Errorf("errors %q, want %q", got, tt.want)
			}
		})
	}
}
