package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"pannier/publish/client"
)

// step is one command of a transcript with what it prints.
type step struct{ command, output string }

// readmeSteps returns the transcript of the README.
func readmeSteps(t *testing.T) []step { return stepsOf(t, "../../README.md", "TestReadmeTranscript") }

// stepsOf returns the transcript on a page that a test runs.
func stepsOf(t *testing.T, page, test string) []step {
	t.Helper()
	text := must(os.ReadFile(page))(t)
	_, rest, ok := strings.Cut(string(text), "<!-- tested by "+test+": it runs these")
	_, rest, opened := strings.Cut(rest, "```console\n")
	block, _, closed := strings.Cut(rest, "```\n")
	if !ok || !opened || !closed {
		t.Fatalf("%s has no transcript", page)
	}
	var steps []step
	for line := range strings.Lines(block) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			steps = append(steps, step{command: strings.TrimSpace(command)})
			continue
		}
		steps[len(steps)-1].output += line
	}
	return steps
}

// readmeCommand returns a command line of the README that stands in a block of its own.
func readmeCommand(t *testing.T, beginning string) string {
	t.Helper()
	readme := must(os.ReadFile("../../README.md"))(t)
	for line := range strings.Lines(string(readme)) {
		if strings.HasPrefix(line, beginning) {
			return strings.TrimSpace(line)
		}
	}
	t.Fatalf("the README has no line that begins with %q", beginning)
	return ""
}

// readmeSidecar runs the sidecar as the README says, in a directory with the examples, until the test ends.
func readmeSidecar(t *testing.T) (dir string, environ []string) {
	t.Helper()
	dir = shortDir(t)
	copyTracked(t, "../..", "examples", filepath.Join(dir, "examples"))
	socket := filepath.Join(dir, "s")
	environ = append(cleanEnviron(), "PANNIER_SOCKET="+socket, "PANNIER_STATE_DIR="+filepath.Join(dir, "state"))

	run := strings.TrimPrefix(readmeCommand(t, goRun+"run "), goRun)
	p := &process{cmd: exec.Command(binary, strings.Fields(run)...), done: make(chan error, 1), log: &lockedBuffer{}}
	p.cmd.Dir, p.cmd.Env, p.cmd.Stderr = dir, environ, p.log
	need(t, p.cmd.Start())
	go func() { p.done <- p.cmd.Wait() }()
	t.Cleanup(p.kill)
	c := client.New(socket)
	t.Cleanup(c.Close)
	awaitReady(t, c)
	return dir, environ
}

// TestReadmeTranscriptPasted runs the whole transcript in one go, as somebody does who pastes it. A machine that is too
// busy for the waits in it gets a second chance, and a third.
func TestReadmeTranscriptPasted(t *testing.T) {
	t.Parallel()
	dir, environ := readmeSidecar(t)
	var script, output strings.Builder
	for _, s := range readmeSteps(t) {
		script.WriteString(strings.ReplaceAll(s.command, strings.TrimSpace(goRun), binary) + "\n")
		output.WriteString(s.output)
	}
	want := outputPattern(output.String())
	eventually(t, "the transcript", func() error {
		cmd := exec.Command("sh", "-c", script.String())
		cmd.Dir, cmd.Env = dir, environ
		if out, err := cmd.CombinedOutput(); !want.Match(out) {
			return fmt.Errorf("printed\n%s(%v), want\n%s", out, err, &output)
		}
		return nil
	})
}

// copyTracked copies a directory of the repository, without what git does not track, such as what an install has left there.
// Outside a clone it copies everything.
func copyTracked(t *testing.T, repo, dir, to string) {
	t.Helper()
	list := exec.Command("git", "-c", "safe.directory=*", "ls-files", "-z", "--", dir)
	list.Dir = repo
	out, err := list.Output()
	if err != nil || len(out) == 0 {
		t.Logf("git ls-files: %v; every file of %s is copied", err, dir)
		need(t, os.CopyFS(to, os.DirFS(filepath.Join(repo, dir))))
		return
	}
	for _, name := range strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 }) {
		rel := must(filepath.Rel(dir, name))(t)
		from, to := filepath.Join(repo, name), filepath.Join(to, rel)
		info, err := os.Stat(from)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed since, and not committed
		}
		need(t, err)
		text, err := os.ReadFile(from)
		if err = errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o755)); err == nil {
			err = os.WriteFile(to, text, info.Mode().Perm())
		}
		need(t, err)
	}
}

