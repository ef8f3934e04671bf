// Package contents tracks the files of every skill: their fingerprint, the tools and texts in them, and the verdict of
// security scans.
//
// A [Tracker] reads the files in the background, never on the reload path: of a skill that is new, that changed or that
// a hint names, and of all skills at intervals. A second goroutine scans skills without a verdict, so that a scan never
// delays a fingerprint. Both, and clients that wait for one skill, record a [Content] for its path. The contents are
// published as a table that is never changed, so that readers and the registry ([Tracker.Judge]) take no lock. A block
// is published at once, everything else at intervals.
//
//	hints, snapshots ─> plan ─> record, scanOne ─> changes ─> publish ─> table ─> registry, readers
//
// [Verdicts] keeps the results of scans across restarts, [Kept] what was found in files.
package contents

import (
	"context"
	"iter"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"

	"pannier"
	"pannier/internal/fsx"
	"pannier/registry"
)

const (
	// showEvery is how often new contents are published while there are more to come: each time makes the lists anew
	// that the socket serves.
	showEvery = time.Second
	// clearEvery is how often where scans are enforced, because skills become usable by it.
	clearEvery = 250 * time.Millisecond
	// showTimeout bounds how long an installation waits for fingerprints. What takes longer is shown later.
	showTimeout = time.Second
	// maxBlocked bounds the directories that are presumed to be blocked, though no skill lies there now.
	maxBlocked = 10_000
	// maxHints bounds the directories that a change was noticed in. Where there are more, all count.
	maxHints = 256
)

// Options configure a [Tracker].
type Options struct {
	Rules    pannier.DiscoveryRules
	Registry *registry.Registry
	Verdicts *Verdicts
	// Enforce keeps a skill without a verdict from being used, and lets background scans block.
	Enforce bool
	// Read reads what turns and prompts show of the files of a skill; nil reads nothing.
	Read func(context.Context, *pannier.Skill) (pannier.Contents, error)
	// Restored is what the process before found, by path. It counts for each skill with the same SKILL.md until its
	// files are read, so that a restart with unchanged skills serves the same snapshot.
	Restored map[string]pannier.Contents
	// Keep keeps what was found for the next process, in the background; nil keeps nothing.
	Keep func(map[string]pannier.Contents)
	// Emit takes the events of background scans.
	Emit       func(pannier.EventType, any)
	Registerer prometheus.Registerer
	Logger     hclog.Logger
}

// Tracker tracks the contents of all skills that are not shadowed. Run, RunScans and Observe are for one caller each,
// all other methods for any number.
type Tracker struct {
	o         Options
	log       hclog.Logger
	reads     reads
	scans     scans
	tickets   atomic.Uint64 // numbers the computations in the order in which they begin
	published atomic.Pointer[table]
	watched   atomic.Pointer[[]string] // the directories inside of skills that must be watched, sorted
	watchDue  chan struct{}            // has one where watched changed
	keeping   sync.Mutex               // held while the disk takes what is blocked; taken before mu

	mu sync.Mutex // of all below; never held over I/O
	// changes are newer than the published table; nil for what was removed.
	changes     map[string]*Content
	hints       []string // the directories that a change was noticed in
	hintAll     bool     // any directory may have changed
	visible     bool     // changes differ from the table in what others see
	urgent      bool     // changes say other things against skills
	newFound    bool     // changes have other findings
	rewatch     bool     // watched differs from what the contents say
	publishedAt time.Time
}

// New returns a tracker that presumes that directories still have the content that was blocked last: a restart must not
// let a skill be used until its files have been read.
func New(o Options) *Tracker {
	t := &Tracker{o: o, log: o.Logger.Named("fingerprints"), watchDue: make(chan struct{}, 1), changes: map[string]*Content{}}
	t.reads = reads{due: make(chan struct{}, 1), first: make(chan struct{})}
	t.startScans()
	if !o.Enforce {
		t.endFirstRead()
	}
	for path, c := range o.Restored {
		t.changes[path] = &Content{found: found{&c, true}}
	}
	for path, digest := range o.Verdicts.Blocked() {
		if b := t.blockOf(path, digest); len(b.rules) > 0 {
			c := Content{block: b}
			if restored := t.changes[path]; restored != nil {
				c.found = restored.found
			}
			t.changes[path] = &c
		}
	}
	first := &table{version: 1, held: o.Verdicts.PathVerdicts()}
	t.published.Store(first.with(t.changes))
	t.changes = map[string]*Content{}
	return t
}

var unknown Content

// Known returns what is known of a skill as the snapshot has it, an empty content for nothing.
func (t *Tracker) Known(s *pannier.Skill) *Content {
	if c := t.published.Load().get(s.Path); c != nil && c.Of == s.Sum {
		return c
	}
	return &unknown
}

// Fingerprint returns that of a skill as the snapshot has it, zero where it is not known.
func (t *Tracker) Fingerprint(s *pannier.Skill) pannier.Digest { return t.Known(s).Fingerprint }

// Version is another number whenever other methods have other answers.
func (t *Tracker) Version() uint64 { return t.published.Load().version }

func (t *Tracker) getLocked(path string) *Content {
	if c, changed := t.changes[path]; changed {
		return c
	}
	return t.published.Load().get(path)
}

func (t *Tracker) allLocked() iter.Seq2[string, *Content] {
	return func(yield func(string, *Content) bool) {
		for path, c := range t.published.Load().all() {
			if _, changed := t.changes[path]; !changed && !yield(path, c) {
				return
			}
		}
		for path, c := range t.changes {
			if c != nil && !yield(path, c) {
				return
			}
		}
	}
}

