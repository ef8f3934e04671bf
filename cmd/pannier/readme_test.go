package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pannier/publish/client"
)

// step is one command of a transcript with what it prints.
type step struct{ command, output string }

// readmeSteps returns the transcript of the README.
func readmeSteps(t *testing.T) []step {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(readme), "<!-- transcript:")
	_, rest, opened := strings.Cut(rest, "```console\n")
	block, _, closed := strings.Cut(rest, "```\n")
	if !ok || !opened || !closed {
		t.Fatal("the README has no transcript")
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
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
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
	if err := os.CopyFS(filepath.Join(dir, "examples"), os.DirFS("../../examples")); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	environ = append(cleanEnviron(), "PANNIER_SOCKET="+socket, "PANNIER_STATE_DIR="+filepath.Join(dir, "state"))

	run := strings.TrimPrefix(readmeCommand(t, goRun+"run "), goRun)
	p := &process{cmd: exec.Command(binary, strings.Fields(run)...), done: make(chan error, 1), log: &lockedBuffer{}}
	p.cmd.Dir, p.cmd.Env, p.cmd.Stderr = dir, environ, p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.done <- p.cmd.Wait() }()
	t.Cleanup(p.kill)
	c := client.New(socket)
	t.Cleanup(c.Close)
	eventually(t, "the sidecar is ready", func() error {
		_, err := c.Card(t.Context())
		return err
	})
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

const goRun = "go run ./cmd/pannier "

// TestReadmeTranscript runs the sidecar as the README says and then each command of its transcript, with the built binary
// in the place of `go run`. A command that only reads is repeated until it prints what the README shows, because a
// change takes a moment to be seen.
func TestReadmeTranscript(t *testing.T) {
	dir, environ := readmeSidecar(t)
	steps := readmeSteps(t)
	if len(steps) < 5 {
		t.Fatalf("the transcript has %d commands", len(steps))
	}
	for _, s := range steps {
		script := strings.ReplaceAll(s.command, strings.TrimSpace(goRun), binary)
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

// outputPattern matches what a command prints. A cell that begins with … or ends in it stands for whatever is there.
func outputPattern(output string) *regexp.Regexp {
	quoted := regexp.QuoteMeta(output)
	for _, wild := range []string{"  …\n", "  …/"} {
		quoted = strings.ReplaceAll(quoted, regexp.QuoteMeta(wild), strings.ReplaceAll(regexp.QuoteMeta(wild), "…", ".*"))
	}
	return regexp.MustCompile(`\A` + quoted + `\z`)
}
