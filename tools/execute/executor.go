// Package execute carries calls of local tools out: it copies the skill to a private directory, verifying each file, and runs
// the tool there in the sandbox.
//
//	DIR/pannier-tools-*/skills/  copies of skills, read-only, by manifest
//	DIR/pannier-tools-*/calls/   a directory for each call, with HOME and TMPDIR of the tool, removed afterwards unless it is as before
//	DIR/pannier-tools-*/artifacts/  files that calls have left
//	DIR/pannier-packages-UID/    packages that were installed for scripts, read-only, by what declares them
package execute

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"pannier"
	"pannier/tools/egress"
	"pannier/tools/output"
	"pannier/tools/sandbox"
)

// The bounds of a call where the job has none.
const (
	defaultOutputBytes = 2 << 20
	defaultTimeout     = 20 * time.Second
	defaultMaxCalls    = 8
)

// Options are what an executor is made of. All are optional.
type Options struct {
	// Dir is where the private directory is made; empty is [os.TempDir]. Its file system must allow to execute files.
	Dir string
	// UID and GID are those of the tools if this process is root; 0 is 65534. A process that is not root runs tools as itself.
	UID, GID int
	// MaxCalls bounds the calls at a time; a further one is answered with [pannier.ToolBusy].
	MaxCalls int
	// Environ has the variables that tools get by name, and PATH.
	Environ []string
	// Read are directories that tools may read and execute, besides those of the system and the skill.
	Read []string
	// Projects are directories below which a call may name a project directory, where its tool may write.
	Projects []string
	// Private are files and directories that tools must not read: none runs while one lies where the sandbox lets every
	// program read. They may be missing.
	Private []string
	Version string
}

// Executor carries calls out in this process's container. It is for any number of callers.
type Executor struct {
	Options
	place    *place
	copies   *copies
	dirs     callDirs
	support  sandbox.Report
	left     artifacts
	driver   string // path of the driver of Python functions
	exposed  string // why tools are refused since the start; empty if they are not
	prepared *prepared
	known    known
	running  atomic.Int64
	ended    sync.WaitGroup
	ctx      context.Context // done once the executor is closed
	close    context.CancelFunc
}

// New makes the private directory of an executor, which [Executor.Close] removes.
func New(o Options) (*Executor, error) {
	o.MaxCalls = cmp.Or(o.MaxCalls, defaultMaxCalls)
	mode := fs.FileMode(0o700)
	if os.Geteuid() == 0 {
		o.UID = cmp.Or(o.UID, noRights)
		o.GID = cmp.Or(o.GID, o.UID)
		mode = 0o711 // tools run as another user, who has to get to the copies
	} else {
		o.UID, o.GID = os.Geteuid(), os.Getegid()
	}
	place, err := newPlace(cmp.Or(o.Dir, os.TempDir()), mode)
	if err != nil {
		return nil, err
	}
	e := &Executor{
		Options: o, place: place, copies: newCopies(place.path("skills")), prepared: newPrepared(filepath.Dir(place.dir)),
		known:   known{versions: map[string]version{}, complete: map[string]bool{}},
		support: sandbox.Support(), driver: place.path("driver.py"),
	}
	e.copies.prepared = e.prepared
	e.left.dir = place.path("artifacts")
	e.exposed = exposed(o.Private...)
	e.ctx, e.close = context.WithCancel(context.Background())
	if err := os.WriteFile(e.driver, driver, 0o444); err != nil {
		e.Close()
		return nil, fmt.Errorf("directory of tools: %w", err)
	}
	return e, nil
}

// noRights is the user without rights.
const noRights = 65534

// Close ends all calls, waits for them and removes the private directory.
func (e *Executor) Close() {
	e.close()
	e.ended.Wait()
	e.dirs.close()
	sandbox.Release()
	e.left.close()
	e.place.remove()
}

// exposed says which of the paths every tool could read, in which case none may run; empty is none.
func exposed(paths ...string) string {
	path, system := sandbox.Exposed(paths)
	if path == "" {
		return ""
	}
	return fmt.Sprintf("every tool could read %s, which lies below %s", path, system)
}

