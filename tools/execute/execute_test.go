package execute

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pannier"
	"pannier/loader/fingerprint"
	"pannier/tools/sandbox"
)

// skill makes a skill with a script, and returns its directory. Tools of another user can read it nowhere.
func skill(t testing.TB, script string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "skill")
	cmd := exec.Command("sh", "-euc", `mkdir -p "$1"/scripts "$1"/tools; cd "$1"; printf 'name' > SKILL.md;`+script, "sh", dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// job is a job for the skill as it is now.
func job(t testing.TB, dir string) pannier.ToolJob {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	p, err := fingerprint.Of(t.Context(), root, ".", fingerprint.Options{Manifest: true})
	if err != nil {
		t.Fatal(err)
	}
	return pannier.ToolJob{
		ID: "call-1", Name: "skill.a.b", Kind: pannier.RuntimeShell, Skill: "a", SkillDir: dir, Files: p.Manifest, Fingerprint: p.Digest,
		Arguments: json.RawMessage(`{}`), Timeout: 30 * time.Second, Sandbox: pannier.SandboxRequired,
	}
}

func shell(t testing.TB, dir string, command ...string) pannier.ToolJob {
	j := job(t, dir)
	j.Command = command
	return j
}

// executor makes an executor in a directory that tools can get to, and checks at the end that nothing is left.
func executor(t testing.TB, o Options) *Executor {
	t.Helper()
	if sandbox.Support().Level != sandbox.Required {
		t.Skipf("this kernel has no sandbox: %v", sandbox.Support().Missing)
	}
	dir, err := os.MkdirTemp("", "execute-test")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	o.Dir, o.Environ = dir, append([]string{"PATH=/usr/local/bin:/usr/bin:/bin"}, o.Environ...)
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		e.Close()
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
		os.RemoveAll(dir)
	})
	return e
}

func run(t testing.TB, e *Executor, j pannier.ToolJob) pannier.ToolResult {
	t.Helper()
	var streamed strings.Builder
	got, err := e.Run(t.Context(), j, func(b []byte) { streamed.Write(b) })
	if err != nil || got.CallID != j.ID || got.Name != j.Name || got.Kind != j.Kind || got.OK == (got.Error != nil) {
		t.Errorf("%+v, %v", got, err)
	}
	if got.Error != nil && (got.Error.Code == "" || got.Error.Message == "") {
		t.Errorf("error %+v", got.Error)
	}
	if !strings.HasPrefix(got.Output, streamed.String()) {
		t.Errorf("streamed %q, returned %q", streamed.String(), got.Output)
	}
	if calls, err := os.ReadDir(e.place.path("calls")); err != nil || len(calls) != len(e.dirs.spare) {
		t.Errorf("left of calls: %v, %v", calls, err)
	}
	return got
}

func codeOf(r pannier.ToolResult) string {
	if r.Error == nil {
		return ""
	}
	return r.Error.Code
}

