package watcher

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"

	"pannier"
	"pannier/internal/fsx"
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

// OnWatches calls set with each value of the gauge of the watches.
func (w *Watcher) OnWatches(set func(float64)) {
	w.metrics.watches = recordingGauge{w.metrics.watches, set}
}

type recordingGauge struct {
	prometheus.Gauge
	set func(float64)
}

// Set implements [prometheus.Gauge].
func (g recordingGauge) Set(n float64) {
	g.set(n)
	g.Gauge.Set(n)
}

// SetPollInterval makes polling faster than any product should be.
func (w *Watcher) SetPollInterval(d time.Duration) { w.poller.interval = d }

// SetRemoteKind stands in for the kernel where it is asked for the file system of a path.
func (w *Watcher) SetRemoteKind(kind func(path string) string) { w.remoteKind = kind }

// ArmAndPoll arms everything without Run, and returns the poll of all of it.
func (w *Watcher) ArmAndPoll(ctx context.Context) (poll, end func()) {
	w.start(ctx)
	return func() { w.poll(ctx, true) }, w.end
}

// OpenNotify opens the backend of the product.
var OpenNotify = openNotify

// MaxDirty is the bound on the directories of a batch.
const MaxDirty = maxDirty

// Pending is what a watcher keeps until it is handed over.
type Pending struct{ pending }

// NewPending returns one that is given out by those waits.
func NewPending(settle, maxWait time.Duration) *Pending { return &Pending{newPending(settle, maxWait)} }

// The steps of what is pending.
func (p *Pending) Change(dir string, covers bool, at time.Time) { p.change(dir, covers, at, dir) }

func (p *Pending) Check(dir string, immediate bool, at time.Time)         { p.check(dir, immediate, at, dir) }
func (p *Pending) Join(a, b string)                                       { p.join(a, b) }
func (p *Pending) All(trigger pannier.Trigger, urgent bool, at time.Time) { p.all(trigger, urgent, at) }
func (p *Pending) Rescan(at time.Time) uint64                             { return p.rescan(at) }
func (p *Pending) RescanDirs(at time.Time, dirs ...string) uint64         { return p.rescanDirs(dirs, at) }
func (p *Pending) Offer(at time.Time) pannier.Batch                       { return p.offer(at) }
func (p *Pending) Withdraw()                                              { p.withdraw() }
func (p *Pending) Delivered(at time.Time)                                 { p.delivered(at) }
func (p *Pending) Due() (time.Time, bool)                                 { return p.due() }
func (p *Pending) Quiet(seq uint64) bool                                  { return p.quiet(seq) }

// Backoff plans retries with the delays of the product.
type Backoff struct{ backoff }

// Fail notes that something does not work, and At says when it is tried again.
func (b *Backoff) Fail(now time.Time) { b.fail(now, retryFirst, retryLast) }
func (b *Backoff) At() time.Time      { return b.at }

// Seen is what polling finds in a directory.
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

// Sample is the ledger of the poller.
type Sample struct {
	sample
	begun bool
}

// Update shows it a directory and returns the difference that it reports.
func (s *Sample) Update(seen Seen, at time.Time) string {
	now := sample{dir: stamp{Stamp: fsx.Stamp{MTime: seen.Changed.UnixNano()}}}
	if seen.Failed {
		now.dir = stamp{err: unix.EIO}
	}
	for _, f := range seen.Files {
		stamp := stamp{Stamp: fsx.Stamp{FileID: fsx.FileID{Ino: f.Inode}, Size: f.Size, CTime: f.Changed.UnixNano()}}
		now.files = append(now.files, file{path: f.Name, stamp: stamp})
	}
	if !s.begun {
		s.begun = true
		s.begin(now, at)
		return ""
	}
	d, _ := s.update(now, at)
	d.entries = false
	return map[difference]string{{dir: true}: "dir", {files: true}: "files", {dir: true, files: true}: "dir files"}[d]
}
