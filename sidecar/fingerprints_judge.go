package sidecar

import (
	"slices"

	"pannier"
	"pannier/admin/scans"
)

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
	f.dirty.verdicts = true
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

// checkScannedLocked compares whether a directory has a verdict with what the registry knows.
func (f *fingerprints) checkScannedLocked(path string, d *directory) {
	_, scanned := f.verdicts.Summary(d.digest)
	if !scanned && !d.digest.IsZero() {
		signal(f.scanDue)
	}
	if !f.policy.enforce {
		return
	}
	of, cleared := f.scanned[path]
	cleared = cleared && of == d.of
	f.dirty.verdicts = f.dirty.verdicts || cleared && !scanned
	if cleared != scanned {
		f.dirty.scanned[path] = true
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
			f.checkScannedLocked(path, d)
			f.dirty.shown[path] = true
		}
	}
}

// apply judges by what is held of a skill and by the newest verdict on a fingerprint, and returns a snapshot that shows it.
// Without a fingerprint, what is held counts in the place of what was presumed.
func (f *fingerprints) apply(s *pannier.Skill, digest pannier.Digest) *pannier.Snapshot {
	f.mu.Lock()
	f.dirty.verdicts = true
	if f.skills != nil {
		f.skills[s.Path] = s
	}
	if d := f.directories[s.Path]; digest.IsZero() && (d == nil || d.digest.IsZero()) {
		delete(f.blocked, s.Path)
	}
	if f.dirty.shown[s.Path] = true; !digest.IsZero() {
		f.verdictKeptLocked(digest)
	}
	f.mu.Unlock()
	return f.updateRegistry()
}

// holds reports whether what is held of a place counts for the skill that lies there.
func holds(h scans.Held, t text) bool { return h.Digest == t.digest && h.MetaDigest == t.meta }

// verdictOf returns what the last scan found of a skill as it is: what is held of it, or else what is kept for its fingerprint.
func (f *fingerprints) verdictOf(s *pannier.Skill) (v pannier.ScanVerdict, found bool, err error) {
	if h, held := f.verdicts.Held()[s.Path]; held && holds(h, textOf(s)) {
		return f.verdicts.HeldAt(s.Path)
	}
	digest := f.of(s)
	v, found, err = f.verdicts.Get(digest)
	return v.Accept(f.verdicts.Accepted(s.Path, digest)), found, err
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