func TestShell(t *testing.T) {
	e := executor(t, Options{Environ: []string{"ALLOWED=value-of-it", "OTHER=hidden", "LD_PRELOAD=x", "PANNIER_TOKEN=t"}})
	dir := skill(t, `printf '#!/bin/sh\necho report\n' > scripts/run-report.sh; chmod +x scripts/run-report.sh; printf plain > scripts/plain; ln -s /etc/hostname link`)
	for name, tt := range map[string]struct {
		command         []string
		code, want      string
		exit            int
		structured, arg string
	}{
		"of the skill":     {command: []string{"scripts/run-report.sh"}, want: "report\n"},
		"placeholders":     {command: []string{"sh", "-c", `test "$0" = "$1" && cat "$0/SKILL.md"`, "${skill_dir}", "${skill_asset_root}"}, want: "name"},
		"in the skill":     {command: []string{"cat", "SKILL.md"}, want: "name"},
		"arguments":        {command: []string{"sh", "-c", `cat; cat "$PANNIER_ARGUMENTS"`}, arg: `{"a":"$(id) ; ls"}`, want: `{"a":"$(id) ; ls"}{"a":"$(id) ; ls"}`},
		"json":             {command: []string{"echo", `{"a": 1}`}, want: "{\"a\": 1}\n", structured: `{"a": 1}`},
		"both outputs":     {command: []string{"sh", "-c", "echo out; echo err >&2"}, want: "out\nerr\n"},
		"escapes":          {command: []string{"printf", `\033[31mred\033[0m\377`}, want: "red\uFFFD"},
		"failure":          {command: []string{"sh", "-c", "echo no; exit 7"}, want: "no\n", code: pannier.ToolFailed, exit: 7},
		"signal":           {command: []string{"sh", "-c", "kill -SEGV $$"}, code: pannier.ToolSignal},
		"no program":       {command: []string{"no-such-program"}, code: pannier.ToolDependencyMissing},
		"no command":       {code: pannier.ToolFailed},
		"a missing file":   {command: []string{"scripts/none"}, code: pannier.ToolFailed},
		"not executable":   {command: []string{"scripts/plain"}, code: pannier.ToolFailed},
		"out of the skill": {command: []string{"../x/y"}, code: pannier.ToolFailed},
		"a NUL":            {command: []string{"echo", "a\x00b"}, code: pannier.ToolFailed},
		"home is writable": {command: []string{"sh", "-c", `cd "$HOME" && echo a > b && cat b && echo c > "$TMPDIR/d"`}, want: "a\n"},
		"skill is not":     {command: []string{"sh", "-c", `echo a > "$PANNIER_SKILL_DIR/new" || echo refused`}, want: "refused\n"},
		"links are left":   {command: []string{"ls", "."}, want: "SKILL.md\nscripts\n"},
	} {
		j := shell(t, dir, tt.command...)
		if tt.arg != "" {
			j.Arguments = json.RawMessage(tt.arg)
		}
		got := run(t, e, j)
		text := got.Output
		if name == "skill is not" {
			text = text[max(0, len(text)-len(tt.want)):]
		}
		if codeOf(got) != tt.code || tt.want != "" && text != tt.want || string(got.Structured) != tt.structured {
			t.Errorf("%s: %+v, %+v", name, got, got.Error)
		}
		if (tt.code == "" || tt.exit > 0) && (got.ExitCode == nil || *got.ExitCode != tt.exit) {
			t.Errorf("%s: exit code %v", name, got.ExitCode)
		}
	}
	j := shell(t, dir, "env")
	j.Env = []string{"ALLOWED", "MISSING", "LD_PRELOAD", "PANNIER_TOKEN", "PATH"}
	lines := strings.Split(run(t, e, j).Output, "\n")
	if !slices.Contains(lines, "ALLOWED=***") || slices.ContainsFunc(lines, func(l string) bool {
		return strings.HasPrefix(l, "OTHER") || strings.HasPrefix(l, "LD_") || strings.HasPrefix(l, "PANNIER_TOKEN")
	}) {
		t.Errorf("environment %q", lines)
	}
}

