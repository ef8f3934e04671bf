package watcher_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pannier"
	"pannier/watcher"
)

// The waiting times of most tests in a bubble.
const (
	settle  = 50 * time.Millisecond
	maxWait = 5 * time.Second
)

// kernel is a backend that tells what a test wants it to. It arms real directories, as far as it is let.
type kernel struct {
	events  chan fsnotify.Event
	errors  chan error
	closing chan struct{}
	telling sync.RWMutex // held for reading by who sends on events
	ended   sync.Once

	mu      sync.Mutex
	watched map[string]bool
	refuse  map[string]error // by path
	adds    int
}

func newKernel() *kernel {
	return &kernel{
		events: make(chan fsnotify.Event), errors: make(chan error), closing: make(chan struct{}),
		watched: make(map[string]bool), refuse: make(map[string]error),
	}
}

func (k *kernel) Add(path string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.adds++
	if err := k.refuse[path]; err != nil {
		return err
	}
	k.watched[path] = true
	return nil
}

func (k *kernel) Remove(path string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.watched, path)
	return nil
}

func (k *kernel) WatchList() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var paths []string
	for path := range k.watched {
		paths = append(paths, path)
	}
	return paths
}

func (k *kernel) watches(path string) bool { return slices.Contains(k.WatchList(), path) }

// asked returns how often the kernel was asked for a watch.
func (k *kernel) asked() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.adds
}

func (k *kernel) let(path string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.refuse[path] = err
}

func (k *kernel) Events() <-chan fsnotify.Event { return k.events }
func (k *kernel) Errors() <-chan error          { return k.errors }

func (k *kernel) Close() error {
	k.ended.Do(func() {
		close(k.closing)
		k.telling.Lock()
		defer k.telling.Unlock()
		close(k.events)
		close(k.errors)
	})
	return nil
}

// tell sends an event that fits what is at path, or nothing once the backend is closed.
func (k *kernel) tell(path string) {
	k.telling.RLock()
	defer k.telling.RUnlock()
	select {
	case <-k.closing:
		return
	default:
	}
	op := fsnotify.Write
	if info, err := os.Lstat(path); err != nil {
		op = fsnotify.Remove
	} else if info.IsDir() {
		op = fsnotify.Create
	}
	select {
	case k.events <- fsnotify.Event{Name: path, Op: op}:
	case <-k.closing:
	}
}

// bubble is a watcher that runs on a kernel of the test, with one skill in its only root.
type bubble struct {
	*watcher.Watcher
	t         *testing.T
	workspace string
	root      string
	skill     string
	jump      func() // of the clock

	seq uint64 // of the batch last taken

	mu      sync.Mutex
	kernels []*kernel
	openErr error
}

// kernel returns the one that was opened last.
func (b *bubble) kernel() *kernel {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.kernels[len(b.kernels)-1]
}

func (b *bubble) open() (watcher.Backend, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.openErr != nil {
		return nil, b.openErr
	}
	k := newKernel()
	b.kernels = append(b.kernels, k)
	return k, nil
}

func (b *bubble) letOpen(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.openErr = err
}

// inBubble runs a test on fake time, after the start batch was taken and the tree has been quiet for long.
func inBubble(t *testing.T, change func(*watcher.Options, *bubble), test func(b *bubble)) {
	t.Helper()
	workspace := realDir(t)
	b := &bubble{workspace: workspace, root: filepath.Join(workspace, "skills")}
	b.skill = filepath.Join(b.root, "one")
	mkdir(t, b.skill)
	synctest.Test(t, func(t *testing.T) {
		b.t = t
		o := watcher.Options{Rules: rules(workspace, b.root), Settle: settle, MaxWait: maxWait}
		if change != nil {
			change(&o, b)
		}
		w, err := watcher.NewWith(o, b.open)
		if err != nil {
			t.Fatal(err)
		}
		b.Watcher = w
		w.SetClockListener(func(jumped func()) func() {
			b.jump = jumped
			return func() {}
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- w.Run(ctx) }()
		start := b.take()
		if want := (pannier.Batch{Seq: 1, Full: true, Trigger: pannier.TriggerStart}); !cmp.Equal(start, want, ignoreSince) {
			t.Errorf("start batch %+v, want %+v", start, want)
		}
		b.pass(time.Minute)
		test(b)
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

var ignoreSince = cmpopts.IgnoreFields(pannier.Batch{}, "Since")

// take returns the next batch, however long that takes.
func (b *bubble) take() pannier.Batch {
	b.t.Helper()
	select {
	case batch := <-b.Batches():
		b.seq = batch.Seq
		return batch
	case <-time.After(24 * time.Hour):
		b.t.Fatal("no batch in a day")
		return pannier.Batch{}
	}
}

// pass lets time go by and everything come to rest.
func (b *bubble) pass(d time.Duration) {
	time.Sleep(d) // fake time
	synctest.Wait()
}

// takeAfter checks when the next batch comes, from now, and what is in it.
func (b *bubble) takeAfter(d time.Duration, want pannier.Batch) pannier.Batch {
	b.t.Helper()
	began := time.Now()
	got := b.take()
	if took := time.Since(began); took != d {
		b.t.Errorf("batch %d came after %v, want %v", got.Seq, took, d)
	}
	if diff := cmp.Diff(want, got, ignoreSince); diff != "" {
		b.t.Errorf("batch (-want +got):\n%s", diff)
	}
	return got
}

// takeAll takes whatever comes in that time, and returns it.
func (b *bubble) takeAll(during time.Duration) (batches []pannier.Batch) {
	b.t.Helper()
	for end := time.After(during); ; {
		select {
		case batch := <-b.Batches():
			b.seq = batch.Seq
			batches = append(batches, batch)
		case <-end:
			synctest.Wait()
			return batches
		}
	}
}

// untilTold takes batches until one is of a directory, and returns that one.
func (b *bubble) untilTold(dir string) pannier.Batch {
	b.t.Helper()
	for {
		if batch := b.take(); slices.Contains(batch.Dirs, dir) {
			return batch
		}
	}
}

// keepTelling tells of a path all the time, until stop is called.
func (b *bubble) keepTelling(path string, every time.Duration) (stop func()) {
	stopping, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stopping:
				return
			case <-time.After(every):
				b.kernel().tell(path)
			}
		}
	}()
	return func() {
		close(stopping)
		<-stopped
	}
}

func (b *bubble) nothing(during time.Duration) {
	b.t.Helper()
	select {
	case batch := <-b.Batches():
		b.t.Errorf("unwanted batch %+v", batch)
	case <-time.After(during):
	}
}

func (b *bubble) event(seq uint64, dirs ...string) pannier.Batch {
	return pannier.Batch{Seq: seq, Dirs: slices.Sorted(slices.Values(dirs)), Trigger: pannier.TriggerEvent}
}

func full(seq uint64, trigger pannier.Trigger) pannier.Batch {
	return pannier.Batch{Seq: seq, Full: true, Trigger: trigger}
}

func realDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func mkdir(t testing.TB, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

// edit writes to a file.
func edit(t testing.TB, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(time.Now().String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
