package sidecar

import (
	"context"
	"maps"
	"os"
	"slices"
	"time"

	"pannier"
	"pannier/admin/scans"
	"pannier/registry"
)

// maxBlocked bounds the directories that are presumed to be blocked, though no skill lies there now.
const maxBlocked = 10_000

// judgeLocked holds against a directory what a scan has found of its fingerprint. A directory without a fingerprint stays
// as it was judged last.
func (f *fingerprints) judgeLocked(path string, digest pannier.Digest) {
	now := verdict{digest, f.rulesOf(path, digest)}
	before, blocked := f.blocked[path]
	switch {
	case len(now.rules) == 0 && !blocked, blocked && before.fingerprint == now.fingerprint && slices.Equal(before.rules, now.rules):
		return
	case len(now.rules) == 0:
		delete(f.blocked, path)
	default:
		f.blocked[path] = now
	}
	f.unjudged = true
}

// rulesOf returns the rules that block a fingerprint. What a background scan found blocks only where scans are enforced.
// What is accepted at the path does not block.
func (f *fingerprints) rulesOf(path string, digest pannier.Digest) []string {
	v, _ := f.verdicts.Summary(digest)
	if !f.policy.enforce && !v.AlwaysBlocks() {
		return nil
	}
	rules, _ := splitAccepted(v.Blocking, f.verdicts.Accepted(path, digest))
	return rules
}

// splitAccepted divides rules into those that block and those that are accepted.
func splitAccepted(rules []string, accepted []pannier.Acceptance) (blocking, taken []string) {
	if len(accepted) == 0 {
		return rules, nil
	}
	for _, rule := range rules {
		if slices.ContainsFunc(accepted, func(a pannier.Acceptance) bool { return a.Rule == rule }) {
			taken = append(taken, rule)
		} else {
			blocking = append(blocking, rule)
		}
	}
	return blocking, taken
}

// clearLocked compares whether a directory has a verdict with what the registry knows.
func (f *fingerprints) clearLocked(path string, d *directory) {
	_, scanned := f.verdicts.Summary(d.digest)
	if !scanned && !d.digest.IsZero() {
		signal(f.unscanned)
	}
	if !f.policy.enforce {
		return
	}
	of, cleared := f.cleared[path]
	cleared = cleared && of == d.of
	f.unjudged = f.unjudged || cleared && !scanned
	if cleared != scanned {
		f.uncleared[path] = true
	}
}

// verdictKept takes in that a background scan kept a verdict. It is shown with the next update of the registry.
func (f *fingerprints) verdictKept(digest pannier.Digest) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.verdictKeptLocked(digest)
}

func (f *fingerprints) verdictKeptLocked(digest pannier.Digest) {
	for path, d := range f.directories {
		if d.digest == digest {
			f.judgeLocked(path, digest)
			f.clearLocked(path, d)
			f.unshown[path] = true
		}
	}
}

// apply judges by what is held of a skill and by the newest verdict on a fingerprint, and returns a snapshot that shows it.
// Without a fingerprint, what is held counts in the place of what was presumed.
func (f *fingerprints) apply(s *pannier.Skill, digest pannier.Digest) *pannier.Snapshot {
	f.mu.Lock()
	f.unjudged = true
	if f.skills != nil {
		f.skills[s.Path] = s
	}
	if d := f.directories[s.Path]; digest.IsZero() && (d == nil || d.digest.IsZero()) {
		delete(f.blocked, s.Path)
	}
	if f.unshown[s.Path] = true; !digest.IsZero() {
		f.verdictKeptLocked(digest)
	}
	f.mu.Unlock()
	return f.updateRegistry()
}

