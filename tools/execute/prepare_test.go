package execute

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pannier"
)

// wheels makes a directory of wheels, each with a module that has its VERSION.
func wheels(t testing.TB, list ...string) string {
	t.Helper()
	dir := publicDir(t, 0o755)
	program := `
import sys, zipfile
for item in sys.argv[1:]:
    name, _, version = item.partition("=")
    with zipfile.ZipFile(f"{name}-{version}-py3-none-any.whl", "w") as z:
        info = f"{name}-{version}.dist-info/"
        z.writestr(f"{name}.py", f"VERSION = '{version}'\n")
        z.writestr(info + "METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        z.writestr(info + "WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        z.writestr(info + "RECORD", "")
`
	cmd := exec.Command("python3", append([]string{"-c", program}, list...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// preparing makes an executor that finds packages of Python in a directory, and whose prepared packages are removed at
// the end.
func preparing(t testing.TB, o Options, dir string) *Executor {
	t.Helper()
	o.Environ = append(o.Environ, "PIP_NO_INDEX=1", "PIP_FIND_LINKS="+dir)
	e := executor(t, o)
	t.Cleanup(func() { removeTree(e.prepared.dir) })
	return e
}

func needsPip(t testing.TB) {
	t.Helper()
	if exec.Command("/usr/bin/python3", "-m", "pip", "--version").Run() != nil {
		t.Skip("there is no pip")
	}
}

func prepareJob(t testing.TB, dir string, files ...string) pannier.ToolJob {
	t.Helper()
	j := job(t, dir)
	j.Kind, j.Command, j.Timeout = pannier.JobPrepare, files, 2*time.Minute
	return j
}

func TestPreparePython(t *testing.T) {
	needsPip(t)
	e := preparing(t, Options{}, wheels(t, "alpha=1.0", "alpha=1.5", "beta=2.0"))
	dir := skill(t, `cd scripts
cat > fill.py <<'END'
# /// script
# requires-python = ">=3.6"
# dependencies = ["alpha>=1", "beta; python_version < '3'"]
# ///
import alpha, os, sys
print(alpha.VERSION)
try:
    open(alpha.__file__, "w")
except OSError as error:
    print(type(error).__name__)
END
cp fill.py locked.py; printf 'version = 1\n[[package]]\nname = "alpha"\nversion = "1.0"\n' > locked.py.lock
printf 'import beta\nprint(beta.VERSION)\n' > plain.py
printf '# /// script\n# dependencies = ["alpha"]\n# ///\nimport alpha\ndef f(): return alpha.VERSION\n' > ../tools/f.py`)
	got := run(t, e, script(t, dir, "scripts/fill.py"))
	if codeOf(got) != pannier.ToolDependencyMissing || !strings.Contains(got.Error.Message, "scripts/fill.py needs what the runner does not have: alpha>=1") ||
		!strings.Contains(got.Error.Hint, "pannier tool allow a --prepare") || strings.Contains(got.Error.Message, "beta") {
		t.Fatalf("before: %+v, %+v", got, got.Error)
	}
	files := []string{"scripts/fill.py", "scripts/locked.py", "scripts/plain.py", "tools/f.py", "scripts/none.py"}
	for range 2 {
		got = run(t, e, prepareJob(t, dir, files...))
		if !got.OK || strings.Count(got.Output, ": ready (") != 3 || strings.Contains(got.Output, "plain.py") {
			t.Fatalf("%+v, %+v", got, got.Error)
		}
	}
	if got := run(t, e, script(t, dir, "scripts/fill.py")); got.Output != "1.5\nPermissionError\n" && got.Output != "1.5\nOSError\n" {
		t.Errorf("after: %+v, %+v", got, got.Error)
	}
	if got := run(t, e, script(t, dir, "scripts/locked.py")); !strings.HasPrefix(got.Output, "1.0\n") {
		t.Errorf("with a lock: %+v, %+v", got, got.Error)
	}
	if got := run(t, e, script(t, dir, "scripts/plain.py")); codeOf(got) != pannier.ToolDependencyMissing || !strings.Contains(got.Error.Hint, "# /// script") {
		t.Errorf("without a header: %+v, %+v", got, got.Error)
	}
	j := job(t, dir)
	j.Kind, j.PythonFile, j.Function = pannier.RuntimePython, "tools/f.py", "f"
	if got := run(t, e, j); got.Output != "1.5" {
		t.Errorf("a function: %+v, %+v", got, got.Error)
	}
	// Another executor of the same user finds what is prepared; another header needs its own.
	second, err := New(Options{Dir: e.Dir, Environ: e.Environ})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if got, err := second.Run(t.Context(), script(t, dir, "scripts/fill.py"), nil); err != nil || !got.OK {
		t.Errorf("another executor: %+v, %+v, %v", got, got.Error, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "scripts/fill.py"), []byte("# /// script\n# dependencies = ['beta']\n# ///\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := run(t, e, script(t, dir, "scripts/fill.py")); codeOf(got) != pannier.ToolDependencyMissing {
		t.Errorf("another header: %+v, %+v", got, got.Error)
	}
}

// TestPrepareRequirements installs requirements.txt, which calls do not insist on.
func TestPrepareRequirements(t *testing.T) {
	needsPip(t)
	e := preparing(t, Options{}, wheels(t, "alpha=1.0"))
	dir := skill(t, `printf 'alpha\n' > requirements.txt
printf 'import alpha\nprint(alpha.VERSION)' > scripts/a.py; printf 'print(1)' > scripts/b.py`)
	if got := run(t, e, script(t, dir, "scripts/a.py")); codeOf(got) != pannier.ToolDependencyMissing || !strings.HasPrefix(got.Error.Hint, "run \"pannier tool allow a --prepare\"") {
		t.Errorf("before: %+v, %+v", got, got.Error)
	}
	if got := run(t, e, script(t, dir, "scripts/b.py")); got.Output != "1\n" {
		t.Errorf("another script: %+v, %+v", got, got.Error)
	}
	if got := run(t, e, prepareJob(t, dir, "scripts/a.py", "scripts/b.py")); !got.OK || !strings.HasPrefix(got.Output, "requirements.txt: ready (") {
		t.Fatalf("%+v, %+v", got, got.Error)
	}
	if got := run(t, e, script(t, dir, "scripts/a.py")); got.Output != "1.0\n" {
		t.Errorf("after: %+v, %+v", got, got.Error)
	}
}

// TestPrepareFails says why, and keeps nothing.
func TestPrepareFails(t *testing.T) {
	needsPip(t)
	e := preparing(t, Options{Environ: []string{"PIP_EXTRA_INDEX_URL=http://user:secret-word@127.0.0.1:9/"}}, wheels(t, "alpha=1.0"))
	header := func(text string) string { return "# /// script\n" + text + "\n# ///\nprint(1)\n" }
	for name, tt := range map[string]struct{ text, code, says, runs string }{
		"unknown package": {header(`# dependencies = ["no-such-package"]`), pannier.ToolFailed, "did not install the packages of scripts/a.py", pannier.ToolDependencyMissing},
		"unknown version": {header(`# dependencies = ["alpha>2"]`), pannier.ToolFailed, "did not install", pannier.ToolDependencyMissing},
		"broken TOML":     {header(`# dependencies = [`), pannier.ToolDependencyMissing, "scripts/a.py declares cannot be read: the header is not TOML", ""},
		"an option":       {header(`# dependencies = ["-e ."]`), pannier.ToolDependencyMissing, "is not a dependency", ""},
		"nonsense":        {header(`# dependencies = ["%%%"]`), pannier.ToolFailed, "is not a package of an index", pannier.ToolDependencyMissing},
		"a URL":           {header(`# dependencies = ["alpha @ file:///tmp/alpha"]`), pannier.ToolFailed, "is not a package of an index", pannier.ToolDependencyMissing},
		"another Python":  {header(`# requires-python = ">=9"`), "", "", pannier.ToolDependencyMissing},
		"nothing":         {"print(1)", "", "", ""},
	} {
		dir := skill(t, "")
		if err := os.WriteFile(filepath.Join(dir, "scripts/a.py"), []byte(tt.text), 0o644); err != nil {
			t.Fatal(err)
		}
		got := run(t, e, prepareJob(t, dir, "scripts/a.py"))
		if codeOf(got) != tt.code || tt.code != "" && (!strings.Contains(got.Error.Message, tt.says) || got.Error.Hint == "") || strings.Contains(got.Output, "secret-word") {
			t.Errorf("%s: %+v, %+v", name, got, got.Error)
		}
		if got := run(t, e, script(t, dir, "scripts/a.py")); codeOf(got) != tt.runs {
			t.Errorf("%s, a call: %+v, %+v", name, got, got.Error)
		}
	}
}

func TestPrepareNode(t *testing.T) {
	e := preparing(t, Options{}, t.TempDir())
	if _, err := e.lookPath("npm"); err != nil {
		t.Skip("there is no npm")
	}
	dir := skill(t, `mkdir -p lib; printf '{"name":"@own/lib","version":"1.0.0","main":"i.js","scripts":{"install":"touch /tmp/never"}}' > lib/package.json
echo 'module.exports = 7' > lib/i.js
echo '{"name":"x","dependencies":{"@own/lib":"file:lib"}}' > package.json
echo 'console.log(require("@own/lib"))' > scripts/a.js
echo 'import x from "@own/lib"; console.log(x)' > scripts/b.mjs
echo 'console.log(1)' > scripts/c.js`)
	for _, name := range []string{"scripts/a.js", "scripts/b.mjs"} {
		if got := run(t, e, script(t, dir, name)); codeOf(got) != pannier.ToolDependencyMissing || !strings.Contains(got.Error.Message, "@own/lib") || !strings.Contains(got.Error.Hint, "--prepare") {
			t.Errorf("before, %s: %+v, %+v", name, got, got.Error)
		}
	}
	if got := run(t, e, script(t, dir, "scripts/c.js")); got.Output != "1\n" {
		t.Errorf("a script without imports: %+v, %+v", got, got.Error)
	}
	if got := run(t, e, prepareJob(t, dir, "scripts/a.js", "scripts/b.mjs")); !got.OK || strings.Count(got.Output, "package.json: ready (") != 1 {
		t.Fatalf("%+v, %+v", got, got.Error)
	}
	for _, name := range []string{"scripts/a.js", "scripts/b.mjs"} {
		if got := run(t, e, script(t, dir, name)); got.Output != "7\n" {
			t.Errorf("after, %s: %+v, %+v", name, got, got.Error)
		}
	}
	broken := skill(t, `echo '{"dependencies":' > package.json; echo 'console.log(1)' > scripts/a.js`)
	if got := run(t, e, prepareJob(t, broken, "scripts/a.js")); codeOf(got) != pannier.ToolDependencyMissing || !strings.Contains(got.Error.Message, "package.json cannot be read") {
		t.Errorf("broken: %+v, %+v", got, got.Error)
	}
	if got := run(t, e, script(t, broken, "scripts/a.js")); codeOf(got) != pannier.ToolFailed || !strings.Contains(got.Error.Message, "package.json cannot be read") || got.Error.Hint != "fix package.json" {
		t.Errorf("a script beside it: %+v, %+v", got, got.Error)
	}
}

// TestPrepareByUV prefers uv, which is here a program that says how it was started.
func TestPrepareByUV(t *testing.T) {
	dir := publicDir(t, 0o755)
	text := "#!/bin/sh\nwhile [ $# -gt 0 ]; do case $1 in --target) mkdir \"$2\"; echo 'VALUE = 3' > \"$2/alpha.py\";; esac; shift; done\n"
	if err := os.WriteFile(filepath.Join(dir, "uv"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	e := preparing(t, Options{Read: []string{dir}, Environ: []string{"PATH=" + dir + ":/usr/bin:/bin"}}, dir)
	skill := skill(t, `printf '# /// script\n# dependencies = ["alpha"]\n# ///\nimport alpha\nprint(alpha.VALUE)' > scripts/a.py`)
	if got := run(t, e, prepareJob(t, skill, "scripts/a.py")); !got.OK {
		t.Fatalf("%+v, %+v", got, got.Error)
	}
	if got := run(t, e, script(t, skill, "scripts/a.py")); got.Output != "3\n" {
		t.Errorf("%+v, %+v", got, got.Error)
	}
}

// TestPreparedIsBounded removes what was not used for the longest time, and nothing that is in use.
func TestPreparedIsBounded(t *testing.T) {
	p := newPrepared(t.TempDir())
	t.Cleanup(func() { removeTree(p.dir) })
	from := t.TempDir()
	keep := func(key string) {
		t.Helper()
		made := filepath.Join(from, key)
		if err := os.Mkdir(made, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := p.keep(&need{key: key}, made); err != nil {
			t.Fatal(err)
		}
	}
	age := func(key string, minutes int) {
		at := time.Now().Add(-time.Duration(minutes) * time.Minute)
		if err := os.Chtimes(filepath.Join(p.dir, key), at, at); err != nil {
			t.Fatal(err)
		}
	}
	for i := range maxPrepared {
		key := "k" + string(rune('A'+i))
		keep(key)
		age(key, maxPrepared-i+10)
	}
	_, release := p.use("kA")
	age("kA", 1000)
	keep("new")
	names := func() (names []string) {
		entries, _ := os.ReadDir(p.dir)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	if got := names(); len(got) != maxPrepared || !slices.Contains(got, "kA") || slices.Contains(got, "kB") {
		t.Errorf("%d entries: %v", len(got), got)
	}
	release()
	keep("newer")
	if got := names(); slices.Contains(got, "kA") {
		t.Errorf("an entry that is not used any more stays: %v", got)
	}
	if err := os.Chmod(p.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if dir, _ := p.use("new"); dir != "" {
		t.Error("packages of a directory that others can write to are used")
	}
	if err := p.keep(&need{key: "x"}, from); err == nil {
		t.Error("packages are kept in a directory that others can write to")
	}
}

func TestSeal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tree")
	cmd := exec.Command("sh", "-euc", `mkdir -p "$1/a"; echo x > "$1/a/f"; echo x > "$1/run"; chmod 4777 "$1/run"; ln -s /etc/passwd "$1/link"`, "sh", dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Cleanup(func() { removeTree(dir) })
	if err := seal(dir); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{".": 0o555, "a": 0o555, "a/f": 0o444, "run": 0o555} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != want || info.Mode()&os.ModeSetuid != 0 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if info, err := os.Stat("/etc/passwd"); err != nil || info.Mode().Perm() == 0o444 {
		t.Errorf("the target of a link was changed: %v, %v", info, err)
	}
	other := filepath.Join(t.TempDir(), "other")
	if out, err := exec.Command("sh", "-euc", `mkdir "$1"; mkfifo "$1/fifo"`, "sh", other).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := seal(other); err == nil {
		t.Error("a FIFO was kept")
	}
	_ = os.Chmod(other, 0o755)
}
