package contents

import (
	"slices"

	"pannier"
	"pannier/registry"
)

// Judge returns what the published contents say of skills.
func (t *Tracker) Judge() registry.Judge { return t.published.Load().judge(t.o.Enforce) }

// judge returns what a table says of skills. With enforce, a skill whose present content has no verdict is pending.
func (t *table) judge(enforce bool) registry.Judge {
	return registry.Judge{Version: t.version, Of: func(s *pannier.Skill) (known registry.Judgement) {
		c := t.get(s.Path)
		if c == nil {
			c = &unknown
		}
		if f := c.found; f.Contents != nil && (!f.restored || f.Contents.Of == s.Digest) {
			known.Found = f.Contents // while a changed skill waits to be read, what was found before stays
		}
		rules := c.rules
		if h, held := t.held[s.Path]; held && h.counts(s) {
			rules = slices.Concat(rules, h.Rules)
			slices.Sort(rules)
			rules = slices.Compact(rules)
		}
		for _, rule := range rules {
			known.Reasons = append(known.Reasons, pannier.Reason{
				Code: pannier.ReasonSecurityBlocked, Subject: rule,
				Remedy: "check what `pannier scan` reports, remove or replace the file, and scan again",
			})
		}
		if enforce && len(rules) == 0 && (c.Scan == nil || c.Of != s.Sum) {
			known.Reasons = []pannier.Reason{{
				Code: pannier.ReasonSecurityPending, Subject: "not scanned yet",
				Remedy: "wait for the background scan of its newest content, or run `pannier scan " + s.Slug +
					"`; health shows what keeps skills from being scanned",
			}}
		}
		return known
	}}
}

// withVerdict returns a content with the verdict on its fingerprint. A directory without a fingerprint stays as it was
// judged last.
func (t *Tracker) withVerdict(path string, c Content) *Content {
	c.Scan = t.Scanned(path, c.Fingerprint)
	if !c.Fingerprint.IsZero() {
		c.block = t.blockOf(path, c.Fingerprint)
	}
	return &c
}

// blockOf returns the rules that block a fingerprint at a path. What a background scan found blocks only where scans
// are enforced. What is accepted at the path does not block.
func (t *Tracker) blockOf(path string, digest pannier.Digest) block {
	v, _ := t.o.Verdicts.Summary(digest)
	if !t.o.Enforce && !v.AlwaysBlocks() {
		return block{}
	}
	if rules, _ := splitAccepted(v.Blocking, t.o.Verdicts.Accepted(path, digest)); len(rules) > 0 {
		return block{digest, rules}
	}
	return block{}
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

// Scanned returns the result of the last scan of a fingerprint, with what is accepted of it at a path; nil for none.
func (t *Tracker) Scanned(path string, digest pannier.Digest) *pannier.ScanSummary {
	v, kept := t.o.Verdicts.Summary(digest)
	if !kept {
		return nil
	}
	sum := v.ScanSummary
	sum.Blocking, sum.Accepted = splitAccepted(v.Blocking, t.o.Verdicts.Accepted(path, digest))
	if sum.Decision == pannier.ScanBlock && len(sum.Blocking) == 0 && len(sum.Accepted) > 0 {
		sum.Decision = pannier.ScanWarn
	}
	return &sum
}

// Summary returns what the last scan found of a skill as the snapshot has it, nil where there is none: what is held of
// it, or else what is kept for its fingerprint.
func (t *Tracker) Summary(s *pannier.Skill) *pannier.ScanSummary {
	if h, held := t.published.Load().held[s.Path]; held && h.counts(s) {
		return &pannier.ScanSummary{
			Decision: pannier.ScanBlock, Origin: pannier.ScanExplicit, At: h.At, Findings: h.Findings, Blocking: h.Rules,
		}
	}
	return t.Known(s).Scan
}

// Verdict returns the same with the findings. It reads the state.
func (t *Tracker) Verdict(s *pannier.Skill) (v pannier.ScanVerdict, found bool, err error) {
	if h, held := t.o.Verdicts.PathVerdicts()[s.Path]; held && h.counts(s) {
		return t.o.Verdicts.VerdictAt(s.Path)
	}
	digest := t.Known(s).Fingerprint
	v, found, err = t.o.Verdicts.Get(digest)
	return v.Accept(t.o.Verdicts.Accepted(s.Path, digest)), found, err
}

// Apply judges by the newest verdict on a fingerprint and by what is held of a skill, and returns a snapshot that shows
// it. Without a fingerprint, what is held counts in the place of what was presumed.
func (t *Tracker) Apply(s *pannier.Skill, digest pannier.Digest) *pannier.Snapshot {
	t.mu.Lock()
	if c := t.getLocked(s.Path); digest.IsZero() && c != nil && c.Fingerprint.IsZero() && len(c.rules) > 0 {
		freed := *c
		freed.block = block{}
		t.putLocked(s.Path, &freed)
	}
	t.judgeAgainLocked(digest)
	t.mu.Unlock()
	t.publish()
	t.keepBlocked() // also where another caller has published
	return t.o.Registry.Rejudge()
}

// judgeAgainLocked judges the directories with a fingerprint by its newest verdict.
func (t *Tracker) judgeAgainLocked(digest pannier.Digest) {
	if digest.IsZero() {
		return
	}
	for path, c := range t.allLocked() {
		if c.Fingerprint == digest {
			t.putLocked(path, t.withVerdict(path, *c))
		}
	}
}