func TestPython(t *testing.T) {
	e := executor(t, Options{})
	if e.Report().Python == "" {
		t.Skip("there is no Python")
	}
	dir := skill(t, `cat > tools/t.py <<'END'
import sys, os
from langchain_core.tools import tool
import helper

@tool
def add(a: int, b: int = 2) -> int:
    """Adds."""
    print("adding")
    return a + b

@tool("named")
async def later(text: str) -> dict:
    return {"text": text, "n": None}

class Wrapped:
    def __init__(self, f): self.func = f

@Wrapped
def wrapped(): return helper.VALUE

def fails(): raise ValueError("no")
def leaves(): os._exit(0)
def text(): return "\x1b[31mred"
def large(): return "x" * 5000
def odd(): return {1, 2}.__class__
def nan(): return float("nan")
def forge():
    os.symlink("/etc/passwd", sys.modules["__main__"].os.environ["TMPDIR"] + "/../result.json")
    os._exit(0)
def stdin(): return sys.stdin.read()
END
printf 'VALUE = [1, "é"]' > tools/helper.py`)
	for function, tt := range map[string]struct{ arguments, code, output, structured string }{
		"add":     {`{"a":1}`, "", "adding\n3", "3"},
		"later":   {`{"text":"a\"; import os"}`, "", `{"text": "a\"; import os", "n": null}`, `{"text": "a\"; import os", "n": null}`},
		"wrapped": {`{}`, "", `[1, "é"]`, `[1, "é"]`},
		"fails":   {`{}`, pannier.ToolFailed, "", ""},
		"leaves":  {`{}`, pannier.ToolFailed, "", ""},
		"text":    {`{}`, "", "red", `"\u001b[31mred"`},
		"large":   {`{}`, pannier.ToolOutputLimit, "", ""},
		"odd":     {`{}`, "", "<class 'set'>", `"<class 'set'>"`},
		"nan":     {`{}`, pannier.ToolFailed, "", ""},
		"forge":   {`{}`, pannier.ToolFailed, "", ""},
		"stdin":   {`{}`, "", "", `""`},
		"missing": {`{}`, pannier.ToolFailed, "", ""},
	} {
		j := job(t, dir)
		j.Kind, j.PythonFile, j.Function, j.Arguments, j.Bounds.OutputBytes = pannier.RuntimePython, "tools/t.py", function, json.RawMessage(tt.arguments), 4096
		got := run(t, e, j)
		if codeOf(got) != tt.code || tt.code == "" && (got.Output != tt.output || string(got.Structured) != tt.structured) {
			t.Errorf("%s: %+v, %+v", function, got, got.Error)
		}
	}
	j := job(t, dir)
	j.Kind, j.PythonFile, j.Function = pannier.RuntimePython, "tools/other.py", "f"
	if got := run(t, e, j); codeOf(got) != pannier.ToolChanged {
		t.Errorf("a file that the skill does not have: %+v", got.Error)
	}
}

