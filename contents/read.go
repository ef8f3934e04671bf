package contents

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"pannier"
	"pannier/internal/fsx"
	"pannier/loader"
	"pannier/loader/fingerprint"
	"pannier/registry"
)

const (
	// readEvery is how often all skills are read without a scan that reports a change: most directories inside of
	// skills are not watched.
	readEvery = 5 * time.Minute
	// readAgain is when they are read again if one was changing.
	readAgain = 5 * time.Second
	// readRate is how many bytes are read in a second; the stat of a file that has not moved counts as a few.
	readRate = 32 << 20
	// readTimeout bounds one skill. What is known of it by then is kept for the next time.
	readTimeout = 2 * time.Minute
	// firstReadTimeout bounds how long the first card waits for fingerprints where scans are enforced.
	firstReadTimeout = 30 * time.Second
)

// reads is the state of the goroutine that reads files.
type reads struct {
	due       chan struct{} // has one where there are hints, or skills of which nothing is known
	first     chan struct{} // closed once every skill was read, or firstReadTimeout has passed
	firstOnce sync.Once
	roots     []fsx.FileID // at the last batch; they belong to the caller of Observe

	seen     *pannier.Snapshot // the newest one that was planned with; nil before the first
	round    uint64            // a skill whose ticket is less is due
	next     time.Time         // when all skills are read again
	changing bool              // a skill was, since next was set
}

// FirstRead is closed once the first card may be pushed.
func (t *Tracker) FirstRead() <-chan struct{} { return t.reads.first }

func (t *Tracker) endFirstRead() { t.reads.firstOnce.Do(func() { close(t.reads.first) }) }

// Run reads what is due at each request, and all skills at intervals, until ctx is done.
func (t *Tracker) Run(ctx context.Context) {
	next := time.NewTimer(readEvery)
	defer next.Stop()
	late := time.AfterFunc(firstReadTimeout, t.endFirstRead)
	defer late.Stop()
	pace := &pace{rate: readRate}
	t.reads.next = time.Now().Add(readEvery) // requests can come before the first snapshot, which starts a round
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.reads.due:
		case <-next.C:
			t.HintAll()
		}
		again, done := t.readDue(ctx, pace.wait)
		for !done && ctx.Err() == nil {
			again, done = t.readDue(ctx, pace.wait)
		}
		next.Reset(again)
	}
}

// readDue reads the skills that are due, and returns when to read all again. A request during that ends it early, so
// that what is new comes first: then done is false, and it is to be called again. All skills that hints name are read
// before, because nothing else says that they are due, and at least one other, so that each has its turn however much
// changes.
func (t *Tracker) readDue(ctx context.Context, pace pacer) (next time.Duration, done bool) {
	hinted, others, endsRound := t.plan()
	if t.publishDue() {
		t.publish()
	}
	for i, s := range slices.Concat(hinted, others) {
		bounded, cancel := context.WithTimeout(ctx, readTimeout)
		_, err := t.compute(bounded, s, pace)
		cancel()
		if ctx.Err() != nil {
			return readEvery, true
		}
		t.reads.changing = t.reads.changing || errors.Is(err, pannier.ErrChanged) || errors.Is(err, context.DeadlineExceeded)
		if t.publishDue() {
			t.publish()
		}
		if i < len(hinted) {
			continue
		}
		select {
		case <-t.reads.due:
			return 0, false
		default:
		}
	}
	t.showWatched()
	if t.publish(); t.o.Registry.Current() != nil {
		t.endFirstRead()
	}
	now := time.Now()
	if endsRound {
		t.reads.next = now.Add(readEvery)
	}
	if again := now.Add(readAgain); t.reads.changing && again.Before(t.reads.next) {
		t.reads.next = again
	}
	t.reads.changing = false
	return max(t.reads.next.Sub(now), 1), true
}

