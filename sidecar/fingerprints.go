package sidecar

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"pannier"
	"pannier/admin/scans"
	"pannier/internal/fsx"
	"pannier/loader"
	"pannier/loader/fingerprint"
	"pannier/registry"
)

// How the fingerprints are kept up.
const (
	// fingerprintEvery is how often all skills are checked without a scan that reports a change: most directories inside of
	// skills are not watched.
	fingerprintEvery = 5 * time.Minute
	// fingerprintAgain is when they are checked again if one was changing.
	fingerprintAgain = 5 * time.Second
	// fingerprintRate is how many bytes are read in a second; the stat of a file that has not moved counts as a few.
	fingerprintRate = 32 << 20
	// fingerprintTimeout bounds one skill. What is known of it by then is kept for the next time.
	fingerprintTimeout = 2 * time.Minute
	// readTimeout bounds how long the first card waits for fingerprints where scans are enforced.
	readTimeout = 30 * time.Second
	// showEvery is how often new fingerprints are shown while there are more to come: each time makes the lists anew that
	// the socket serves.
	showEvery = time.Second
	// clearEvery is how often skills become usable while more are read or scanned.
	clearEvery = 250 * time.Millisecond
)

// fingerprints computes, apart from the reload path, the fingerprint of every skill that is not shadowed, and holds against
// each what a scan has found of that fingerprint.
type fingerprints struct {
	rules       pannier.DiscoveryRules
	registry    *registry.Registry
	verdicts    *scans.Store
	policy      scanPolicy
	log         hclog.Logger
	due         chan struct{} // has one where there are hints, or skills of which nothing is known
	deepChanged chan struct{} // has one where other directories inside of skills must be watched
	scanDue     chan struct{} // has one where there may be a fingerprint without a verdict
	tickets     atomic.Uint64 // numbers the computations in the order in which they begin
	// firstRead is closed once every skill was read, or readTimeout has passed.
	firstRead chan struct{}
	// contents reads the files of a skill; nil reads none.
	contents func(context.Context, *pannier.Skill) (pannier.Contents, error)
	// keepContents keeps what was found for the next process, in the background; nil keeps nothing.
	keepContents  func(map[string]pannier.Contents)
	firstReadOnce sync.Once
	hints         hints // the skills in them are computed first
	shown         atomic.Pointer[shownFingerprints]
	judge         atomic.Pointer[registry.Judge]
	deep          atomic.Pointer[[]string] // the directories inside of skills that must be watched, sorted

	keeping sync.Mutex // held while the disk takes what is blocked; taken before mu

	mu                sync.Mutex
	directories       map[string]*directory       // by path
	blocked           map[string]verdict          // by path; of some it is only presumed
	seen              *pannier.Snapshot           // the newest one that was planned with; nil before the first
	round             uint64                      // a skill whose ticket is less is due
	allChecked        bool                        // only suspects can be due, and what hints name
	suspects          map[string]bool             // the paths that changed, or were due, since all were checked
	nextRound         time.Time                   // when all skills are checked again; its owner is run
	changing          bool                        // a skill was, since nextRound was set; its owner is run
	roots             []fsx.FileID                // of rules at the last batch; its owner is who takes batches in
	skills            map[string]*pannier.Skill   // of seen, by path; nil before the first
	scanned           map[string]pannier.Digest   // what the registry knows as scanned: the Sum of the skill by its path; never changed
	contentsNow       map[string]pannier.Contents // what the registry knows of the files of skills; never changed
	restored          map[string]pannier.Contents // what the process before found in skills that were not read since, by path
	dirty             dirtyFingerprints
	shownAt, judgedAt time.Time // when fingerprints were shown, and when verdicts were handed over last
}

// dirtyFingerprints says what has changed since the last updateRegistry, which publishes it.
type dirtyFingerprints struct {
	shown    map[string]bool // paths whose entry in [fingerprints.shown] differs
	verdicts bool            // the registry does not have all verdicts
	scanned  map[string]bool // paths whose entry in [fingerprints.scanned] differs
	contents bool            // the registry does not have all contents
	deepDirs bool            // [fingerprints.deep] differs from what directories say
}