// TestPythonTypes calls functions with parameters that JSON has no types for, and gets results of such types.
func TestPythonTypes(t *testing.T) {
	e := executor(t, Options{})
	if e.Report().Python == "" {
		t.Skip("there is no Python")
	}
	dir := skill(t, `cat > tools/t.py <<'END'
from __future__ import annotations
import dataclasses, datetime as dt, enum, typing, uuid
from pathlib import Path
from typing import Annotated, Any, Dict, List, Literal, Optional, Set, Tuple, Union

class Color(enum.Enum):
    RED = "red"

@dataclasses.dataclass
class Point:
    x: int
    y: Optional[Point] = None
    c: Color = Color.RED

class Movie(typing.TypedDict):
    title: str

class Model:
    @classmethod
    def model_validate(cls, given):
        self = cls(); self.given = given; return self
    def model_dump(self): return {"dumped": self.given}

def types(*values): return [type(v).__name__ for v in values]
def places(a: int, b: int = 2, /, c: int = 3, *, d: int = 4): return [a, b, c, d]
def rest(a, *args: int, **kwargs: str): return [a, args, kwargs]
def times(a: dt.date, b: "dt.datetime", c: uuid.UUID, d: Path): return types(a, b, c, d)
def many(a: Set[int], b: Tuple[Path, ...], c: tuple[int, str], d: frozenset, e: List[Path], f: Dict[str, Path]):
    return types(a, b, c, d, e, f, b[0], e[0], f["k"])
def fields(p: Point, ps: list[Point], m: Movie, c: Color, n: Annotated[Color, "x"]): return [p.y.x, ps[0].x, m["title"], c.name, n.name, p.c.name]
def choice(a: Union[Point, str], b: Optional[Color] = None, c: Literal["x"] = "x", d: Any = None): return types(a, b, c, d)
def model(m: Model): return m
def later(a: Later): return a.x
def unknown(a: Missing, b: Path): return types(a, b)
def results(): return {"p": Point(1), "c": Color.RED, "s": {2, 1}, "t": (1,), "d": dt.date(2026, 1, 2)}
def numbers(n: int):
    for i in range(n): yield i
async def slowly(n: int):
    for i in range(n): yield i
def broken(n): return 1 // n

@dataclasses.dataclass
class Later:
    x: int
END`)
	for _, tt := range []struct{ function, arguments, want string }{
		{"places", `{"a":1,"b":5,"d":6}`, `[1, 5, 3, 6]`},
		{"rest", `{"a":1,"é":"y"}`, `[1, [], {"é": "y"}]`},
		{"times", `{"a":"2026-01-02","b":"2026-01-02T03:04:05","c":"12345678-1234-5678-1234-567812345678","d":"/x"}`, `["date", "datetime", "UUID", "PosixPath"]`},
		{"many", `{"a":[1],"b":["/x"],"c":[1,"y"],"d":[1],"e":["z"],"f":{"k":"v"}}`, `["set", "tuple", "tuple", "frozenset", "list", "dict", "PosixPath", "PosixPath", "PosixPath"]`},
		{"fields", `{"p":{"x":1,"y":{"x":2}},"ps":[{"x":3}],"m":{"title":"t"},"c":"red","n":"RED"}`, `[2, 3, "t", "RED", "RED", "RED"]`},
		{"choice", `{"a":{"x":1},"b":"red"}`, `["Point", "Color", "str", "NoneType"]`},
		{"choice", `{"a":"text","b":null,"d":[1]}`, `["str", "NoneType", "str", "list"]`},
		{"model", `{"m":{"a":1}}`, `{"dumped": {"a": 1}}`},
		{"later", `{"a":{"x":7}}`, `7`},
		{"unknown", `{"a":"b","b":"c"}`, `["str", "str"]`},
		{"results", `{}`, `{"p": {"x": 1, "y": null, "c": "red"}, "c": "red", "s": [1, 2], "t": [1], "d": "2026-01-02"}`},
		{"numbers", `{"n":3}`, `[0, 1, 2]`},
		{"slowly", `{"n":2}`, `[0, 1]`},
		{"fields", `{"p":{"x":1},"ps":[],"m":{},"c":"blue","n":"red"}`, "fields cannot be called with these arguments: 'blue' is not a valid Color"},
		{"later", `{"a":{"z":7}}`, "later cannot be called with these arguments: "},
		{"places", `{}`, "places cannot be called with these arguments: missing a required"},
		{"broken", `{"n":0}`, "ZeroDivisionError: "},
	} {
		j := job(t, dir)
		j.Kind, j.PythonFile, j.Function, j.Arguments = pannier.RuntimePython, "tools/t.py", tt.function, json.RawMessage(tt.arguments)
		got := run(t, e, j)
		if got.OK && got.Output != tt.want || !got.OK && (codeOf(got) != pannier.ToolFailed || !strings.Contains(got.Output, tt.want)) || strings.Contains(got.Output, "driver.py") {
			t.Errorf("%s %s: %+v, %+v", tt.function, tt.arguments, got, got.Error)
		}
	}
}

