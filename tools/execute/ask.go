package execute

import (
	"bytes"
	"context"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/internal/fsx"
	"pannier/tools/sandbox"
)

// The bounds of a program that only answers a question.
const (
	askTimeout = 20 * time.Second
	askOutput  = 64 << 10
)

// ask runs a program of the runner in the sandbox, without a skill, and returns what it writes.
func (e *Executor) ask(ctx context.Context, argv ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var out bytes.Buffer
	_, err := sandbox.Run(ctx, sandbox.Spec{
		Argv: argv, Dir: "/", Env: []string{"PATH=" + e.path(), "LANG=C.UTF-8"}, Level: pannier.SandboxBestEffort,
		Read: e.Read, UID: e.UID, GID: e.GID, Limits: sandbox.Limits{OutputBytes: askOutput},
	}, &out)
	return out.String(), err
}

// version is what a program of the runner said of its version.
type version struct {
	program string
	stamp   fsx.Stamp
	text    string
}

// versionOf returns the version of a program, empty if it does not tell. The answer is kept until the program is
// another one.
func (e *Executor) versionOf(ctx context.Context, program string) string {
	stamp, err := fsx.StatAt(unix.AT_FDCWD, program)
	if err != nil {
		return ""
	}
	if kept := e.version.Load(); kept != nil && kept.program == program && kept.stamp == stamp {
		return kept.text
	}
	text, err := e.ask(ctx, program, "--version")
	if err != nil {
		return ""
	}
	text = strings.TrimSpace(text)
	e.version.Store(&version{program, stamp, text})
	return text
}