// directory is what is known of a skill directory.
type directory struct {
	digest pannier.Digest // zero where it could not be computed
	since  uint64         // the ticket of the computation that first had this digest
	of     pannier.Digest // the Sum of the skill that it was computed for
	files  *fingerprint.Known
	dirs   []string // those to watch, absolute: its own path, then those inside of it; empty for none
	parts  fingerprint.Parts
	// contents are what was found in the files, nil for nothing, and Of the SKILL.md then. searched says that these are the
	// files of digest.
	contents *pannier.Contents
	searched bool
	ticket   uint64
	trouble  string
}

// verdict is why a directory is blocked.
type verdict struct {
	fingerprint pannier.Digest
	rules       []string
}

// text is which SKILL.md and _meta.json lie in a directory, and in which root that is.
type text struct {
	digest, meta pannier.Digest
	root         int
}

// textOf returns the zero value for nil.
func textOf(s *pannier.Skill) text {
	if s == nil {
		return text{}
	}
	return text{s.Digest, s.MetaDigest, s.RootIndex}
}

// newFingerprints presumes of what was blocked last that it still is what it was: a restart must not let it be used until
// its files have been read.
func newFingerprints(rules pannier.DiscoveryRules, r *registry.Registry, verdicts *scans.Store, policy scanPolicy, log hclog.Logger) *fingerprints {
	f := &fingerprints{
		rules: rules, registry: r, verdicts: verdicts, policy: policy, log: log.Named("fingerprints"),
		due: make(chan struct{}, 1), scanDue: make(chan struct{}, 1), deepChanged: make(chan struct{}, 1),
		directories: map[string]*directory{}, blocked: map[string]verdict{}, scanned: map[string]pannier.Digest{},
		dirty: dirtyFingerprints{shown: map[string]bool{}, scanned: map[string]bool{}}, suspects: map[string]bool{},
	}
	f.firstRead = make(chan struct{})
	if !policy.enforce {
		f.endFirstRead()
	}
	for path, digest := range verdicts.Blocked() {
		if by := f.rulesOf(path, digest); len(by) > 0 {
			f.blocked[path] = verdict{digest, by}
		}
	}
	f.shown.Store(&shownFingerprints{})
	f.judge.Store(&registry.Judge{})
	f.judgeAnewLocked()
	return f
}

// of returns the fingerprint of a skill as the snapshot has it, zero where it is not known.
func (f *fingerprints) of(s *pannier.Skill) pannier.Digest {
	if p := f.shown.Load().get(s.Path); p != nil && p.of == s.Sum {
		return p.digest
	}
	return pannier.Digest{}
}

// summary returns what the last scan found of a skill as the snapshot has it, nil where there is none.
func (f *fingerprints) summary(s *pannier.Skill) *pannier.ScanSummary {
	if p := f.shown.Load().get(s.Path); p != nil && p.of == s.Sum {
		return p.scan
	}
	return nil
}

// isLinkedOut reports whether the SKILL.md of a skill is known to be a link that leads to no file of the skill.
func (f *fingerprints) isLinkedOut(s *pannier.Skill) bool {
	p := f.shown.Load().get(s.Path)
	return p != nil && p.of == s.Sum && isLinkedOut(s, p.parts)
}

func isLinkedOut(s *pannier.Skill, parts fingerprint.Parts) bool {
	return parts.LinkedOut == s.File && s.File != ""
}

// failure says why a skill has no fingerprint; empty where it has one or may get one.
func (f *fingerprints) failure(s *pannier.Skill) string {
	if p := f.shown.Load().get(s.Path); p != nil && p.of == s.Sum {
		return p.trouble
	}
	return ""
}

// mayHaveResources reports whether links or examples of a skill are to be read: it has some, or that is not known yet.
func (f *fingerprints) mayHaveResources(s *pannier.Skill) bool {
	p := f.shown.Load().get(s.Path)
	return p == nil || p.of != s.Sum || p.digest.IsZero() || p.parts.Resources
}