func TestScript(t *testing.T) {
	e := executor(t, Options{})
	dir := skill(t, `printf '#!/bin/sh\nfor a; do echo "[$a]"; done' > scripts/list; chmod +x scripts/list; : > scripts/plain
loop='for a; do echo "[$a]"; done'; cd scripts
printf '%s' "$loop" > 'a b.sh'
printf '#!/bin/sh\r\n%s\n' "$loop" > crlf.sh; chmod +x crlf.sh
printf '#!/bin/sh\n%s\n' "$loop" > mode.txt
printf '#!/usr/bin/env -S A=b sh -e\n%s\n' "$loop" > split.txt
printf '%s' "$loop" > plain.sh; chmod +x plain.sh
printf '#!/usr/bin/env -S uv run --script\nimport sys\nprint(sys.argv[1:])\n' > uv.py`)
	long, _ := json.Marshal(map[string]any{"argv": []string{strings.Repeat("x", maxScriptBytes)}})
	many, _ := json.Marshal(map[string]any{"argv": make([]string, maxScriptArguments+1)})
	for _, tt := range []struct{ script, arguments, code, want string }{
		{"scripts/list", `{"argv":["-a","b c","$(id)",";ls","*"]}`, "", "[-a]\n[b c]\n[$(id)]\n[;ls]\n[*]\n"},
		{"scripts/list", `{}`, "", ""},
		{"scripts/list", `{"argv":"a"}`, pannier.ToolArgumentsInvalid, ""},
		{"scripts/list", `{"argv":["a\u0000b"]}`, pannier.ToolArgumentsInvalid, ""},
		{"scripts/list", string(long), pannier.ToolArgumentsInvalid, ""},
		{"scripts/list", string(many), pannier.ToolArgumentsInvalid, ""},
		{"scripts/plain", `{}`, pannier.ToolChanged, ""},
		{"scripts/a b.sh", `{"argv":["c d"]}`, "", "[c d]\n"},
		{"scripts/crlf.sh", `{"argv":["c"]}`, "", "[c]\n"},
		{"scripts/mode.txt", `{"argv":["c"]}`, "", "[c]\n"},
		{"scripts/split.txt", `{"argv":["c"]}`, "", "[c]\n"},
		{"scripts/plain.sh", `{"argv":["c"]}`, "", "[c]\n"},
		{"scripts/uv.py", `{"argv":["c"]}`, "", "['c']\n"},
		{"scripts/none.py", `{}`, pannier.ToolChanged, ""},
		{"../list", `{}`, pannier.ToolChanged, ""},
		{"/bin/sh", `{}`, pannier.ToolChanged, ""},
	} {
		j := job(t, dir)
		j.Kind, j.Script, j.Arguments = pannier.RuntimeScript, tt.script, json.RawMessage(tt.arguments)
		if got := run(t, e, j); codeOf(got) != tt.code || got.Output != tt.want {
			t.Errorf("%s %.60s: %+v, %+v", tt.script, tt.arguments, got, got.Error)
		}
	}
}

// TestNotStarted names programs that the kernel does not execute.
func TestNotStarted(t *testing.T) {
	e := executor(t, Options{})
	dir := skill(t, `cd scripts; printf '#!/bin/sh\r\n' > crlf; printf 'echo' > plain; printf '#!/no/such\n' > missing; : > empty; chmod +x *; printf '#!/bin/sh\n' > mode`)
	for name, hint := range map[string]string{"crlf": "CRLF", "plain": "#!/bin/sh", "missing": "first line", "empty": "#!/bin/sh", "mode": "chmod +x", "none": "exists"} {
		got := run(t, e, shell(t, dir, "scripts/"+name))
		if codeOf(got) != pannier.ToolFailed || !strings.Contains(got.Error.Hint, hint) || !strings.Contains(got.Error.Message, ": start scripts/"+name+": ") {
			t.Errorf("%s: %+v", name, got.Error)
		}
	}
}

