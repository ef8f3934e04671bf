package execute

import (
	"bytes"
	"context"
	"strings"
	"sync"
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

// known is what the executor has found out about the programs of its container.
type known struct {
	sync.Mutex
	versions map[string]version // by program: Node.js and Python
	complete map[string]bool    // declarations of scripts whose packages are there
}

// version is what a program said of its version.
type version struct {
	stamp fsx.Stamp
	text  string
}

// versionOf returns the version of a program, empty if it does not tell. The answer is kept until the program is
// another one.
func (e *Executor) versionOf(ctx context.Context, program string) string {
	stamp, err := fsx.StatAt(unix.AT_FDCWD, program)
	if err != nil {
		return ""
	}
	e.known.Lock()
	kept, ok := e.known.versions[program]
	e.known.Unlock()
	if ok && kept.stamp == stamp {
		return kept.text
	}
	text, err := e.ask(ctx, program, "--version")
	if err != nil {
		return ""
	}
	text = strings.TrimSpace(text)
	e.known.Lock()
	e.known.versions[program] = version{stamp, text}
	e.known.Unlock()
	return text
}