// generation is another number whenever of has other answers.
func (f *fingerprints) generation() uint64 { return f.shown.Load().generation }

// request asks for the fingerprints that are due: of skills in hints, and of those that changed since they were read.
func (f *fingerprints) request() { signal(f.due) }

// run computes the fingerprints that are due at each request, and checks all skills at intervals, until ctx is done.
func (f *fingerprints) run(ctx context.Context) {
	next := time.NewTimer(fingerprintEvery)
	defer next.Stop()
	late := time.AfterFunc(readTimeout, f.endFirstRead)
	defer late.Stop()
	pace := &pace{rate: fingerprintRate}
	f.nextRound = time.Now().Add(fingerprintEvery) // requests can come before the first snapshot, which starts a round
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.due:
		case <-next.C:
			f.hints.addAll()
		}
		again, done := f.computeDue(ctx, pace.wait)
		for !done && ctx.Err() == nil {
			again, done = f.computeDue(ctx, pace.wait)
		}
		next.Reset(again)
	}
}

// computeDue computes the fingerprints that are due, and returns when to go through all skills again. A request during that ends it
// early, so that what is new comes first: then done is false, and it is to be called again. All skills that hints name are computed
// before, because nothing else says that they are due, and at least one other, so that each has its turn however much changes.
func (f *fingerprints) computeDue(ctx context.Context, pace func(context.Context, int64) error) (next time.Duration, done bool) {
	plan := f.plan()
	if f.updateDue() {
		f.updateRegistry()
	}
	for _, s := range plan.hinted {
		if f.computeOne(ctx, s, pace); ctx.Err() != nil {
			return fingerprintEvery, true
		}
	}
	for _, s := range plan.others {
		if f.computeOne(ctx, s, pace); ctx.Err() != nil {
			return fingerprintEvery, true
		}
		select {
		case <-f.due:
			return 0, false
		default:
		}
	}
	f.showDeep()
	if f.updateRegistry(); f.registry.Current() != nil {
		f.endFirstRead()
	}
	now := time.Now()
	if plan.endsRound {
		f.nextRound = now.Add(fingerprintEvery)
	}
	if again := now.Add(fingerprintAgain); f.changing && again.Before(f.nextRound) {
		f.nextRound = again
	}
	f.changing = false
	return max(f.nextRound.Sub(now), 1), true
}

// computeOne computes one fingerprint, records whether the skill was changing, and shows what should be shown by then.
func (f *fingerprints) computeOne(ctx context.Context, s *pannier.Skill, pace func(context.Context, int64) error) {
	bounded, cancel := context.WithTimeout(ctx, fingerprintTimeout)
	defer cancel()
	_, err := f.compute(bounded, s, pace)
	f.changing = f.changing || errors.Is(err, pannier.ErrChanged) || errors.Is(err, context.DeadlineExceeded)
	if ctx.Err() == nil && f.updateDue() {
		f.updateRegistry()
	}
}

func (f *fingerprints) endFirstRead() { f.firstReadOnce.Do(func() { close(f.firstRead) }) }

// isRead reports whether the first card may be pushed.
func (f *fingerprints) isRead() bool {
	select {
	case <-f.firstRead:
		return true
	default:
		return false
	}
}

// updateDue reports whether updateRegistry should be called now: for what blocks a skill at once, for the rest at intervals.
func (f *fingerprints) updateDue() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dirty.verdicts || len(f.dirty.shown) > 0 && time.Since(f.shownAt) >= showEvery || len(f.dirty.scanned) > 0 && time.Since(f.judgedAt) >= clearEvery
}

// showTimeout bounds how long an installation waits for fingerprints. What takes longer is shown later.
const showTimeout = time.Second

