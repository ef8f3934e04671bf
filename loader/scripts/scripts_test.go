package scripts_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pannier/loader/scripts"
)

// named returns what a text names in a skill with some files.
func named(text string) []string {
	files := []string{
		"scripts/fill.py", "scripts/a b.sh", "scripts/it's.sh", "scripts/deep/x.js", "run.sh", "docs/demo.py",
		"docs/tools/y.rb", "pkg/__main__.py", "data.csv",
	}
	var got []string
	place := scripts.Place{Folder: "pdf", Dir: "docs", Has: func(name string) bool { return slices.Contains(files, name) }}
	for _, ref := range scripts.Named(text, place) {
		how := "names"
		if ref.Run {
			how = "runs"
		}
		got = append(got, how+" "+ref.Path)
	}
	return got
}

func TestNamed(t *testing.T) {
	block := func(lines string) string { return "```bash\n" + lines + "\n```\n" }
	for text, want := range map[string]string{
		block("python scripts/fill.py in.pdf"):                                       "runs scripts/fill.py",
		block("python3 -u scripts/fill.py"):                                          "runs scripts/fill.py",
		"~~~\nnode scripts/deep/x.js\n~~~":                                           "runs scripts/deep/x.js",
		"Run `python scripts/fill.py in.pdf`.":                                       "runs scripts/fill.py",
		"See `scripts/fill.py` and `data.csv`.":                                      "names scripts/fill.py, names data.csv",
		"$ ./run.sh --all":                                                           "runs run.sh",
		"Run scripts/fill.py with python.":                                           "",
		block("$ bash 'scripts/a b.sh' && python \"scripts/fill.py\""):               "runs scripts/a b.sh, runs scripts/fill.py",
		block(`sh scripts/a\ b.sh; sh "scripts/it's.sh"`):                            "runs scripts/a b.sh, runs scripts/it's.sh",
		block("cat x | python scripts/fill.py > out.txt 2>&1"):                       "runs scripts/fill.py",
		block("python - < scripts/fill.py"):                                          "",
		block("cat > scripts/fill.py"):                                               "",
		block("cat <<'EOF'\npython scripts/fill.py\nEOF\nsh run.sh"):                 "runs run.sh",
		block("A=b uv run --with x scripts/fill.py"):                                 "runs scripts/fill.py",
		block("python \\\n  scripts/fill.py \\\n  x"):                                "runs scripts/fill.py",
		block("python ${CLAUDE_SKILL_DIR}/scripts/fill.py"):                          "runs scripts/fill.py",
		block("python {baseDir}/scripts/fill.py"):                                    "runs scripts/fill.py",
		block("python <skill-dir>/scripts/fill.py <in>"):                             "runs scripts/fill.py",
		block("python $PLUGIN_ROOT/scripts/fill.py"):                                 "",
		block("python $PLUGIN_ROOT/skills/pdf/scripts/fill.py"):                      "runs scripts/fill.py",
		block("python ~/.claude/skills/pdf/scripts/fill.py"):                         "runs scripts/fill.py",
		block("python ~/scripts/fill.py"):                                            "",
		block("python /scripts/fill.py"):                                             "",
		block("python /opt/pdf/../scripts/fill.py"):                                  "",
		block("python skills/other/scripts/fill.py"):                                 "",
		block("python ../../other/scripts/fill.py"):                                  "",
		block("python ../pdf/scripts/fill.py"):                                       "runs scripts/fill.py",
		block("cd scripts && python fill.py"):                                        "runs scripts/fill.py",
		block("cd scripts\nnode deep/x.js") + block("node deep/x.js"):                "runs scripts/deep/x.js",
		block("python demo.py; ruby tools/y.rb"):                                     "runs docs/demo.py, runs docs/tools/y.rb",
		block("python -m scripts.fill; python -m pkg"):                               "runs scripts/fill.py, runs pkg/__main__.py",
		block("python -c 'open(\"scripts/fill.py\")' scripts/fill.py"):               "",
		block("# python scripts/fill.py\npython x.py # scripts/fill.py"):             "",
		block("chmod +x scripts/fill.py\ncat scripts/fill.py"):                       "",
		block("python scripts/*.py"):                                                 "",
		block("result=$(python scripts/fill.py)"):                                    "runs scripts/fill.py",
		"```bash\r\npython scripts/fill.py\r\n```\r\n":                               "runs scripts/fill.py",
		"1. Do it:\n   ```sh\n   python scripts/fill.py\n   ```\npython run.sh\n":    "runs scripts/fill.py",
		"Unclosed ` and `` x ` and `python scripts/fill.py":                          "",
		block("for f in *.pdf; do python scripts/fill.py \"$f\" || exit 1; done"):    "runs scripts/fill.py",
		block("if ! python scripts/fill.py; then sh run.sh; fi"):                     "runs scripts/fill.py, runs run.sh",
		block("ls | xargs -n1 python scripts/fill.py"):                               "runs scripts/fill.py",
		block("python scripts/fill.py <<< \"x y\"\nsh run.sh"):                       "runs scripts/fill.py, runs run.sh",
		block("cat <<-\"EOF\" > out.sh\n\tsh run.sh\n\tEOF\npython scripts/fill.py"): "runs scripts/fill.py",
		block("tee scripts/fill.py <<EOF\nsh run.sh\nEOF"):                           "",
		block("python \"$SKILL_DIR/scripts/fill.py\" \"a && b\""):                    "runs scripts/fill.py",
		block("X=\"python scripts/fill.py\"; echo 'sh run.sh; ruby x'"):              "",
		block(`python scripts\fill.py C:\x`):                                         "runs scripts/fill.py",
		block("python C:\\scripts\\fill.py"):                                         "",
		block("python ../../../scripts/fill.py"):                                     "",
		block("python https://x.example/scripts/fill.py"):                            "",
		block("python /home/ann/skills/pdf/scripts/fill.py"):                         "runs scripts/fill.py",
		block("python /home/ann/skills/other/scripts/fill.py"):                       "",
		block("python ${OTHER_PLUGIN}/scripts/fill.py $(sh run.sh)"):                 "runs run.sh",
		block("'python scripts/fill.py"):                                             "",
		strings.Repeat("`python scripts/fill.py`\n", 3):                              "runs scripts/fill.py, runs scripts/fill.py, runs scripts/fill.py",
	} {
		if got := strings.Join(named(text), ", "); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestPackageScripts finds the files behind `npm run`.
func TestPackageScripts(t *testing.T) {
	files := []string{"build.mjs", "web/dev.js", "scripts/b c.js"}
	place := scripts.Place{
		Folder: "pdf", Dir: ".", Has: func(name string) bool { return slices.Contains(files, name) },
		Packages: map[string]map[string]string{
			".":   {"build": "A=b node build.mjs --all && node 'scripts/b c.js'", "loop": "npm run loop", "lint": "eslint ."},
			"web": {"dev": "node dev.js"},
		},
	}
	for text, want := range map[string]string{
		"`npm run build`":                        "build.mjs scripts/b c.js",
		"```sh\npnpm run build -- x\n```":        "build.mjs scripts/b c.js",
		"```sh\ncd web && npm run dev\n```":      "web/dev.js",
		"```sh\ncd web && npm run build\n```":    "build.mjs scripts/b c.js",
		"`npm run dev`":                          "",
		"`npm run loop` `npm run lint` `npm run": "",
		"`npm run loop` `npm run no`":            "",
	} {
		var got []string
		for _, ref := range scripts.Named(text, place) {
			if !ref.Run {
				t.Errorf("%q: %+v", text, ref)
			}
			got = append(got, ref.Path)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestSentence describes a script by the text that names it.
func TestSentence(t *testing.T) {
	for text, want := range map[string]string{
		"First. Then fill the form with `python scripts/fill.py`. Last.":  "Then fill the form with python scripts/fill.py.",
		"Fill a **form** [here](x):\n\n```\npython scripts/fill.py\n```":  "Fill a form here:",
		"```\n# Fill a form\npython scripts/fill.py\n```":                 "Fill a form",
		"| `scripts/fill.py` | Fills a form |":                            "scripts/fill.py: Fills a form",
		"## Forms\n### CSV\n\n```\npython scripts/fill.py\n```":           "Forms: CSV",
		"## Fill a form\n\nThen run:\n\n```\npython scripts/fill.py\n```": "Fill a form",
	} {
		refs := scripts.Named(text, scripts.Place{Folder: "pdf", Dir: ".", Has: func(name string) bool { return name == "scripts/fill.py" }})
		if len(refs) != 1 || refs[0].Sentence != want {
			t.Errorf("%q: %+v, want %q", text, refs, want)
		}
	}
}

func TestIsScript(t *testing.T) {
	const main = "def f(): pass\nif __name__ == '__main__':\n    f()\n"
	for _, tt := range []struct {
		file scripts.File
		text string
		want bool
	}{
		{scripts.File{Path: "scripts/a.py"}, main, true},
		{scripts.File{Path: "tools/a.py"}, main, true},
		{scripts.File{Path: "other/a.py"}, main, false},
		{scripts.File{Path: "other/a.py", Run: true}, "x = 1", true},
		{scripts.File{Path: "other/a.py", Mentioned: true}, main, false},
		{scripts.File{Path: "other/a.py", Mentioned: true}, "#!/usr/bin/python3\n" + main, true},
		{scripts.File{Path: "scripts/deep/a.py", Mentioned: true}, main, true},
		{scripts.File{Path: "scripts/deep/a.py"}, main, false},
		{scripts.File{Path: "scripts/a.py"}, "def f(): pass\n", false},
		{scripts.File{Path: "scripts/a.py", Imported: true}, "print(1)\n", false},
		{scripts.File{Path: "scripts/a.py", Imported: true}, main, true},
		{scripts.File{Path: "scripts/a.py"}, "print(1)\n", true},
		{scripts.File{Path: "scripts/_a.py"}, main, false},
		{scripts.File{Path: "scripts/lib.js", Imported: true}, "export const x = 1", false},
		{scripts.File{Path: "scripts/a.js"}, "main()", true},
		{scripts.File{Path: "scripts/a.min.js"}, "main()", false},
		{scripts.File{Path: "scripts/test-network.sh"}, "#!/bin/sh", true},
		{scripts.File{Path: "scripts/a"}, "#!/bin/sh", true},
		{scripts.File{Path: "scripts/a"}, "echo", false},
		{scripts.File{Path: "scripts/a", Executable: true}, "\x7fELF\x00", true},
		{scripts.File{Path: "scripts/a.py", Executable: true}, "\x7fELF\x00", false},
		{scripts.File{Path: "scripts/a.json", Executable: true}, "{}", false},
		{scripts.File{Path: "scripts/__init__.py", Executable: true}, main, false},
		{scripts.File{Path: "scripts/test_a.py", Run: true}, main, false},
		{scripts.File{Path: "tests/a.py", Run: true}, main, false},
		{scripts.File{Path: "vendor/x/a.sh", Run: true}, "#!/bin/sh", false},
		{scripts.File{Path: ".git/hooks/a.sh", Run: true}, "#!/bin/sh", false},
		{scripts.File{Path: "scripts/server.py"}, "from fastmcp import FastMCP\nmcp = FastMCP()\n" + main, false},
		{scripts.File{Path: "scripts/a.py"}, "# Code generated by x. DO NOT EDIT.\n" + main, false},
		{scripts.File{Path: "scripts/a.sh", Executable: true}, "", false},
		{scripts.File{Path: "scripts/a.sh", Run: true}, "404: Not Found", false},
		{scripts.File{Path: "scripts/a.sh", Executable: true}, "#!/bin/bash\n\n# [TODO: Script Name]\n", false},
		{scripts.File{Path: "scripts/a.sh"}, "#!/bin/bash\n# Writes a file\necho '[TODO: fill in]' > x\n", true},
		{scripts.File{Path: "scripts/a.test.py"}, main, false},
		{scripts.File{Path: "scripts/app.py", Run: true}, "app = FastAPI()\n" + main, false},
		{scripts.File{Path: "scripts/store.ts"}, "export const store = define()\nuse(store)\n", false},
		{scripts.File{Path: "scripts/store.ts", Run: true}, "export const store = define()\n", true},
		{scripts.File{Path: "scripts/store.mjs"}, "export function f() {}\nif (process.argv[1]) f()\n", true},
		{scripts.File{Path: "scripts/core/a.py", Mentioned: true}, "#!/usr/bin/env python3\nfrom .b import c\n", false},
		{scripts.File{Path: "scripts/a.py"}, "#!/usr/bin/env python3\nfrom .b import c\nc()\n", false},
	} {
		tt.file.Text = []byte(tt.text)
		if got := tt.file.IsScript(); got != tt.want {
			t.Errorf("%+v: %t", tt.file, got)
		}
	}
}

func TestImports(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"a.py", "import os, x.y\nfrom .lib import one\nfrom . import two, three\n", "[os y lib one two three]"},
		{"a.js", "import x from './lib.js'\nconst y = require('../z')\nimport 'fs'", "[lib . z]"},
		{"a.sh", "source \"$DIR/lib.sh\"\n. ./b.sh\n", "[$DIR lib b]"},
		{"a.cts", "const y = require('../z')", "[. z]"},
		{"a.pl", "use x;", "[]"},
	} {
		if got := fmt.Sprint(scripts.Imports(tt.name, []byte(tt.text))); got != tt.want {
			t.Errorf("%s: %s", tt.name, got)
		}
	}
}

func TestComment(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"scripts/a.sh", "#!/bin/sh\n# Fill a form.\n#\n# Usage: a.sh\n", "Fill a form."},
		{"scripts/a.sh", "#!/bin/sh\r\n# Fill a\r\n# form.\r\n", "Fill a form."},
		{"scripts/a.sh", "#!/bin/sh\n# a.sh - fill a form\n", "fill a form"},
		{"scripts/fill-form.sh", "#!/bin/sh\n# fill form\nset -e\n# Reads it all\n", "Reads it all"},
		{"scripts/a.sh", "#!/bin/sh\n# shellcheck disable=SC1\n# Copyright 2026 x\n\n# Fill a form\n", "Fill a form"},
		{"scripts/a.sh", "#!/bin/sh\n# -----\n# Form Filler\n# -----\n", "Form Filler"},
		{"scripts/a.sh", "echo\n# Not this one\n", ""},
		{"scripts/a.js", "#!/usr/bin/env node\n/**\n * Fill a form.\n *\n * @param x\n */\n", "Fill a form."},
		{"scripts/a.ts", "import x from 'y';\n// Fill a form\n", "Fill a form"},
		{"scripts/a.ps1", "<#\n.SYNOPSIS\n    Fill a form.\n.DESCRIPTION\n    More\n#>\n", "Fill a form."},
		{"scripts/a.py", "# /// script\n# dependencies = [\"x\"]\n# ///\n# Fill a form\n", "Fill a form"},
		{"scripts/a.py", "# \u202eFill a form", "Fill a form"},
		{"scripts/a.sh", "", ""},
	} {
		if got := scripts.Comment(tt.name, []byte(tt.text)); got != tt.want {
			t.Errorf("%s %q: %q, want %q", tt.name, tt.text, got, tt.want)
		}
	}
}

func FuzzNamed(f *testing.F) {
	f.Add("```\npython 'scripts/fill.py' <<X && $(a\n")
	f.Add("`\"`00")
	f.Add("`a` | ``b` ``` \\")
	f.Fuzz(func(t *testing.T, text string) {
		for _, ref := range scripts.Named(text, scripts.Place{Folder: "a", Dir: "docs", Has: func(string) bool { return true }}) {
			if ref.Path == "" || strings.HasPrefix(ref.Path, "/") || strings.HasPrefix(ref.Path, "../") {
				t.Errorf("%q: %q", text, ref.Path)
			}
		}
		scripts.Comment("scripts/a.js", []byte(text))
		scripts.Clean(text, "a.py")
	})
}
