package watcher

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"pannier"
)

// Backend lets tests stand in for the kernel.
type Backend = backend

// NewWith returns a watcher that opens its backend by open.
func NewWith(o Options, open func() (Backend, error)) (*Watcher, error) {
	w, err := New(o)
	if err == nil {
		w.openBackend = open
		w.listenForClock = func(func(), func(error)) func() { return func() {} }
	}
	return w, err
}

// SetClockListener stands in for the kernel where it tells of jumps of the clock.
func (w *Watcher) SetClockListener(listen func(jumped func()) (end func())) {
	w.listenForClock = func(jumped func(), _ func(error)) func() { return listen(jumped) }
}

// JumpTimer is what a listener asks for jumps of the clock, with a name for its method that tests can give.
type JumpTimer interface {
	Arm() error
	Read([]byte) (int, error)
	Close() error
}

type testTimer struct{ JumpTimer }

func (t testTimer) arm() error { return t.Arm() }

// ListenToClock listens to a timer of the test.
func ListenToClock(timer JumpTimer, jumped func(), failed func(error)) (end func()) {
	return listenTo(testTimer{timer}, jumped, failed)
}

// SetPollInterval makes polling faster than any product should be.
func (w *Watcher) SetPollInterval(d time.Duration) { w.poller.interval = d }

// SetRemoteKind stands in for the kernel where it is asked for the file system of a path.
func (w *Watcher) SetRemoteKind(kind func(path string) string) { w.remoteKind = kind }

// ArmAndLook arms everything without Run, and returns the poller's look at all of it.
func (w *Watcher) ArmAndLook(ctx context.Context) (look, end func()) {
	w.start(ctx)
	return func() { w.poll(ctx, true) }, w.end
}

// OpenNotify opens the backend of the product.
var OpenNotify = openNotify

// MaxDirty is the bound on the directories of a batch.
const MaxDirty = maxDirty

// Due asks the debounce when marks are given out. All times are on one scale.
func Due(settle, quiet, maxWait time.Duration, scanned, first, told, last time.Time) time.Time {
	return debounce{settle: settle, quiet: quiet, maxWait: maxWait, scanned: scanned}.due(first, told, last)
}

// Ledger is the ledger alone, with everything due at once.
type Ledger struct{ ledger }

// The steps of a ledger.
func (l *Ledger) Dirty(dir string, at time.Time)            { l.pending.dirty(dir, at) }
func (l *Ledger) All(trigger pannier.Trigger, at time.Time) { l.pending.all(trigger, at) }
func (l *Ledger) Rescan(at time.Time) uint64                { return l.rescan(at) }
func (l *Ledger) Offer() pannier.Batch                      { return l.offer(l.pending.last) }
func (l *Ledger) Look(at time.Time, dirs ...string) uint64  { return l.look(dirs, at) }
func (l *Ledger) Withdraw()                                 { l.withdraw() }
func (l *Ledger) Delivered(at time.Time)                    { l.delivered(at) }
func (l *Ledger) Due() (time.Time, bool)                    { return l.due() }

// Backoff plans retries with the delays of the product.
type Backoff struct{ backoff }

// Fail notes that something does not work, and At says when it is tried again.
func (b *Backoff) Fail(now time.Time) { b.fail(now, retryFirst, retryLast) }
func (b *Backoff) At() time.Time      { return b.at }

// Seen is what a look at a directory finds.
type Seen struct {
	Changed time.Time
	Failed  bool
	Files   []SeenFile
}

// SeenFile is one of the files that matter in it.
type SeenFile struct {
	Name    string
	Changed time.Time
	Inode   uint64
	Size    int64
}

// Sighting is the ledger of the poller.
type Sighting struct {
	sighting
	begun bool
}

// Look shows it a directory and returns what it tells of.
func (s *Sighting) Look(seen Seen, at time.Time) string {
	now := sighting{dir: stamp{mtime: seen.Changed.UnixNano()}}
	if seen.Failed {
		now.dir = stamp{err: unix.EIO}
	}
	for _, f := range seen.Files {
		stamp := stamp{id: fileID{ino: f.Inode}, size: f.Size, ctime: f.Changed.UnixNano()}
		now.files = append(now.files, file{path: f.Name, stamp: stamp})
	}
	if !s.begun {
		s.begun = true
		s.begin(now, at)
		return ""
	}
	d, _ := s.take(now, at)
	return map[difference]string{{true, false}: "dir", {false, true}: "files", {true, true}: "dir files"}[d]
}
