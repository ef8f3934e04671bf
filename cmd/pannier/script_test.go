package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

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
