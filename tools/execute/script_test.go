package execute

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pannier"
)

// script is a job that starts a script of the skill as it is now.
func script(t testing.TB, dir, name string, argv ...string) pannier.ToolJob {
	t.Helper()
	j := job(t, dir)
	j.Kind, j.Script = pannier.RuntimeScript, name
	j.Arguments, _ = json.Marshal(map[string]any{"argv": append([]string{}, argv...)})
	return j
}

// publicDir makes a directory that tools of another user get to.
func publicDir(t testing.TB, mode os.FileMode) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "public")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, mode); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestScriptDirectory has scripts write in their working directory, and read what the skill brings.
func TestScriptDirectory(t *testing.T) {
	e := executor(t, Options{})
	if e.Report().Python == "" {
		t.Skip("there is no Python")
	}
	dir := skill(t, `mkdir templates; printf '{"a":1}' > templates/a.json; printf 'VALUE = 7' > scripts/helper.py; cd scripts
cat > fill.py <<'END'
import json, os, sys
import helper
from scripts.helper import VALUE
open("made.json", "w").write("made")
for name in sys.argv[1:]:
    flag, _, name = name.rpartition("=")
    print(flag, json.load(open(name)), VALUE, os.listdir())
END
printf 'for a; do echo "$a"; done' > list.sh`)
	for _, name := range []string{"templates/a.json", "./templates/a.json", "${skill_dir}/templates/a.json"} {
		got := run(t, e, script(t, dir, "scripts/fill.py", name, "--from="+name))
		if want := " {'a': 1} 7 ['made.json']\n--from {'a': 1} 7 ['made.json']\n"; got.Output != want {
			t.Errorf("%s: %+v, %+v", name, got, got.Error)
		}
	}
	for _, kept := range []string{
		"templates", "list", "out/a.json", "../templates/a.json", "/templates/a.json", "a.json", "", ".", "--x=scripts",
	} {
		if got := run(t, e, script(t, dir, "scripts/list.sh", kept)); got.Output != kept+"\n" {
			t.Errorf("%q: %q, %+v", kept, got.Output, got.Error)
		}
	}
	for _, replaced := range []string{"templates/", "scripts/list.sh", "SKILL.md"} {
		got := run(t, e, script(t, dir, "scripts/list.sh", replaced))
		if !filepath.IsAbs(got.Output) || !strings.HasSuffix(got.Output, "/"+strings.TrimSuffix(replaced, "/")+"\n") {
			t.Errorf("%q: %q, %+v", replaced, got.Output, got.Error)
		}
	}
}

// TestScriptInProject prefers the files of the project directory.
func TestScriptInProject(t *testing.T) {
	project := publicDir(t, 0o777)
	if err := os.WriteFile(filepath.Join(project, "both.txt"), []byte("project\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	e := executor(t, Options{Projects: []string{project}})
	dir := skill(t, `echo skill > both.txt; echo skill > one.txt; printf 'pwd; cat "$@"' > scripts/cat.sh`)
	j := script(t, dir, "scripts/cat.sh", "both.txt", "one.txt")
	j.ProjectDir = project
	if got := run(t, e, j); got.Output != project+"\nproject\nskill\n" {
		t.Errorf("%+v, %+v", got, got.Error)
	}
}

// programs makes a directory of programs that only say how they were started, each written as NAME=VERSION.
func programs(t testing.TB, list string) string {
	t.Helper()
	dir := publicDir(t, 0o755)
	for program := range strings.FieldsSeq(list) {
		name, version, _ := strings.Cut(program, "=")
		text := "#!/bin/sh\n[ \"$1\" != --version ] || { echo " + version + "; exit; }\necho " + name + " \"$@\"\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestTypeScript(t *testing.T) {
	dir := skill(t, `printf 'console.log(1 as number)' > scripts/a.ts
printf '#!/usr/bin/env node\nconsole.log(1 as number)' > scripts/b.ts; chmod +x scripts/b.ts
printf '#!/usr/bin/env -S npx tsx\n1' > scripts/c.ts; chmod +x scripts/c.ts`)
	const plain = "node --disable-warning=ExperimentalWarning"
	for _, tt := range []struct{ programs, want string }{
		{"node=v22.18.0", plain},
		{"node=v24.1.0", plain},
		{"node=v23.5.0", plain + " --experimental-strip-types"},
		{"node=v22.6.0 tsx=1", plain + " --experimental-strip-types"},
		{"node=v20.20.2 tsx=1 bun=1", "tsx"},
		{"node=v20.20.2 bun=1 deno=1", "bun"},
		{"node=broken bun=1", "bun"},
	} {
		dirOfPrograms := programs(t, tt.programs)
		e := executor(t, Options{Read: []string{dirOfPrograms}, Environ: []string{"PATH=" + dirOfPrograms}})
		for _, name := range []string{"scripts/a.ts", "scripts/b.ts", "scripts/c.ts"} {
			got := run(t, e, script(t, dir, name, "x"))
			before, after, _ := strings.Cut(got.Output, " /")
			if before != tt.want || !strings.HasSuffix(after, name+" x\n") {
				t.Errorf("%s, %s: %+v, %+v", tt.programs, name, got, got.Error)
			}
		}
	}
	e := executor(t, Options{})
	if _, err := e.lookPath("tsx"); err != nil {
		if node, err := e.lookPath("node"); err == nil {
			if _, ok := typeFlags(e.versionOf(t.Context(), node)); ok {
				return
			}
		}
		got := run(t, e, script(t, dir, "scripts/a.ts"))
		if codeOf(got) != pannier.ToolDependencyMissing || !strings.Contains(got.Error.Hint, "22.6") {
			t.Errorf("no program: %+v, %+v", got, got.Error)
		}
	}
}

// TestMissingModule tells which module a script lacks, and leaves other failures as they are.
func TestMissingModule(t *testing.T) {
	e := executor(t, Options{})
	dir := skill(t, `cd scripts; mkdir own; : > own/__init__.py
printf 'import no_such_module.part' > a.py
printf 'import own.missing' > b.py
printf 'print("ModuleNotFoundError: No module named x")\nraise SystemExit(3)' > c.py
printf 'require("no-such-package/part")' > d.js
printf 'import "@no/such"' > e.mjs
printf 'require("./missing")' > f.js
printf 'import no_such_module\ndef f(): pass' > ../tools/g.py`)
	for _, tt := range []struct{ script, code, says string }{
		{"scripts/a.py", pannier.ToolDependencyMissing, "scripts/a.py needs the module no_such_module, "},
		{"scripts/b.py", pannier.ToolFailed, ""},
		{"scripts/c.py", pannier.ToolFailed, ""},
		{"scripts/d.js", pannier.ToolDependencyMissing, "needs the module no-such-package, "},
		{"scripts/e.mjs", pannier.ToolDependencyMissing, "needs the module @no/such, "},
		{"scripts/f.js", pannier.ToolFailed, ""},
		{"tools/g.py", pannier.ToolDependencyMissing, "tools/g.py needs the module no_such_module, "},
	} {
		program := "python3"
		if !strings.HasSuffix(tt.script, ".py") {
			program = "node"
		}
		if _, err := e.lookPath(program); err != nil {
			continue
		}
		j := script(t, dir, tt.script)
		if tt.script == "tools/g.py" {
			j.Kind, j.Script, j.PythonFile, j.Function = pannier.RuntimePython, "", tt.script, "f"
		}
		got := run(t, e, j)
		if codeOf(got) != tt.code || !strings.Contains(got.Error.Message, tt.says) {
			t.Errorf("%s: %+v, %+v", tt.script, got, got.Error)
		}
	}
}
