package watcher

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"pannier"
	"pannier/internal/fsx"
)

// Options configure a [Watcher].
type Options struct {
	// Rules say what is watched: the directory Rules.Workspace for its config.yaml, and each root as far down as the
	// rules reach. They are not changed while the watcher lives.
	Rules pannier.DiscoveryRules
	// Settle is how long a unit must have been quiet before it is handed over: a skill directory, or a directory whose entries
	// come and go, with everything below it.
	Settle time.Duration
	// MaxWait is the longest that a change waits, however noisy its unit is.
	MaxWait time.Duration
	// Resync is how often everything is compared, give or take a tenth; zero means never.
	Resync time.Duration
	// Mode says whether the kernel is asked, and whether directories are polled.
	Mode Mode
	// Logger may be nil.
	Logger hclog.Logger
	// Registerer takes the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer
}

func (o Options) check() error {
	if !filepath.IsAbs(o.Rules.Workspace) {
		return fmt.Errorf("workspace %q is not an absolute path", o.Rules.Workspace)
	}
	for _, root := range o.Rules.Roots {
		if !filepath.IsAbs(root.Path) {
			return fmt.Errorf("root %q is not an absolute path", root.Path)
		}
	}
	if min(o.Settle, o.MaxWait, o.Resync) < 0 {
		return errors.New("a duration is negative")
	}
	switch o.Mode {
	case "", Auto, Inotify, Poll:
		return nil
	}
	return fmt.Errorf("there is no mode %q", o.Mode)
}

// Watcher watches a workspace. Its methods are safe for any number of goroutines, and none but [Watcher.Run] blocks for
// longer than the lock is held for.
type Watcher struct {
	rules   pannier.DiscoveryRules
	resync  time.Duration
	mode    Mode
	log     hclog.Logger
	metrics *metrics
	kernel

	batches chan pannier.Batch
	wake    chan struct{} // wakes Run because there is something to do; one signal is enough for any number of reasons
	touched chan []string // directories with changes that are in no batch; nil is any
	started chan struct{} // closed when everything is armed

	guarded
	loop
}

// kernel is how the kernel is asked. Tests replace it.
type kernel struct {
	openBackend    func() (backend, error)
	remoteKind     func(path string) string
	listenForClock func(jumped func(), failed func(error)) (end func())
}

// guarded is what mu guards. The table and the places are written by the goroutine of Run alone, which may therefore read them
// without the lock.
type guarded struct {
	mu            sync.Mutex
	pending       pending
	moved         string // the directory from which something was moved, if the next event has the new path
	todo          todo
	table         table
	places        []*place
	watchRequests watchRequests
	entries       map[string]struct{} // all entries on the chain to a place
	wanted        pannier.WatchSet
	revisit       time.Time // when the consumer wants a batch whatever happens; zero is never
	health        pannier.WatchHealth
	backend       backend // nil where the kernel could not be asked
	begun         bool    // Run was called
}

// loop belongs to the goroutine of Run.
type loop struct {
	drains      sync.WaitGroup // counts the drain goroutine
	anchors     map[string]struct{}
	failed      failures
	changed     bool   // health may have, since it was last reported
	loggedState string // mode and causes as last logged
	recheck     bool   // a watch was dropped that something besides the tree stood on
	rearm       bool   // events were lost: arm everything anew before the next batch
	verifying   bool   // a resync goes on, which marks everything behind it
	jumped      bool   // the clock did, and no resync has followed yet
	nextResync  time.Time
	poller      poller
	backoff     backoff
	kinds       map[uint64]string // of file systems, by the number of their device
}

// New returns a watcher that does nothing before [Watcher.Run] is called. The error reports options that make no sense
// or of metrics that are registered already.
func New(o Options) (*Watcher, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	m, err := newMetrics(o.Registerer)
	if err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	log := o.Logger
	if log == nil {
		log = hclog.NewNullLogger()
	}
	places := []*place{{path: o.Rules.Workspace}}
	for i := range o.Rules.Roots {
		places = append(places, &place{path: o.Rules.Roots[i].Path, root: &o.Rules.Roots[i]})
	}
	return &Watcher{
		rules:   o.Rules,
		resync:  o.Resync,
		mode:    o.Mode,
		log:     log.Named("watcher"),
		metrics: m,

		batches: make(chan pannier.Batch),
		wake:    make(chan struct{}, 1),
		touched: make(chan []string, 1),
		started: make(chan struct{}),

		kernel: kernel{openBackend: openNotify, remoteKind: fsx.RemoteKind, listenForClock: listenForClock},
		guarded: guarded{
			pending: newPending(o.Settle, o.MaxWait), table: newTable(), places: places,
			wanted: pannier.WatchSet{Entries: pannier.UsualEntries()},
			health: pannier.WatchHealth{Mode: modeDegraded, Roots: []string{}, Problem: "watching has not begun"},
		},
		loop: loop{
			failed: make(failures), loggedState: modeInotify, kinds: make(map[uint64]string),
			poller: poller{interval: pollInterval, quick: o.Settle / 2, seed: maphash.MakeSeed()},
		},
	}, nil
}