// TestCopyTracked leaves out what git does not track.
func TestCopyTracked(t *testing.T) {
	repo, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	script := "mkdir -p a/skills/one b; echo 1 > a/skills/one/SKILL.md; echo 2 > b/file; git init -q; git add .; mkdir a/skills/.pannier; echo 3 > a/skills/.pannier/lock.json"
	if out, err := commandIn(repo, "sh", "-euc", script); err != nil {
		t.Skipf("no repository can be made: %v %s", err, out)
	}
	copyTracked(t, repo, "a", to)
	out, err := commandIn(to, "find", ".", "-type", "f")
	if err != nil || out != "./skills/one/SKILL.md\n" {
		t.Errorf("copied (%v)\n%s", err, out)
	}
}

const goRun = "go run ./cmd/pannier "

// TestReadmeTranscript runs the sidecar as the README says and then each command of its transcript, with the built binary
// in the place of `go run`. A command that only reads is repeated until it prints what the README shows, because a
// change takes a moment to be seen.
func TestReadmeTranscript(t *testing.T) {
	t.Parallel()
	dir, environ := readmeSidecar(t)
	steps := readmeSteps(t)
	if len(steps) < 5 {
		t.Fatalf("the transcript has %d commands", len(steps))
	}
	followSteps(t, steps, goRun, dir, environ)
}

// followSteps runs the commands of a transcript, with the built binary in the place of what it calls pannier. A command that only
// reads is repeated until it prints what the page shows.
func followSteps(t *testing.T, steps []step, called, dir string, environ []string) {
	t.Helper()
	for _, s := range steps {
		script := strings.ReplaceAll(s.command, called, binary+" ")
		want := outputPattern(s.output)
		eventually(t, s.command, func() error {
			cmd := exec.Command("sh", "-c", script)
			cmd.Dir, cmd.Env = dir, environ
			out, err := cmd.CombinedOutput()
			if !want.Match(out) {
				return fmt.Errorf("printed\n%s(%v), want\n%s", out, err, s.output)
			}
			return nil
		})
	}
}

// outputPattern matches what a command prints. … stands for the rest of a cell, on its line.
func outputPattern(output string) *regexp.Regexp {
	return regexp.MustCompile(`\A` + strings.ReplaceAll(regexp.QuoteMeta(output), "…", ".*") + `\z`)
}

// TestScripts runs the transcripts in testdata/script on the built binary. Beside the commands of testscript there is
// `exits CODE COMMAND...`, which runs a command and checks its exit code, and the condition [default-workspace], which
// holds on a machine that has one.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", filepath.Dir(binary)+string(filepath.ListSeparator)+env.Getenv("PATH"))
			env.Setenv("XDG_RUNTIME_DIR", env.WorkDir)
			env.Setenv("PANNIER_SOCKET", filepath.Join(shortSocketDir(env), "s"))
			env.Setenv("PANNIER_STATE_DIR", filepath.Join(env.WorkDir, "state"))
			env.Setenv("PANNIER_ENVIRONMENT_OWN", "block")
			return nil
		},
		Condition: func(name string) (bool, error) {
			_, err := os.Stat("/configs")
			return name == "default-workspace" && err == nil, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

// shortSocketDir is a directory that no sidecar has a socket in: the work directory of a script is too long a path.
func shortSocketDir(env *testscript.Env) string {
	return env.T().(interface{ TempDir() string }).TempDir()
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%s: %v", strings.Join(args[1:], " "), err)
		}
		code = exit.ExitCode()
	}
	if code != want {
		ts.Fatalf("%s: exit code %d, want %d", strings.Join(args[1:], " "), code, want)
	}
}