// syncLocked takes in which skills a snapshot has, since what is held counts for those that it was found in. What is held of
// one that was there and is gone is forgotten, unless its root is gone with it: that comes back. What is known of the files of a
// skill that is gone is dropped.
func (f *fingerprints) syncLocked(s *pannier.Snapshot) {
	held := f.verdicts.Held()
	before := make(map[string]text, len(held))
	for path := range held {
		if was, known := f.skills[path]; known {
			before[path] = textOf(was)
		}
	}
	if f.skills == nil {
		f.skills = make(map[string]*pannier.Skill, len(s.Entries))
	}
	var gone []string
	came := map[string]bool{} // by path: a skill whose slug changed goes and comes
	for old, now := range registry.Changes(f.seen, s) {
		if now != nil {
			f.skills[now.Path] = now.Skill
			came[now.Path] = true
			if f.allChecked {
				f.suspects[now.Path] = true
			}
		}
		if old != nil {
			gone = append(gone, old.Path)
		}
	}
	for _, path := range gone {
		if !came[path] {
			delete(f.skills, path)
			f.dropPathLocked(path)
		}
	}
	f.seen = s
	for path, h := range held {
		was, known := before[path]
		now, there := f.skills[path]
		f.unjudged = f.unjudged || !known || !there || holds(h, was) != holds(h, textOf(now))
		if !known || there {
			continue
		}
		if _, err := os.Stat(f.rules.Roots[was.root].Path); err != nil {
			continue
		}
		if err := f.verdicts.Release(path); err != nil {
			f.log.Warn("what a scan found of a skill that is gone is not forgotten", "path", path, "error", err)
		}
	}
}

// holds reports whether what is held of a place counts for the skill that lies there.
func holds(h scans.Held, t text) bool { return h.Digest == t.digest && h.MetaDigest == t.meta }

// found returns what the last scan found of a skill as it is: what is held of it, or else what is kept for its fingerprint.
func (f *fingerprints) found(s *pannier.Skill) (v pannier.ScanVerdict, found bool, err error) {
	if h, held := f.verdicts.Held()[s.Path]; held && holds(h, textOf(s)) {
		return f.verdicts.HeldAt(s.Path)
	}
	digest := f.of(s)
	v, found, err = f.verdicts.Get(digest)
	return v.Accept(f.verdicts.Accepted(s.Path, digest)), found, err
}

// updateRegistry hands what is new to the registry and to those who ask for fingerprints, and returns a snapshot that shows it. The
// lock is held throughout, so that nothing older overtakes. What is blocked counts before it is kept.
func (f *fingerprints) updateRegistry() *pannier.Snapshot {
	s, judged := f.update()
	if judged {
		f.keepBlocked()
	}
	return s
}

func (f *fingerprints) update() (s *pannier.Snapshot, judged bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.unshown) > 0 {
		f.showLocked()
	}
	if f.undeep {
		f.showDeepLocked()
	}
	if !f.unjudged && len(f.uncleared) == 0 {
		if !f.unfound {
			return f.registry.Current(), false
		}
		contents := f.contentsLocked()
		return f.registry.Update(func(in *registry.Inputs) { in.Contents = contents }), false
	}
	f.unjudged, f.judged = false, time.Now()
	f.dropLocked()
	rules, scanned, contents := f.rulesLocked(), f.scannedLocked(), f.contentsLocked()
	return f.registry.Update(func(in *registry.Inputs) { in.Scans, in.Scanned, in.Contents = rules, scanned, contents }), true
}

// keepBlocked keeps which directories are blocked for the next process. It returns once the disk has that.
func (f *fingerprints) keepBlocked() {
	f.keeping.Lock()
	defer f.keeping.Unlock()
	f.mu.Lock()
	kept := make(map[string]pannier.Digest, len(f.blocked))
	for path, v := range f.blocked {
		kept[path] = v.fingerprint
	}
	f.mu.Unlock()
	if err := f.verdicts.SetBlocked(kept); err != nil {
		f.log.Warn("which skills are blocked is not kept over a restart", "error", err)
	}
}

// scannedLocked returns the Sum of each skill whose content has a verdict, nil where scans are not enforced.
func (f *fingerprints) scannedLocked() map[string]pannier.Digest {
	if !f.policy.enforce {
		return nil
	}
	if len(f.uncleared) == 0 {
		return f.cleared
	}
	f.cleared = maps.Clone(f.cleared)
	for path := range f.uncleared {
		delete(f.cleared, path)
		if d := f.directories[path]; d != nil {
			if _, scanned := f.verdicts.Summary(d.digest); scanned {
				f.cleared[path] = d.of
			}
		}
	}
	clear(f.uncleared)
	return f.cleared
}