// plan returns the skills that are due: those that hints name, and others, first those without a fingerprint, then
// those that have waited longest. endsRound says that all skills were read in this round once these are. What is known
// of skills that are gone or shadowed is dropped.
func (t *Tracker) plan() (hinted, others []*pannier.Skill, endsRound bool) {
	snapshot := t.o.Registry.Current()
	if snapshot == nil {
		return nil, nil, false
	}
	gone := t.gone(snapshot)
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, path := range gone {
		t.dropLocked(path)
	}
	dirs, all := t.hints, t.hintAll
	t.hints, t.hintAll = nil, false
	if all {
		t.reads.round = t.tickets.Load() + 1
	}
	named := map[place]bool{}
	for _, p := range t.placesOf(dirs) {
		for ; p.rel != "." && p.rel != "/"; p.rel = path.Dir(p.rel) {
			named[p] = true
		}
	}
	waits := map[*pannier.Skill]uint64{}
	endsRound = all
	for _, e := range snapshot.Entries {
		s, c := e.Skill, t.getLocked(e.Path)
		switch {
		case e.State == pannier.StateShadowed:
			t.dropLocked(s.Path)
		case s.Deleting: // there are no files to read
		case named[place{s.RootIndex, s.PathBelowRoot}]:
			hinted = append(hinted, s)
		case c == nil || c.Of != s.Sum:
			others = append(others, s)
		case c.ticket < t.reads.round || c.Fingerprint.IsZero(): // what could not be read may be readable again
			endsRound = endsRound || c.ticket < t.reads.round
			others = append(others, s)
			waits[s] = c.ticket
		}
	}
	slices.SortStableFunc(others, func(a, b *pannier.Skill) int { return cmp.Compare(waits[a], waits[b]) })
	return hinted, others, endsRound
}

// gone returns the paths of skills that the snapshot before had, or that an earlier process knew, and this one has not.
// What is held of them is forgotten, unless the root is gone with the skill: that comes back.
func (t *Tracker) gone(s *pannier.Snapshot) (paths []string) {
	if t.reads.seen == nil {
		present := map[string]bool{}
		for _, e := range s.Entries {
			present[e.Path] = true
		}
		for path := range t.published.Load().all() {
			if !present[path] {
				paths = append(paths, path)
			}
		}
	}
	left := map[string]*pannier.Skill{}
	came := map[string]bool{} // a skill whose slug changed goes and comes
	for old, now := range registry.Changes(t.reads.seen, s) {
		if now != nil {
			came[now.Path] = true
		} else {
			left[old.Path] = old.Skill
		}
	}
	t.reads.seen = s
	for path, skill := range left {
		if came[path] {
			continue
		}
		paths = append(paths, path)
		if _, err := os.Stat(t.o.Rules.Roots[skill.RootIndex].Path); err == nil {
			if err := t.o.Verdicts.Release(path); err != nil {
				t.log.Warn("what a scan found of a skill that is gone is not forgotten", "path", path, "error", err)
			}
		}
	}
	return paths
}

// place is a path below a root.
type place struct {
	root int
	rel  string
}

// placesOf returns absolute paths as those below the roots that they lie in.
func (t *Tracker) placesOf(dirs []string) []place {
	var places []place
	for _, dir := range dirs {
		for i, root := range t.o.Rules.Roots {
			if rel, ok := strings.CutPrefix(dir, strings.TrimSuffix(root.Path, "/")+"/"); ok {
				places = append(places, place{i, rel})
			}
		}
	}
	return places
}

// AwaitRead reads the skills in directories that pannier itself has changed, so that subscribers get their fingerprints
// with the change, and returns a snapshot that has them.
func (t *Tracker) AwaitRead(ctx context.Context, snapshot *pannier.Snapshot, dirs []string) *pannier.Snapshot {
	ctx, cancel := context.WithTimeout(ctx, showTimeout)
	defer cancel()
	places := t.placesOf(dirs)
	for _, e := range snapshot.Entries {
		if slices.Contains(places, place{e.RootIndex, e.PathBelowRoot}) && e.State != pannier.StateShadowed && !e.Deleting {
			_, _ = t.compute(ctx, e.Skill, nil) // where that fails, the next round says so
		}
	}
	t.publish()
	return t.o.Registry.Rejudge()
}

// Compute returns the fingerprint of a skill as it is now.
func (t *Tracker) Compute(ctx context.Context, s *pannier.Skill) (pannier.Digest, error) {
	return t.compute(ctx, s, nil)
}

// compute reads the files of a skill: those whose stats changed for the fingerprint, and if that is another one, what
// turns and prompts show.
func (t *Tracker) compute(ctx context.Context, s *pannier.Skill, pace pacer) (pannier.Digest, error) {
	p, err := t.read(ctx, s, fingerprint.Options{Pace: pace})
	if err == nil {
		t.readFound(ctx, s, p)
	}
	return p.Digest, err
}