// TestBadTools end within their bounds, and leave nothing behind.
func TestBadTools(t *testing.T) {
	e := executor(t, Options{Environ: []string{"KEY=secret-value"}})
	dir := skill(t, "")
	for name, tt := range map[string]struct {
		script, code string
		timeout      time.Duration
		bounds       pannier.ToolBounds
	}{
		"never ends":              {script: "while :; do :; done", code: pannier.ToolTimedOut, timeout: time.Second},
		"ignores SIGTERM":         {script: "trap '' TERM; while :; do sleep 1; done", code: pannier.ToolTimedOut, timeout: time.Second},
		"leaves children":         {script: "(trap '' TERM HUP; while :; do sleep 1; done) & echo started", timeout: 30 * time.Second},
		"writes without end":      {script: "yes", code: pannier.ToolTimedOut, timeout: 5 * time.Second, bounds: pannier.ToolBounds{OutputBytes: 1000}}, // the timeout begins before the program does
		"writes a lot":            {script: "head -c 5000000 /dev/zero | tr '\\0' x", bounds: pannier.ToolBounds{OutputBytes: 1000}, timeout: 30 * time.Second},
		"writes a file and more":  {script: "head -c 100000000 /dev/zero > $HOME/big", code: pannier.ToolFailed, timeout: 30 * time.Second, bounds: pannier.ToolBounds{FileBytes: 1 << 20}},
		"prints a secret":         {script: `echo $KEY; printf %s $KEY | base64; printf %s $KEY | tr a-z A-Z | tr A-Z a-z`, timeout: 30 * time.Second},
		"leaves modes behind":     {script: `mkdir -p $HOME/a/b && touch $HOME/a/b/c && chmod 0 $HOME/a/b $HOME/a`, timeout: 30 * time.Second},
		"is ended by its timeout": {script: "exec sleep 60", code: pannier.ToolTimedOut, timeout: time.Second},
	} {
		j := shell(t, dir, "sh", "-c", tt.script)
		j.Env, j.Timeout, j.Bounds = []string{"KEY"}, tt.timeout, tt.bounds
		got := run(t, e, j)
		if codeOf(got) != tt.code && !(name == "writes a file and more" && codeOf(got) == pannier.ToolSignal) {
			t.Errorf("%s: %+v, %+v", name, got, got.Error)
		}
		if got.TimedOut != (tt.code == pannier.ToolTimedOut) || got.Truncated != (tt.bounds.OutputBytes > 0) || int64(len(got.Output)) > max(tt.bounds.OutputBytes, 4096) {
			t.Errorf("%s: timed out %t, truncated %t, %d bytes", name, got.TimedOut, got.Truncated, len(got.Output))
		}
		if strings.Contains(got.Output, "secret") || name == "prints a secret" && strings.Count(got.Output, "***") != 3 {
			t.Errorf("%s: %q", name, got.Output)
		}
		if got.DurationMS > 20_000 {
			t.Errorf("%s took %d ms", name, got.DurationMS)
		}
	}
}

// TestChanged changes the skill between the check and the call.
func TestChanged(t *testing.T) {
	e := executor(t, Options{})
	for name, change := range map[string]string{
		"content":               "printf other > scripts/run",
		"size":                  "printf xx >> scripts/run",
		"missing":               "rm scripts/run",
		"a link to another":     "ln -sf /bin/true scripts/run",
		"a FIFO":                "rm scripts/run; mkfifo scripts/run",
		"a directory":           "rm scripts/run; mkdir scripts/run",
		"a link as a directory": "mv scripts elsewhere; ln -s /usr/bin scripts",
		"the skill":             "cd ..; rm -r skill",
		"the skill is a FIFO":   "cd ..; rm -r skill; mkfifo skill",
	} {
		dir := skill(t, `printf '#!/bin/sh\necho 1' > scripts/run; chmod +x scripts/run`)
		j := shell(t, dir, "scripts/run")
		cmd := exec.Command("sh", "-euc", change)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if got := run(t, e, j); codeOf(got) != pannier.ToolChanged {
			t.Errorf("%s: %+v, %+v", name, got, got.Error)
		}
	}
	for _, name := range []string{"../x", "/etc/passwd", "a//b", "", ".", "a\x00"} {
		j := shell(t, skill(t, ""), "true")
		j.Files = append(j.Files, pannier.ToolFile{Path: name})
		if got := run(t, e, j); codeOf(got) != pannier.ToolCopyFailed {
			t.Errorf("path %q: %+v", name, got.Error)
		}
	}
}