// Report tells what the executor can do now.
func (e *Executor) Report() pannier.RunnerReport {
	python, _ := e.lookPath("python3")
	s := e.support
	return pannier.RunnerReport{
		Connected: true, Version: e.Version, UID: os.Geteuid(), ToolUID: e.UID,
		Level: s.Level, Landlock: s.Landlock, Seccomp: s.Seccomp, Namespaces: s.Namespaces, Loopback: s.Loopback, Missing: s.Missing,
		Cgroup: s.Bounds, NoCgroup: s.Unbounded,
		Exposed: e.exposed, Python: python, Running: int(e.running.Load()), MaxCalls: e.MaxCalls,
	}
}

// Artifact returns a part of a file that a call left; see the interface of package tools.
func (e *Executor) Artifact(_ context.Context, call, name string, offset int64) ([]byte, error) {
	return e.left.read(call, name, offset)
}

// Run carries a call out; see the interface of package tools.
func (e *Executor) Run(ctx context.Context, job pannier.ToolJob, out func(chunk []byte)) (pannier.ToolResult, error) {
	e.ended.Add(1)
	defer e.ended.Done()
	defer e.running.Add(-1)
	result := pannier.ToolResult{Name: job.Name, CallID: job.ID, Kind: job.Kind}
	if e.running.Add(1) > int64(e.MaxCalls) {
		result.Error = toolError(pannier.ToolBusy, fmt.Sprintf("the runner carries out %d calls", e.MaxCalls), "call again when one has ended")
		return result, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.ctx, cancel)()
	begun := time.Now()
	if failed := e.run(ctx, &job, out, &result); failed != nil {
		result.OK, result.Error = false, failed
	}
	result.DurationMS = time.Since(begun).Milliseconds()
	return result, nil
}

func (e *Executor) run(ctx context.Context, job *pannier.ToolJob, out func([]byte), result *pannier.ToolResult) *pannier.ToolError {
	if job.Sandbox != pannier.SandboxBestEffort && e.support.Level != pannier.SandboxRequired {
		return toolError(pannier.ToolSandboxUnavailable, "the kernel of the runner does not have what the sandbox needs", "run \"pannier runner --check\" there to see what is missing")
	}
	if why := exposed(append(slices.Clone(e.Private), job.SkillDir)...); why != "" {
		return toolError(pannier.ToolSandboxUnavailable, why, "move it to another directory, such as /workspace, /configs or /var/lib")
	}
	copied, release, failed := e.copies.acquire(ctx, job)
	if failed != nil {
		return failed
	}
	defer release()
	dir, err := e.dirs.take(e.place.path("calls"), e.UID, e.GID, job.Arguments)
	if err != nil {
		return toolError(pannier.ToolCopyFailed, "the directory of the call was not made: "+err.Error(), "free space for the runner, or name another directory with --dir")
	}
	defer func() { e.dirs.give(dir, e.MaxCalls) }()
	c := &call{callDir: dir, e: e, job: job, skill: copied.dir, release: func() {}}
	defer func() { c.release() }()
	limited, cancel := context.WithTimeoutCause(ctx, cmp.Or(job.Timeout, defaultTimeout), errTimedOut)
	defer cancel()
	if job.Kind == pannier.JobPrepare {
		return c.prepare(limited, result)
	}
	if failed := c.usePackages(ctx); failed != nil {
		return failed
	}
	if !job.Network && e.support.Loopback {
		c.proxy = egress.NewProxy(egress.Rules{Hosts: job.Hosts, Private: job.PrivateHosts})
	}
	spec, failed := c.spec(ctx)
	if failed != nil {
		return failed
	}
	sink := output.NewSink(c.outputBytes(), c.mask, out)
	exit, err := sandbox.Run(limited, spec, sink)
	sink.Close()
	result.Output, result.Truncated = sink.Text(), sink.Truncated() || exit.Truncated
	if err != nil {
		return c.startError(err)
	}
	failed = c.finish(limited, exit, result)
	c.addNetwork(result, failed)
	if ctx.Err() == nil && !exit.ScratchFull {
		result.Artifacts, result.ArtifactsLeftOut = e.left.keep(ctx, job.ID, c.path("scratch/work"), c.mask)
	}
	return failed
}

var errTimedOut = errors.New("the call has timed out")