// Batches returns the channel that batches are handed over on. It is unbuffered, so that what changes while the consumer
// is busy joins the batch that it gets next, and it is never closed.
func (w *Watcher) Batches() <-chan pannier.Batch { return w.batches }

// Touched returns a channel that has a value when something in a skill changed that decides nothing about the catalog: what
// covers all files of a skill is another. Nothing is handed over for it.
func (w *Watcher) Touched() <-chan []string { return w.touched }

// Armed returns a channel that is closed once [Watcher.Run] has armed everything. A consumer may scan the disk by itself before
// that: the start batch comes after it, and so covers what changed between that scan and the arming.
func (w *Watcher) Armed() <-chan struct{} { return w.started }

// Quiet reports whether batches up to the one with that Seq carry all that was noticed, so that nothing is settling.
func (w *Watcher) Quiet(seq uint64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pending.quiet(seq)
}

// Watch takes the directories that the consumer scanned. Those that are not armed yet will be, and are in a batch at
// once, because they may have changed between the scan and the arming. Directories that only an earlier set named are
// dropped; those that the rules reach stay, since the consumer may not know the newest. A set of the same Version
// as the last changes nothing. Watch keeps the set, which must not be changed any more. Where its entries are
// others than before, the workspace is in a batch at once too.
func (w *Watcher) Watch(set pannier.WatchSet) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if set.Version == w.wanted.Version && w.wanted.Dirs != nil {
		return
	}
	if set.Entries == nil {
		set.Entries = pannier.UsualEntries()
	}
	if !slices.Equal(set.Entries, w.wanted.Entries) { // one may have changed before it was known to matter
		w.pending.check(w.rules.Workspace, false, time.Now(), w.rules.Workspace)
	}
	if !slices.IsSorted(set.Dirs) {
		set.Dirs = slices.Sorted(slices.Values(set.Dirs))
	}
	w.wanted = set
	w.todo.wanted = true
	w.signal()
}

// Rescan asks for a full batch at once and returns its Seq. That batch is handed over after the call, so that a scan of
// the disk that follows it, or a batch with a higher Seq, begins after the call too. Before Run the batch is the first
// one; after the end of Run it never comes. Where everything is watched is found out anew before it.
func (w *Watcher) Rescan() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.todo.recheckPlaces, w.todo.wanted, w.todo.verify = true, true, true
	w.signal()
	return w.pending.rescan(time.Now())
}

// ScanDirs asks for a scan of directories that pannier itself has changed, absolute and clean, at once: neither does it wait for the
// tree to settle, nor for what else is settling. It returns the Seq of the batch that will carry them, as [Watcher.Rescan]
// does. They are in its [pannier.Batch.OwnChanges].
func (w *Watcher) ScanDirs(dirs ...string) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.signal()
	return w.pending.rescanDirs(dirs, time.Now())
}

// RevisitAt asks for a batch that names nothing, at that time, unless one is handed over then or later anyway; zero takes it
// back. The last call counts: the consumer makes it after each scan.
func (w *Watcher) RevisitAt(at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.revisit.Equal(at) {
		return
	}
	w.revisit = at
	w.signal()
}

// Health returns how changes are noticed and why so, how many directories are watched, and which roots are there.
func (w *Watcher) Health() pannier.WatchHealth {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.health
	h.Roots, h.Reasons = slices.Clone(h.Roots), slices.Clone(h.Reasons)
	return h
}

// end gives back all that Run took.
func (w *Watcher) end() {
	w.closeBackend()
	w.mu.Lock()
	w.pending.withdraw()
	w.mu.Unlock()
	w.setHealth(pannier.WatchHealth{Mode: modeDegraded, Roots: []string{}, Problem: "watching has ended"}, 0)
}

// Run arms everything, offers the start batch and then whatever follows. It blocks until ctx is done, and returns nil
// once its goroutine and the fsnotify watcher have ended too. An error means that it was called before; nothing that goes
// wrong with watching ends it.
func (w *Watcher) Run(ctx context.Context) error {
	w.mu.Lock()
	begun := w.begun
	w.begun = true
	w.mu.Unlock()
	if begun {
		return errors.New("a watcher runs once")
	}
	defer w.end()
	defer w.listenForClock(w.noticeClock, w.noticeNoClock)()
	w.start(ctx)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		batch, offer, wait := w.next(ctx)
		timer.Reset(wait)
		select {
		case offer <- batch:
			w.mu.Lock()
			w.pending.delivered(time.Now())
			w.mu.Unlock()
		case <-w.wake:
		case <-timer.C:
		case <-ctx.Done():
			return nil
		}
	}
}