// putLocked records what is known of a path from now on; nil is nothing.
func (t *Tracker) putLocked(path string, c *Content) {
	was, now := t.getLocked(path), c
	t.changes[path] = c
	if was == nil {
		was = &unknown
	}
	if now == nil {
		now = &unknown
	}
	reblocked := was.fingerprint != now.fingerprint || !slices.Equal(was.rules, now.rules)
	refound := !was.found.equal(now.found)
	t.urgent = t.urgent || reblocked || t.o.Enforce && was.Scan != nil && now.Scan == nil
	t.newFound = t.newFound || refound
	t.rewatch = t.rewatch || !was.watch.equal(now.watch)
	t.visible = t.visible || reblocked || refound || was.Of != now.Of || was.Fingerprint != now.Fingerprint ||
		was.Trouble != now.Trouble || was.Parts != now.Parts || !sameSummary(was.Scan, now.Scan)
	if now.Scan == nil && !now.Fingerprint.IsZero() {
		signal(t.scans.due)
	}
}

func sameSummary(a, b *pannier.ScanSummary) bool {
	return a == b || a != nil && b != nil && a.Decision == b.Decision && a.Origin == b.Origin && a.At.Equal(b.At) &&
		a.Findings == b.Findings && slices.Equal(a.Blocking, b.Blocking) && slices.Equal(a.Accepted, b.Accepted)
}

// dropLocked drops what is known of the files in a directory, but not that it is blocked.
func (t *Tracker) dropLocked(path string) {
	switch c := t.getLocked(path); {
	case c == nil:
	case len(c.rules) > 0:
		t.putLocked(path, &Content{block: c.block})
	default:
		t.putLocked(path, nil)
	}
}

// publishDue reports whether publish should be called now: for what blocks a skill at once, for the rest at intervals.
func (t *Tracker) publishDue() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	every := showEvery
	if t.o.Enforce {
		every = clearEvery
	}
	return t.urgent || t.visible && time.Since(t.publishedAt) >= every
}

// publish hands what is new to the registry and to readers. What is blocked counts before it is kept.
func (t *Tracker) publish() {
	t.mu.Lock()
	next, held := t.published.Load().with(t.changes), t.o.Verdicts.PathVerdicts()
	// Maps of what is held are replaced and never changed.
	shows := t.visible || reflect.ValueOf(held).Pointer() != reflect.ValueOf(next.held).Pointer()
	if shows {
		next.version++
		next.held, t.publishedAt = held, time.Now()
	}
	t.published.Store(next)
	t.changes = map[string]*Content{}
	judged := t.urgent
	if t.newFound && t.o.Keep != nil {
		all := map[string]pannier.Contents{}
		for path, c := range next.all() {
			if c.found.Contents != nil {
				all[path] = *c.found.Contents
			}
		}
		t.o.Keep(all)
	}
	t.visible, t.urgent, t.newFound = false, false, false
	t.mu.Unlock()
	if shows {
		t.o.Registry.Rejudge()
	}
	if judged {
		t.keepBlocked()
	}
}

// keepBlocked keeps which directories are blocked for the next process. It returns once the disk has that. Where there
// are too many, it forgets those in which there is no skill now.
func (t *Tracker) keepBlocked() {
	t.keeping.Lock()
	defer t.keeping.Unlock()
	kept := map[string]pannier.Digest{}
	t.mu.Lock()
	for path, c := range t.allLocked() {
		if len(c.rules) > 0 {
			kept[path] = c.fingerprint
		}
	}
	if len(kept) > maxBlocked {
		maps.DeleteFunc(kept, func(path string, _ pannier.Digest) bool {
			presumed := t.getLocked(path).ticket == 0
			if presumed {
				t.putLocked(path, nil)
			}
			return presumed
		})
	}
	t.mu.Unlock()
	if err := t.o.Verdicts.SetBlocked(kept); err != nil {
		t.log.Warn("which skills are blocked is not kept over a restart", "error", err)
	}
}

// Hint names directories in which a change was noticed. The skills there are read after the next Request.
func (t *Tracker) Hint(dirs []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hints = append(t.hints, dirs...)
	if t.hintAll = t.hintAll || len(t.hints) > maxHints; t.hintAll {
		t.hints = nil
	}
}

// HintAll says that any directory may have changed.
func (t *Tracker) HintAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hints, t.hintAll = nil, true
}

// Request asks for the fingerprints that are due: of skills in hints, and of those that changed since they were read.
func (t *Tracker) Request() { signal(t.reads.due) }

// Observe takes in a batch after its scan; changed says that there is another snapshot. It is for one caller at a time.
func (t *Tracker) Observe(b pannier.Batch, changed bool) {
	replaced := t.rootsReplaced()
	if !changed && !replaced && b.Full && b.Trigger == pannier.TriggerResync {
		return
	}
	if b.Full || replaced {
		t.HintAll()
	} else {
		t.Hint(b.Dirs)
	}
	t.Request()
}

// rootsReplaced reports whether a root is another directory than at the call before: then nothing that lies in it is
// what it was, though all SKILL.md may be.
func (t *Tracker) rootsReplaced() bool {
	now := make([]fsx.FileID, len(t.o.Rules.Roots))
	for i, root := range t.o.Rules.Roots {
		st, _ := fsx.StatAt(unix.AT_FDCWD, root.Path) // one that is not there is the zero ID
		now[i] = st.FileID
	}
	before := t.reads.roots
	t.reads.roots = now
	return before != nil && !slices.Equal(before, now)
}

// signal signals on a channel with room for one.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
