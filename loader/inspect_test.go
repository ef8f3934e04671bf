package loader_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"pannier"
	"pannier/loader"
	"pannier/loader/profile"
)

// inspect looks into the skill at root/a.
func inspect(t *testing.T, root string) pannier.Inspection {
	t.Helper()
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	in, err := l.Inspect(t.Context(), only(t, load(t, l, pannier.Batch{Full: true})))
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func executable(t *testing.T, path string) {
	t.Helper()
	mkdir(t, filepath.Dir(path))
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

const pythonTool = "from langchain_core.tools import tool\n\n@tool\ndef greet(name: str) -> str:\n    \"\"\"Greets a person.\"\"\"\n    return name\n"

func TestInspectTools(t *testing.T) {
	root := tree(t)
	writeSkill(t, root, "a", `---
name: a
description: d
runtime:
  tools:
    - {tool_slug: Run It, kind: shell, description: Runs it., parameters: {type: object, properties: {z: {}, a: {}}}, config: {command: [x]}}
    - {tool_slug: no-kind}
    - {tool_slug: ask, kind: http, output_policy: {llm: {mode: everything}}}
    - {tool_slug: ask, kind: http, config: {url: 'https://a.example/'}}
    - {tool_slug: ASK, kind: http, config: {url: 'https://a.example/'}}
    - {tool_slug: proxy, kind: function_proxy}
    - {tool_slug: list, kind: http, parameters: [a]}
    - text
    - {tool_slug: "--", kind: http}
---
body
`)
	dir := filepath.Join(root, "a")
	for _, file := range []string{"tools/greet.py", "scripts/again.py", "scripts/_hidden.py", "scripts/deep/x.py", "other/y.py"} {
		mkdir(t, filepath.Dir(filepath.Join(dir, file)))
		write(t, filepath.Join(dir, file), pythonTool)
	}
	write(t, filepath.Join(dir, "scripts/odd.py"), "@tool(name())\ndef f(): pass\n")
	executable(t, filepath.Join(dir, "scripts/run.sh"))
	executable(t, filepath.Join(dir, "assets/no.sh"))
	if err := unix.Mkfifo(filepath.Join(dir, "scripts/fifo.py"), 0o755); err != nil {
		t.Fatal(err)
	}
	in := inspect(t, root)
	loaded := only(t, full(t, root))
	sound := slices.DeleteFunc(slices.Clone(loaded.RuntimeTools), func(tool pannier.Tool) bool { return tool.Fault != "" })
	if diff := cmp.Diff(in.Tools[:2], sound); diff != "" || loaded.Problems != nil {
		t.Errorf("inspected -, loaded +:\n%s\nproblems %v", diff, loaded.Problems)
	}
	var faults []string
	for _, tool := range loaded.RuntimeTools {
		field, detail, _ := strings.Cut(tool.FaultDetail, ": ")
		if tool.Fault != "" {
			faults = append(faults, fmt.Sprintf("%q %d %s %s %t", tool.Name, tool.Line, tool.Fault, field, detail != ""))
		}
	}
	if diff := cmp.Diff([]string{
		`"" 13 invalid_declaration runtime.tools[7] true`, `"" 14 invalid_tool_slug runtime.tools[8] true`, `"ask" 8 invalid_declaration runtime.tools[2] true`,
		`"ask" 10 duplicate_canonical_name runtime.tools[4] true`, `"list" 12 invalid_declaration runtime.tools[6] true`,
		`"no-kind" 7 invalid_declaration runtime.tools[1] true`, `"proxy" 11 invalid_declaration runtime.tools[5] true`,
	}, faults); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	var got []string
	for _, tool := range in.Tools {
		got = append(got, fmt.Sprintf("%s %s %s:%d %s %s", tool.Kind, tool.Name, tool.Path, tool.Line, tool.Description, tool.Parameters))
	}
	const schema = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}`
	want := []string{
		"http ask SKILL.md:9  ",
		`shell run-it SKILL.md:6 Runs it. {"type":"object","properties":{"z":{},"a":{}}}`,
		"python greet scripts/again.py:4 Greets a person. " + schema,
		"script run.sh scripts/run.sh:0  ",
		"python greet tools/greet.py:4 Greets a person. " + schema,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	if declaration := string(in.Tools[1].Declaration); !strings.HasPrefix(declaration, `{"tool_slug":"Run It","kind":"shell"`) || !strings.HasSuffix(declaration, `"config":{"command":["x"]}}`) {
		t.Errorf("declaration %s", declaration)
	}
	got = nil
	for _, p := range in.Problems {
		if p.Severity != pannier.SeverityWarning || p.Hint == "" || p.Message == "" {
			t.Errorf("told %v", p)
		}
		got = append(got, fmt.Sprintf("%s %s:%d %s", p.Code, p.Path, p.Line, p.Field))
	}
	want = []string{
		"contract.runtime.tools.kind skills/a/SKILL.md:7 runtime.tools[1].kind",
		"contract.runtime.tools.output_policy skills/a/SKILL.md:8 runtime.tools[2].output_policy.llm.mode",
		"skill.tools.declared skills/a/SKILL.md:10 runtime.tools[4]",
		"skill.tools.declared skills/a/SKILL.md:11 runtime.tools[5]",
		"skill.tools.declared skills/a/SKILL.md:12 runtime.tools[6]",
		"contract.runtime.type skills/a/SKILL.md:13 runtime.tools[7]",
		"contract.runtime.tools.tool_slug skills/a/SKILL.md:14 runtime.tools[8].tool_slug",
		"skill.tools.python skills/a/scripts/odd.py:2 ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

func TestInspectInstall(t *testing.T) {
	root := tree(t)
	writeSkill(t, root, "a", "---\nname: a\ndescription: d\nmetadata:\n  openclaw:\n    install:\n      - {id: brew, kind: brew, formula: jq, bins: [jq]}\n      - 5\n  clawdbot: '{\"install\": [{\"kind\": \"apt\", \"package\": \"jq; rm\"}, 7]}'\ninstall:\n  - {id: go, kind: go, package: example.org/x@latest}\n---\nbody\n")
	in := inspect(t, root)
	var got []string
	for _, spec := range in.Install {
		got = append(got, fmt.Sprint(spec.Field, " ", spec.Kind, " ", len(spec.Commands) > 0, " ", spec.Refused != ""))
	}
	want := []string{
		"metadata.openclaw.install brew true false", "metadata.openclaw.install  false true",
		"metadata.clawdbot.install apt false true", "metadata.clawdbot.install  false true", "install go true false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	got = nil
	for _, p := range in.Problems {
		got = append(got, fmt.Sprintf("%s:%d:%d %s", p.Path, p.Line, p.Column, p.Field))
	}
	want = []string{"skills/a/SKILL.md:8:9 metadata.openclaw.install[1]", "skills/a/SKILL.md:9:13 metadata.clawdbot.install[1]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s\n%v", diff, in.Problems)
	}
}

func TestInspectVerdicts(t *testing.T) {
	tests := []struct{ name, text, compliant string }{
		{"by the standard", "---\nname: a\ndescription: d\nlicense: MIT-0\n---\nbody\n", "agentskills_strict openclaw_compat clawhub"},
		{"by the others", "---\nname: b\ndescription: d\nversion: 1.0.0\nlicense: MIT-0\n---\nbody\n", "openclaw_compat molecule_audit clawhub"},
		{"no YAML", broken, "clawhub"},
		{"no frontmatter", "text\n", "clawhub"},
		{"NUL in the body", good("d") + "\x00", "clawhub"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := tree(t)
			writeSkill(t, root, "a", tt.text)
			in := inspect(t, root)
			var compliant []string
			for _, name := range profile.Names() {
				if in.Conformance[name].Compliant {
					compliant = append(compliant, name)
				}
			}
			if got := strings.Join(compliant, " "); got != tt.compliant || len(in.Conformance) != 4 {
				t.Errorf("complies with %q, want %q: %+v", got, tt.compliant, in.Conformance)
			}
		})
	}
}

func TestInspectOfToolsOnly(t *testing.T) {
	root := tree(t)
	mkdir(t, filepath.Join(root, "a/tools"))
	write(t, filepath.Join(root, "a/tools/x.py"), pythonTool)
	in := inspect(t, root)
	if len(in.Tools) != 1 || in.Tools[0].Name != "greet" || in.Conformance[profile.NameAgentSkills].Compliant {
		t.Errorf("%+v", in)
	}
	if in.Commands == nil || in.Install == nil || in.Problems == nil {
		t.Error("an empty list is null on the wire")
	}
}

func TestInspectIsOfTheDigest(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, root string){
		"edited":       func(t *testing.T, root string) { write(t, root+"/a/SKILL.md", good("e")) },
		"removed":      func(t *testing.T, root string) { remove(t, root+"/a/SKILL.md") },
		"folder gone":  func(t *testing.T, root string) { remove(t, root+"/a") },
		"root is gone": func(t *testing.T, root string) { remove(t, root) },
	} {
		root := tree(t, "a")
		l := loader.New(loader.Options{Rules: rulesFor(root)})
		s := only(t, load(t, l, pannier.Batch{Full: true}))
		change(t, root)
		if in, err := l.Inspect(t.Context(), s); !errors.Is(err, pannier.ErrChanged) || in.Conformance != nil {
			t.Errorf("%s: %+v, error %v", name, in, err)
		}
	}
	root := tree(t, "a")
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	s := only(t, load(t, l, pannier.Batch{Full: true}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Inspect(ctx, s); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestInspectBounds looks into skills with more files, and larger ones, than are read.
func TestInspectBounds(t *testing.T) {
	root := tree(t, "a")
	named := func() { write(t, filepath.Join(root, "a/SKILL.md"), "---\nname: a\ndescription: D.\n---\n") }
	named()
	for i := range 300 {
		dir := filepath.Join(root, "a/tools")
		mkdir(t, dir)
		write(t, filepath.Join(dir, fmt.Sprintf("f%03d.py", i)), pythonTool)
	}
	if in := inspect(t, root); len(in.Tools) != 256 || len(in.Problems) != 44 {
		t.Errorf("%d tools, %d problems", len(in.Tools), len(in.Problems))
	}
	root = tree(t, "a")
	named()
	mkdir(t, filepath.Join(root, "a/tools"))
	huge := filepath.Join(root, "a/tools/huge.py")
	write(t, huge, pythonTool)
	if err := os.Truncate(huge, 1<<30); err != nil {
		t.Fatal(err)
	}
	if in := inspect(t, root); len(in.Tools) != 0 || len(in.Problems) != 2 || in.Problems[0].Code != pannier.CodeMCPLimits || in.Problems[1].Code != "skill.tools.python" {
		t.Errorf("%+v", in)
	}
}

// TestInspectNames looks at names that hosts of the Model Context Protocol can list, and at others.
func TestInspectNames(t *testing.T) {
	for name, reported := range map[string]bool{"a": false, "a-1": false, "A": true, "a_b": true, "a--b": true, "-a": true, "\u00fc": true, "a b": true, strings.Repeat("a", 65): true} {
		root := tree(t, "a")
		write(t, filepath.Join(root, "a/SKILL.md"), fmt.Sprintf("---\nname: \"%s\"\ndescription: D.\n---\n", name))
		found := slices.ContainsFunc(inspect(t, root).Problems, func(p pannier.Problem) bool { return p.Code == pannier.CodeMCPName })
		if found != reported {
			t.Errorf("%q: reported %t, want %t", name, found, reported)
		}
	}
}

// TestInspectFrontmatter: an inspection has the frontmatter that a document has, so that one of them is enough.
func TestInspectFrontmatter(t *testing.T) {
	for name, text := range map[string]string{
		"plain": "---\nname: a\ndescription: d\nz: 1\nmore: [true, {b: x}]\n---\nbody\n", "repaired": "---\nname: a\ndescription: d: e\n---\nbody\n",
	} {
		root := tree(t)
		writeSkill(t, root, "a", text)
		l := loader.New(loader.Options{Rules: rulesFor(root)})
		s := only(t, load(t, l, pannier.Batch{Full: true}))
		in, err := l.Inspect(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := l.Read(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if len(doc.Frontmatter) == 0 || string(in.Frontmatter) != string(doc.Frontmatter) {
			t.Errorf("%s: got %s, want %s", name, in.Frontmatter, doc.Frontmatter)
		}
	}
}

// TestDeclaredTools that can never be called are kept back, and a client that inspects the skill is told why.
func TestDeclaredTools(t *testing.T) {
	doubled := "{properties: {x: {$ref: '#/$defs/d0'}}, $defs: {d40: {}"
	for i := range 40 {
		doubled += fmt.Sprintf(", d%d: {anyOf: [{$ref: '#/$defs/d%d'}, {$ref: '#/$defs/d%d'}]}", i, i+1, i+1)
	}
	for declaration, want := range map[string]string{
		"kind: shell, config: {command: [x, '']}": "",
		"kind: shell":                                        "config.command is not",
		"kind: shell, config: {command: []}":                 "config.command is not",
		"kind: shell, config: {command: [{a: b}]}":           "config.command is not",
		"kind: shell, config: {command: x y}":                "config.command is not",
		"kind: shell, config: {command: ['', x]}":            "config.command is not",
		"kind: http, config: {url: 'https://a.example/{x}'}": "",
		"kind: http":             "config.url is missing",
		"kind: http, config: {}": "config.url is missing",
		"kind: http, config: {url: 'ftp://a.example/'}":                                           "config.url does not begin",
		"kind: http, config: {url: 'https://a.example/', method: CONNECT}":                        "config.method is",
		"kind: function_proxy, config: {target_tool: read_file}":                                  "",
		"kind: function_proxy, config: {target_tool: ' '}":                                        "does not say for which",
		"kind: function_proxy, config: {target_tool: skill.a.t}":                                  "names one of a skill",
		"kind: function_proxy, config: {target_tool: skill__a__t}":                                "names one of a skill",
		"kind: shell, config: {command: [x]}, parameters: {pattern: 'x(?=y)'}":                    "not one of RE2",
		"kind: shell, config: {command: [x]}, parameters: {$ref: 'https://a.example/'}":           "does not name one of $defs",
		"kind: shell, config: {command: [x]}, parameters: " + doubled + "}}":                      "more than 4096 schemas",
		"kind: shell, config: {command: [x]}, parameters: {properties: {x: {pattern: '^a{3}$'}}}": "",
	} {
		root := tree(t)
		writeSkill(t, root, "a", "---\nname: a\ndescription: d\nruntime:\n  tools:\n    - {tool_slug: t, "+declaration+"}\n---\nbody\n")
		tools := only(t, full(t, root)).RuntimeTools
		if len(tools) != 1 || (tools[0].Fault == "") != (want == "") || want != "" && (tools[0].Fault != pannier.ToolInvalidDeclaration || !strings.Contains(tools[0].FaultDetail, want)) {
			t.Errorf("%.100s: %+v, want %q", declaration, tools, want)
			continue
		}
		in := inspect(t, root)
		if told := slices.ContainsFunc(in.Problems, func(p pannier.Problem) bool { return strings.Contains(p.Message, want) && p.Hint != "" }); told != (want != "") {
			t.Errorf("%.100s: problems %v", declaration, in.Problems)
		}
	}
}

// TestScriptNames: a script that is executable keeps its name, whatever is found beside it.
func TestScriptNames(t *testing.T) {
	root := tree(t)
	writeSkill(t, root, "a", "---\nname: a\ndescription: d\n---\n`sh deep/run.sh`\n")
	for _, file := range []string{"deep/run.sh", "scripts/run-sh.sh", "scripts/run.sh", "tools/run_sh"} {
		putFile(t, filepath.Join(root, "a", file), "#!/bin/sh\n")
	}
	putFile(t, filepath.Join(root, "a/scripts/run-sh.pl"), "1;\n")
	executable(t, filepath.Join(root, "a/scripts/run_sh.pl"))
	var got []string
	for _, tool := range inspect(t, root).Tools {
		got = append(got, tool.Path+" "+tool.Name)
	}
	want := []string{
		"deep/run.sh deep/run.sh", "scripts/run-sh.pl scripts/run-sh.pl", "scripts/run-sh.sh run-sh.sh", "scripts/run.sh run.sh",
		"scripts/run_sh.pl run_sh.pl", "tools/run_sh tools/run_sh",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

// TestInspectScripts finds the scripts that documents name, and describes them.
func TestInspectScripts(t *testing.T) {
	root := tree(t)
	writeSkill(t, root, "a", "---\nname: a\ndescription: d\n---\nFill a form:\n\n```\npython lib/fill.py && sh ../b/scripts/run.sh\n```\n")
	const main = "import shared\nif __name__ == '__main__':\n    pass\n"
	for file, text := range map[string]string{
		"a/lib/fill.py": main, "a/lib/idle.py": main, "a/lib/shared.py": "x = 1\n",
		"a/scripts/fill.py": "\"\"\"Fill two forms.\n\nMore.\n\"\"\"\n" + main, "a/scripts/shared.py": "def f(): pass\nf()\n", "a/scripts/__init__.py": main,
		"a/scripts/args.py": main + "p = argparse.ArgumentParser(description='Read ' 'forms.')\n", "a/scripts/notes.sh": "#!/bin/sh\n# Take notes.\n",
		"a/scripts/binary.py": "\x00\x01", "a/docs/more.md": "Turn pages with `node ../scripts/deep/turn.js`.\n", "a/scripts/deep/turn.js": "turn()\n",
		"a/sub/SKILL.md": "---\nname: sub\ndescription: d\n---\n`python scripts/own.py`\n", "a/sub/scripts/own.py": main, "b/scripts/run.sh": "#!/bin/sh\n",
	} {
		mkdir(t, filepath.Dir(filepath.Join(root, file)))
		write(t, filepath.Join(root, file), text)
	}
	write(t, filepath.Join(root, "a/scripts/large.sh"), "#!/bin/sh\n# Is large.\n\n"+strings.Repeat("#\n", 5<<20))
	link(t, "/bin/sh", filepath.Join(root, "a/scripts/outside.sh"))
	link(t, "deep", filepath.Join(root, "a/scripts/dir.sh"))
	l := loader.New(loader.Options{Rules: rulesFor(root), Scripts: true})
	skills := load(t, l, pannier.Batch{Full: true}).Skills
	found, err := l.Contents(t.Context(), skills[slices.IndexFunc(skills, func(s *pannier.Skill) bool { return s.Folder == "a" })])
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, tool := range found.Tools {
		got = append(got, fmt.Sprintf("%s %s: %s", tool.Path, tool.Name, tool.Description))
	}
	want := []string{
		"lib/fill.py lib/fill.py: Fill a form:", "scripts/args.py args.py: Read forms.", "scripts/deep/turn.js turn.js: Turn pages with node ../scripts/deep/turn.js.",
		"scripts/fill.py fill.py: Fill two forms.", "scripts/large.sh large.sh: Is large.", "scripts/notes.sh notes.sh: Take notes.",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

// TestInspectPackages finds the scripts of a package.json, and reports what cannot be read.
func TestInspectPackages(t *testing.T) {
	root := tree(t)
	writeSkill(t, root, "a", "---\nname: a\ndescription: d\n---\nBuild the site with `npm run build`.\n")
	for file, text := range map[string]string{
		"a/package.json": `{"bin":{"x":"./cli.js"},"scripts":{"build":"node lib/build.mjs"}}`, "a/cli.js": "main()", "a/lib/build.mjs": "main()", "a/lib/other.mjs": "main()",
		"a/scripts/package.json": "{", "a/scripts/it's \"x\".py": "# /// script\n# dependencies = [\n# ///\nimport sys\nsys.argv",
	} {
		mkdir(t, filepath.Dir(filepath.Join(root, file)))
		write(t, filepath.Join(root, file), text)
	}
	in := inspect(t, root)
	var got []string
	for _, tool := range in.Tools {
		got = append(got, tool.Path+": "+tool.Description)
	}
	for _, p := range in.Problems {
		got = append(got, p.Code+" "+p.Path)
	}
	want := []string{
		"cli.js: ", "lib/build.mjs: Build the site with npm run build.", "scripts/it's \"x\".py: ",
		"skill.tools.header skills/a/scripts/it's \"x\".py", "skill.tools.package skills/a/scripts/package.json",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}