// TestCopyIsWhatRuns changes the skill after it was copied: what was checked runs, until the manifest is another one.
func TestCopyIsWhatRuns(t *testing.T) {
	e := executor(t, Options{})
	dir := skill(t, `printf '#!/bin/sh\necho 1' > scripts/run; chmod +x scripts/run`)
	j := shell(t, dir, "scripts/run")
	for range 2 {
		if got := run(t, e, j); got.Output != "1\n" {
			t.Fatalf("%+v, %+v", got, got.Error)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "scripts/run"), []byte("#!/bin/sh\necho 2"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := run(t, e, j); got.Output != "1\n" {
		t.Errorf("the copy: %+v, %+v", got, got.Error)
	}
	if got := run(t, e, shell(t, dir, "scripts/run")); got.Output != "2\n" {
		t.Errorf("the new manifest: %+v, %+v", got, got.Error)
	}
	// A copy that was touched is made anew.
	for _, made := range e.copies.all {
		if err := os.Chmod(filepath.Join(made.dir, "scripts/run"), 0o400); err != nil {
			t.Fatal(err)
		}
	}
	if got := run(t, e, shell(t, dir, "scripts/run")); got.Output != "2\n" {
		t.Errorf("after a change of modes: %+v, %+v", got, got.Error)
	}
}

func TestCopiesAreEvicted(t *testing.T) {
	c := newCopies(t.TempDir())
	t.Cleanup(func() { openAll(c.dir) })
	dir := skill(t, "")
	fill := func(i int) (*skillCopy, func(), *pannier.ToolError) {
		j := job(t, dir)
		file := pannier.ToolFile{Path: "SKILL.md", Size: 4, SHA256: pannier.DigestOf([]byte("name"))}
		other := file
		other.Path = "copy-" + string(rune('a'+i%26)) + string(rune('a'+i/26))
		j.Files = []pannier.ToolFile{file, other}
		if err := os.WriteFile(filepath.Join(dir, j.Files[1].Path), []byte("name"), 0o644); err != nil {
			t.Fatal(err)
		}
		return c.acquire(t.Context(), &j)
	}
	first, releaseFirst, failed := fill(0)
	if failed != nil {
		t.Fatal(failed)
	}
	for i := 1; i < 2*maxCopies; i++ {
		_, release, failed := fill(i)
		if failed != nil {
			t.Fatal(failed)
		}
		release()
	}
	if entries, _ := os.ReadDir(c.dir); len(entries) != maxCopies || len(c.all) != maxCopies || !first.intact() {
		t.Errorf("%d directories, %d copies, the first in use is intact: %t", len(entries), len(c.all), first.intact())
	}
	releaseFirst()
	var used []func()
	for i := range maxCopies {
		_, release, failed := fill(i)
		if failed != nil {
			t.Fatal(failed)
		}
		used = append(used, release)
	}
	if _, _, failed := fill(maxCopies); failed == nil || failed.Code != pannier.ToolBusy {
		t.Errorf("with all copies in use: %v", failed)
	}
	for _, release := range used {
		release()
	}
	if want := int64(maxCopies * 8); c.bytes != want {
		t.Errorf("%d bytes are counted, want %d", c.bytes, want)
	}
}

func TestManyAtATime(t *testing.T) {
	e := executor(t, Options{MaxCalls: 8})
	j := shell(t, skill(t, `printf '#!/bin/sh\necho done' > scripts/run; chmod +x scripts/run`), "scripts/run")
	var wg sync.WaitGroup
	codes := make(chan string, 50)
	for range cap(codes) {
		wg.Go(func() {
			got, err := e.Run(context.Background(), j, nil)
			if err != nil || got.Error == nil && got.Output != "done\n" {
				t.Errorf("%+v, %v", got, err)
			}
			codes <- codeOf(got)
		})
	}
	wg.Wait()
	close(codes)
	count := map[string]int{}
	for code := range codes {
		count[code]++
	}
	if count[""] < 8 || count[""]+count[pannier.ToolBusy] != cap(codes) {
		t.Errorf("results: %v", count)
	}
	if len(e.copies.all) != 1 || e.Report().Running != 0 {
		t.Errorf("%d copies, %d running", len(e.copies.all), e.Report().Running)
	}
}

func TestCancel(t *testing.T) {
	e := executor(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	got, err := e.Run(ctx, shell(t, skill(t, ""), "sh", "-c", "echo started; sleep 60"), func([]byte) { cancel() })
	if err != nil || codeOf(got) != pannier.ToolCanceled || got.Output != "started\n" {
		t.Errorf("%+v, %+v, %v", got, got.Error, err)
	}
	started := make(chan struct{})
	ended := make(chan pannier.ToolResult)
	go func() {
		got, _ := e.Run(context.Background(), shell(t, skill(t, ""), "sh", "-c", "echo started; sleep 60"), func([]byte) { close(started) })
		ended <- got
	}()
	<-started
	e.close()
	if got := <-ended; codeOf(got) != pannier.ToolCanceled {
		t.Errorf("at the end: %+v", got.Error)
	}
}

func TestProjectDir(t *testing.T) {
	projects := t.TempDir()
	project, outside := filepath.Join(projects, "p"), t.TempDir()
	for _, dir := range []string{projects, project, outside} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		for up := dir; up != os.TempDir(); up = filepath.Dir(up) {
			if err := os.Chmod(up, 0o777); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Symlink(outside, filepath.Join(projects, "link")); err != nil {
		t.Fatal(err)
	}
	e := executor(t, Options{Projects: []string{projects}})
	j := shell(t, skill(t, ""), "sh", "-c", "pwd; echo made > made")
	j.ProjectDir = project
	if got := run(t, e, j); got.Output != project+"\n" {
		t.Errorf("%+v, %+v", got, got.Error)
	}
	if text, err := os.ReadFile(filepath.Join(project, "made")); string(text) != "made\n" {
		t.Errorf("%q, %v", text, err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chmod(project, 0o700); err != nil {
			t.Fatal(err)
		}
		if got := run(t, e, j); got.OK || !strings.Contains(got.Error.Hint, "let the user 65534") {
			t.Errorf("a directory that tools may not enter: %+v, %+v", got, got.Error)
		}
		if err := os.Chmod(project, 0o755); err != nil {
			t.Fatal(err)
		}
		j.Command = []string{"sh", "-c", "echo made > new"}
		if got := run(t, e, j); got.OK || !strings.Contains(got.Error.Hint, "let the user 65534") {
			t.Errorf("a directory that tools may not write in: %+v, %+v", got, got.Error)
		}
	}
	for _, dir := range []string{outside, filepath.Join(projects, "link"), projects + "/../", "p", projects + "/none", "/"} {
		j.ProjectDir = dir
		if got := run(t, e, j); codeOf(got) != pannier.ToolNotAllowed {
			t.Errorf("%s: %+v, %+v", dir, got, got.Error)
		}
	}
}

// TestStalePlaces removes the directory of a process that was killed, and no other.
func TestStalePlaces(t *testing.T) {
	dir := t.TempDir()
	first, err := newPlace(dir, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	defer first.remove()
	stale := filepath.Join(dir, placePrefix+"stale")
	fresh := filepath.Join(dir, placePrefix+"fresh")
	for _, d := range []string{stale + "/skills/a", fresh} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range map[string]string{stale + "/lock": "", stale + "/skills/a/file": "x"} {
		if err := os.WriteFile(path, []byte(text), 0o444); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(stale+"/lock", 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(stale+"/skills/a", 0o555); err != nil {
		t.Fatal(err)
	}
	second, err := newPlace(dir, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	defer second.remove()
	for path, want := range map[string]bool{stale: false, fresh: true, first.dir: true, second.dir: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestFullDisk has a copy and a call fail where there is no space, and nothing stays.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := exec.Command("mount", "-t", "tmpfs", "-o", "size=64k,mode=755", "tmpfs", dir).Run(); err != nil {
		t.Skip("needs root: ", err)
	}
	defer exec.Command("umount", dir).Run()
	place, err := newPlace(dir, 0o711)
	if err != nil {
		t.Fatal(err)
	}
	defer place.remove()
	c := newCopies(place.path("skills"))
	j := job(t, skill(t, "head -c 200000 /dev/zero > big"))
	if _, _, failed := c.acquire(t.Context(), &j); failed == nil || failed.Code != pannier.ToolCopyFailed || failed.Hint == "" {
		t.Errorf("%+v", failed)
	}
	if left, err := os.ReadDir(c.dir); err != nil || len(left) > 0 || len(c.all) > 0 || c.bytes != 0 {
		t.Errorf("left %v, %v, %d bytes", left, err, c.bytes)
	}
}

// openAll lets an ordinary user remove copies.
func openAll(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		removeTree(filepath.Join(dir, e.Name()))
	}
}