// Read returns the files of a skill as they are now, one by one.
func (t *Tracker) Read(ctx context.Context, s *pannier.Skill) (c Content, manifest []pannier.ToolFile, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	p, err := t.read(ctx, s, fingerprint.Options{Manifest: true})
	if err == nil {
		t.Request()
	}
	return Content{Of: s.Sum, Fingerprint: p.Digest, Parts: p.Parts}, p.Manifest, err
}

// read computes a fingerprint with options, of which it sets what is known already.
func (t *Tracker) read(ctx context.Context, s *pannier.Skill, o fingerprint.Options) (fingerprint.Print, error) {
	ticket := t.tickets.Add(1)
	p, err := t.print(ctx, s, o)
	t.record(s, ticket, p, err)
	return p, err
}

func (t *Tracker) print(ctx context.Context, s *pannier.Skill, o fingerprint.Options) (fingerprint.Print, error) {
	t.mu.Lock()
	if c := t.getLocked(s.Path); c != nil {
		o.Known = c.files
	}
	t.mu.Unlock()
	return printOf(ctx, t.o.Rules, s, o)
}

// FingerprintOf computes the fingerprint of a skill, for callers without a tracker.
func FingerprintOf(ctx context.Context, rules pannier.DiscoveryRules, s *pannier.Skill) (pannier.Digest, error) {
	p, err := printOf(ctx, rules, s, fingerprint.Options{})
	return p.Digest, err
}

func printOf(
	ctx context.Context, rules pannier.DiscoveryRules, s *pannier.Skill, o fingerprint.Options,
) (fingerprint.Print, error) {
	at, err := loader.PlaceOf(rules.Roots[s.RootIndex]).Find(s.PathBelowRoot)
	if err != nil {
		return fingerprint.Print{Known: o.Known}, err
	}
	defer at.Root.Close()
	return fingerprint.Of(ctx, at.Root, at.Rel, o)
}

// record keeps what was computed, unless what was begun later is known already.
func (t *Tracker) record(s *pannier.Skill, ticket uint64, p fingerprint.Print, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var next Content
	if c := t.getLocked(s.Path); c != nil {
		next = *c
	}
	if next.ticket > ticket {
		return
	}
	next.files, next.ticket = p.Known, ticket
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		t.putLocked(s.Path, &next) // a caller that stopped waiting says nothing about the directory
		return
	}
	if next.Fingerprint != p.Digest {
		next.since, next.searched = ticket, false
	}
	before := next.Trouble
	next.Fingerprint, next.Of, next.Parts, next.Trouble = p.Digest, s.Sum, p.Parts, ""
	if err == nil {
		next.watch = t.watchedOf(s, p.Dirs)
	} else if !errors.Is(err, pannier.ErrChanged) {
		next.Trouble = err.Error()
	}
	t.putLocked(s.Path, t.withVerdict(s.Path, next))
	if next.Trouble == "" || next.Trouble == before {
		return
	}
	level := hclog.Warn
	if errors.Is(err, fs.ErrNotExist) {
		level = hclog.Debug // the next scan drops the skill
	}
	t.log.Log(level, "a skill has no fingerprint", "path", s.Path, "error", next.Trouble)
}

// readFound looks for what turns and prompts show beside SKILL.md, and for words to describe a skill that has none, in
// the files of a skill. It does so once for each fingerprint, and only where there are such files or such a lack.
func (t *Tracker) readFound(ctx context.Context, s *pannier.Skill, p fingerprint.Print) {
	t.mu.Lock()
	c := t.getLocked(s.Path)
	t.mu.Unlock()
	if t.o.Read == nil || c == nil || c.Fingerprint != p.Digest || c.searched {
		return
	}
	var f found
	if p.Parts.Tools || p.Parts.Resources || loader.LacksDescription(s) {
		contents, err := t.o.Read(ctx, s)
		if err != nil {
			t.log.Debug("the files of a skill cannot be read", "path", s.Path, "error", err)
			return // the next round tries again
		}
		if !contents.Digest.IsZero() {
			contents.Of = s.Digest
			f.Contents = &contents
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.getLocked(s.Path); c != nil && c.Fingerprint == p.Digest {
		next := *c
		next.found, next.searched = f, true
		t.putLocked(s.Path, &next)
	}
}
