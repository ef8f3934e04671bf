package watcher_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"pannier"
	"pannier/watcher"
)

// patience is how long a test waits for what must come; noisy machines are slow.
const patience = 30 * time.Second

func rules(workspace string, roots ...string) pannier.DiscoveryRules {
	r := pannier.DiscoveryRules{
		Workspace: workspace, Skip: []string{"node_modules"}, MaxDepth: 6, MaxDirs: 20_000,
	}
	for _, root := range roots {
		name := strings.TrimPrefix(root, workspace+"/")
		r.Roots = append(r.Roots, pannier.Root{Path: root, Name: name, Kind: pannier.SourceWorkspace})
	}
	return r
}

func containsAll(s string, parts ...string) bool {
	for _, part := range parts {
		if !strings.Contains(s, part) {
			return false
		}
	}
	return true
}

// live is a watcher on the kernel, with a consumer that looks at the disk as the loader does.
type live struct {
	*watcher.Watcher
	t    *testing.T
	seen map[string]bool // files that a look found
	dirs map[string]bool // all directories of the batches since the test last asked
	full bool
	why  map[pannier.Trigger]bool // all triggers
}

// inEachMode runs a test on the kernel's events, and on polling alone.
func inEachMode(t *testing.T, test func(t *testing.T, mode watcher.Mode)) {
	t.Helper()
	for _, mode := range []watcher.Mode{watcher.Auto, watcher.Poll} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel() // most of the time is spent on waiting for the writer
			test(t, mode)
		})
	}
}

// usual is the mode of health where all is well.
func usual(mode watcher.Mode) string {
	if mode == watcher.Auto {
		return "inotify"
	}
	return string(mode)
}

// run starts a watcher without resyncs, so that only events or polling can tell of a change.
func run(t *testing.T, mode watcher.Mode, r pannier.DiscoveryRules) *live {
	t.Helper()
	return runWith(t, liveOptions(t, mode, r), watcher.OpenNotify)
}

func liveOptions(t *testing.T, mode watcher.Mode, r pannier.DiscoveryRules) watcher.Options {
	return watcher.Options{
		Rules: r, Settle: 5 * time.Millisecond, MaxWait: 200 * time.Millisecond, Mode: mode,
		Logger: hclog.New(&hclog.LoggerOptions{Output: t.Output(), Level: hclog.Debug}),
	}
}

func runWith(t *testing.T, o watcher.Options, open func() (watcher.Backend, error)) *live {
	t.Helper()
	w, err := watcher.NewWith(o, open)
	if err != nil {
		t.Fatal(err)
	}
	w.SetPollInterval(10 * time.Millisecond)
	return begin(t, w)
}

// begin runs a watcher until the test ends, and returns once it has offered its first batch.
func begin(t *testing.T, w *watcher.Watcher) *live {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("Run: %v", err)
			}
		case <-time.After(patience):
			t.Error("Run does not end")
		}
	})
	l := &live{Watcher: w, t: t, seen: make(map[string]bool), why: make(map[pannier.Trigger]bool)}
	l.forget()
	l.until("the start batch", func() bool { return l.full })
	l.forget()
	return l
}

func (l *live) forget() { l.dirs, l.full = make(map[string]bool), false }

// until takes batches, looks where they say, and returns when what is wanted holds.
func (l *live) until(what string, holds func() bool) {
	l.t.Helper()
	timeout, again := time.After(patience), time.NewTicker(10*time.Millisecond)
	defer again.Stop()
	for !holds() {
		select {
		case b := <-l.Batches():
			l.look(b)
		case <-again.C: // what is wanted may not take a batch
		case <-timeout:
			l.t.Fatalf("%s did not come to be; health %+v", what, l.Health())
		}
	}
}

func (l *live) look(b pannier.Batch) {
	l.full = l.full || b.Full
	l.why[b.Trigger] = true
	for _, dir := range b.Dirs {
		l.dirs[dir] = true
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			l.seen[filepath.Join(dir, e.Name())] = true
		}
	}
}

func (l *live) untilDirty(dir string) {
	l.t.Helper()
	l.until("a batch with "+dir, func() bool { return l.dirs[dir] })
}

func (l *live) untilSeen(paths ...string) {
	l.t.Helper()
	l.until(fmt.Sprintf("a look at %d files", len(paths)), func() bool {
		for _, path := range paths {
			if !l.seen[path] {
				return false
			}
		}
		return true
	})
}

// fence returns once everything was told that happened before, with what was told since the test last forgot it, and
// forgets it.
func (l *live) fence(workspace string) (told map[string]bool) {
	l.t.Helper()
	delete(l.dirs, workspace)
	for !l.dirs[workspace] {
		l.full = false
		writer(l.t, "write "+filepath.Join(workspace, pannier.WorkspaceFile))
		l.until("a batch", func() bool { return l.dirs[workspace] || l.full }) // a full batch names no directory
	}
	told = l.dirs
	l.forget()
	return told
}

// writer runs commands in a process of its own.
func writer(t *testing.T, script ...string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, script...)
	cmd.Env = append(os.Environ(), writerEnv+"=1", "GORACE=atexit_sleep_ms=0") // a second for each process
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("writer: %v\n%s", err, out)
	}
}

// workspaceWithRoot returns a workspace and its root, which exists.
func workspaceWithRoot(t *testing.T) (workspace, root string) {
	t.Helper()
	workspace = realDir(t)
	root = filepath.Join(workspace, "skills")
	mkdir(t, root)
	return workspace, root
}