func (f *fingerprints) showLocked() {
	before := f.shown.Load()
	next := &shownFingerprints{generation: before.generation + 1, byPath: maps.Clone(before.byPath)}
	if next.byPath == nil {
		next.byPath = make(map[string]*shownFingerprint, len(f.unshown))
	}
	for path := range f.unshown {
		if d := f.directories[path]; d != nil {
			next.byPath[path] = &shownFingerprint{d.digest, d.of, d.parts, f.summaryLocked(path, d), d.trouble}
		} else {
			delete(next.byPath, path)
		}
	}
	f.told = time.Now()
	clear(f.unshown)
	f.shown.Store(next)
}

// dropPathLocked drops what is known of the files in a directory.
func (f *fingerprints) dropPathLocked(path string) {
	d := f.directories[path]
	if d == nil {
		return
	}
	delete(f.directories, path)
	f.unshown[path], f.undeep = true, f.undeep || f.policy.enforce
	f.unfound = f.unfound || d.contents != nil
	if _, cleared := f.cleared[path]; cleared {
		f.uncleared[path] = true
	}
}

// summaryLocked returns what the last scan found of a directory: what is held of it, or else what is kept for its fingerprint.
func (f *fingerprints) summaryLocked(path string, d *directory) *pannier.ScanSummary {
	if h, held := f.verdicts.Held()[path]; held && holds(h, textOf(f.skills[path])) {
		return &pannier.ScanSummary{Decision: pannier.ScanBlock, Origin: pannier.ScanExplicit, At: h.At, Findings: h.Findings, Blocking: h.Rules}
	}
	v, kept := f.verdicts.Summary(d.digest)
	if !kept {
		return nil
	}
	sum := v.ScanSummary
	sum.Blocking, sum.Accepted = splitAccepted(v.Blocking, f.verdicts.Accepted(path, d.digest))
	if sum.Decision == pannier.ScanBlock && len(sum.Blocking) == 0 && len(sum.Accepted) > 0 {
		sum.Decision = pannier.ScanWarn
	}
	return &sum
}

// dropLocked forgets, where there are too many, what is presumed of directories in which there is no skill now.
func (f *fingerprints) dropLocked() {
	if len(f.blocked) > maxBlocked {
		maps.DeleteFunc(f.blocked, func(path string, _ verdict) bool { return f.directories[path] == nil })
	}
}

// blockedBy returns the rules that block each directory and which are scanned, for the registry to begin with.
func (f *fingerprints) blockedBy() (rules map[string][]string, scanned map[string]pannier.Digest) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rulesLocked(), f.scannedLocked()
}

func (f *fingerprints) rulesLocked() map[string][]string {
	rules := make(map[string][]string, len(f.blocked))
	for path, v := range f.blocked {
		rules[path] = v.rules
	}
	for path, h := range f.verdicts.Held() {
		if f.skills == nil || holds(h, textOf(f.skills[path])) {
			by := slices.Concat(rules[path], h.Rules)
			slices.Sort(by)
			rules[path] = slices.Compact(by)
		}
	}
	return rules
}

// pace lets work go on at a rate. It is for one caller at a time.
type pace struct {
	rate  int64     // of cost in a second
	until time.Time // when what was spent so far is paid for
}

// shortest is how long a pause is at least. What is less is added to the next.
const shortest = 10 * time.Millisecond

// wait pauses for as long as a cost takes at that rate. It fails only when ctx is done.
func (p *pace) wait(ctx context.Context, cost int64) error {
	now := time.Now()
	if p.until.Before(now) {
		p.until = now
	}
	p.until = p.until.Add(time.Duration(cost) * time.Second / time.Duration(p.rate))
	pause := p.until.Sub(now)
	if pause < shortest {
		return ctx.Err()
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
