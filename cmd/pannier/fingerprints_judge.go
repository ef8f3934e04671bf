package main

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
	now := verdict{digest, f.verdicts.Rules(digest)}
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

// apply judges by what is held of a skill and by the newest verdict on a fingerprint, and returns a snapshot that shows it.
// Without a fingerprint, what is held counts in the place of what was presumed.
func (f *fingerprints) apply(s *pannier.Skill, digest pannier.Digest) *pannier.Snapshot {
	f.mu.Lock()
	f.unjudged = true
	if f.texts != nil {
		f.texts[s.Path] = textOf(s)
	}
	if d := f.directories[s.Path]; digest.IsZero() && (d == nil || d.digest.IsZero()) {
		delete(f.blocked, s.Path)
	}
	for path, d := range f.directories {
		if !digest.IsZero() && d.digest == digest {
			f.judgeLocked(path, digest)
		}
	}
	f.mu.Unlock()
	return f.tell()
}

// seeLocked takes in which skills a snapshot has, since what is held counts for those that it was found in. What is held of
// one that was there and is gone is forgotten, unless its root is gone with it: that comes back.
func (f *fingerprints) seeLocked(s *pannier.Snapshot) {
	before := f.texts
	f.texts = make(map[string]text, len(s.Entries))
	for i := range s.Entries {
		f.texts[s.Entries[i].Path] = textOf(s.Entries[i].Skill)
	}
	for path, h := range f.verdicts.Held() {
		was, known := before[path]
		now, there := f.texts[path]
		f.unjudged = f.unjudged || !known || !there || holds(h, was) != holds(h, now)
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
	return f.verdicts.Get(f.of(s))
}

// tell hands what is new to the registry and to those who ask for fingerprints, and returns a snapshot that shows it. The
// lock is held throughout, so that nothing older overtakes.
func (f *fingerprints) tell() *pannier.Snapshot {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.unshown {
		f.showLocked()
	}
	if !f.unjudged {
		return f.registry.Current()
	}
	f.unjudged = false
	f.dropLocked()
	kept := make(map[string]pannier.Digest, len(f.blocked))
	for path, v := range f.blocked {
		kept[path] = v.fingerprint
	}
	if err := f.verdicts.SetBlocked(kept); err != nil {
		f.log.Warn("which skills are blocked is not kept over a restart", "error", err)
	}
	rules := f.rulesLocked()
	return f.registry.Update(func(in *registry.Inputs) { in.Scans = rules })
}

func (f *fingerprints) showLocked() {
	f.unshown, f.told = false, time.Now()
	next := &shownFingerprints{generation: f.shown.Load().generation + 1, byPath: make(map[string]shownFingerprint, len(f.directories))}
	for path, d := range f.directories {
		next.byPath[path] = shownFingerprint{d.digest, d.of}
	}
	f.shown.Store(next)
}

// dropLocked forgets, where there are too many, what is presumed of directories in which there is no skill now.
func (f *fingerprints) dropLocked() {
	if len(f.blocked) > maxBlocked {
		maps.DeleteFunc(f.blocked, func(path string, _ verdict) bool { return f.directories[path] == nil })
	}
}

// blockedBy returns the rules that block each directory, for the registry to begin with.
func (f *fingerprints) blockedBy() map[string][]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rulesLocked()
}

func (f *fingerprints) rulesLocked() map[string][]string {
	rules := make(map[string][]string, len(f.blocked))
	for path, v := range f.blocked {
		rules[path] = v.rules
	}
	for path, h := range f.verdicts.Held() {
		if f.texts == nil || holds(h, f.texts[path]) {
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