// waitFor computes the fingerprints of the skills in directories that pannier itself has changed, so that
// subscribers get them with the change, and returns a snapshot that has them.
func (f *fingerprints) waitFor(ctx context.Context, snapshot *pannier.Snapshot, dirs []string) *pannier.Snapshot {
	ctx, cancel := context.WithTimeout(ctx, showTimeout)
	defer cancel()
	places := f.placesOf(dirs)
	for _, e := range snapshot.Entries {
		if slices.Contains(places, place{e.RootIndex, e.PathBelowRoot}) && e.State != pannier.StateShadowed && !e.Deleting {
			f.compute(ctx, e.Skill, nil) // where that fails, the next round says so
		}
	}
	return f.updateRegistry()
}

// now computes the fingerprint of a skill for a caller that waits for it.
func (f *fingerprints) now(ctx context.Context, s *pannier.Skill) (pannier.Digest, error) {
	return f.compute(ctx, s, nil)
}

// compute computes the fingerprint of a skill and keeps it.
func (f *fingerprints) compute(ctx context.Context, s *pannier.Skill, pace func(context.Context, int64) error) (pannier.Digest, error) {
	ticket := f.tickets.Add(1)
	p, err := f.read(ctx, s, pace)
	f.record(s, ticket, p, err)
	if err == nil {
		f.readContents(ctx, s, p)
	}
	return p.Digest, err
}

func (f *fingerprints) read(ctx context.Context, s *pannier.Skill, pace func(context.Context, int64) error) (fingerprint.Print, error) {
	return f.readWith(ctx, s, fingerprint.Options{Pace: pace})
}

// readWith computes a fingerprint with options, of which it sets what is known already.
func (f *fingerprints) readWith(ctx context.Context, s *pannier.Skill, o fingerprint.Options) (fingerprint.Print, error) {
	f.mu.Lock()
	if d := f.directories[s.Path]; d != nil {
		o.Known = d.files
	}
	f.mu.Unlock()
	return readFingerprint(ctx, f.rules, s, o)
}

// readFingerprint reads the files of a skill.
func readFingerprint(ctx context.Context, rules pannier.DiscoveryRules, s *pannier.Skill, o fingerprint.Options) (fingerprint.Print, error) {
	found, err := loader.PlaceOf(rules.Roots[s.RootIndex]).Find(s.PathBelowRoot)
	if err != nil {
		return fingerprint.Print{Known: o.Known}, err
	}
	defer found.Root.Close()
	return fingerprint.Of(ctx, found.Root, found.Rel, o)
}

// record keeps what was computed, unless what was begun later is known already.
func (f *fingerprints) record(s *pannier.Skill, ticket uint64, p fingerprint.Print, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.allChecked {
		f.suspects[s.Path] = true // the skill may have changed meanwhile, or may not be readable
	}
	d := f.directories[s.Path]
	if d == nil {
		d = &directory{}
		f.directories[s.Path] = d
	}
	if d.ticket > ticket {
		return
	}
	d.files, d.ticket = p.Known, ticket
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return // a caller that stopped waiting says nothing about the directory
	}
	if d.digest != p.Digest || d.of != s.Sum {
		f.dirty.shown[s.Path] = true
	}
	if d.digest != p.Digest {
		d.since, d.searched = ticket, false
	}
	d.digest, d.of, d.parts = p.Digest, s.Sum, p.Parts
	if err == nil {
		f.judgeLocked(s.Path, p.Digest)
		f.deepenLocked(s, d, p.Dirs)
	}
	f.checkScannedLocked(s.Path, d)
	f.logFailureLocked(s, d, err)
}

// logFailureLocked logs why there is no fingerprint, once. A skill that changes meanwhile is not a failure,
// and a directory that was removed is not worth a warning: the next scan drops the skill.
func (f *fingerprints) logFailureLocked(s *pannier.Skill, d *directory, err error) {
	trouble := ""
	if err != nil && !errors.Is(err, pannier.ErrChanged) {
		trouble = err.Error()
	}
	if trouble != d.trouble {
		f.dirty.shown[s.Path] = true
	}
	if trouble != "" && trouble != d.trouble {
		level := hclog.Warn
		if errors.Is(err, fs.ErrNotExist) {
			level = hclog.Debug
		}
		f.log.Log(level, "a skill has no fingerprint", "path", s.Path, "error", trouble)
	}
	d.trouble = trouble
}
