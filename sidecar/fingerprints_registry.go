package sidecar

import (
	"maps"
	"os"
	"slices"
	"time"

	"pannier"
	"pannier/registry"
)

// maxBlocked bounds the directories that are presumed to be blocked, though no skill lies there now.
const maxBlocked = 10_000

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
		f.dirty.verdicts = f.dirty.verdicts || !known || !there || holds(h, was) != holds(h, textOf(now))
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
	if len(f.dirty.shown) > 0 {
		f.showLocked()
	}
	if judged = f.dirty.verdicts || len(f.dirty.scanned) > 0; !judged && !f.dirty.contents {
		return f.registry.Current(), false
	}
	if judged {
		f.dirty.verdicts, f.judgedAt = false, time.Now()
		f.dropLocked()
	}
	f.judgeAnewLocked()
	return f.registry.Rejudge(), judged
}

// judgeAnewLocked publishes the judge that knows what is known now.
func (f *fingerprints) judgeAnewLocked() {
	j := filesJudge{f.rulesLocked(), f.scannedLocked(), f.contentsLocked()}
	f.judge.Store(&registry.Judge{Version: f.judge.Load().Version + 1, Of: j.of})
}

// filesJudge judges by what is known of the files of skills, by path.
type filesJudge struct {
	rules    map[string][]string         // that block
	scanned  map[string]pannier.Digest   // the Sum of each skill whose content has a verdict; nil where scans are not enforced
	contents map[string]pannier.Contents // may be those of a moment ago
}

// of leaves out contents of another SKILL.md. Where scans are enforced, a skill without a verdict is pending.
func (j filesJudge) of(s *pannier.Skill) (known registry.Judgement) {
	if found, ok := j.contents[s.Path]; ok && !found.Digest.IsZero() && (found.Of.IsZero() || found.Of == s.Digest) {
		known.Found = &found
	}
	for _, rule := range j.rules[s.Path] {
		known.Reasons = append(known.Reasons, pannier.Reason{
			Code: pannier.ReasonSecurityBlocked, Subject: rule,
			Remedy: "check what `pannier scan` reports, remove or replace the file, and scan again",
		})
	}
	if of, scanned := j.scanned[s.Path]; j.scanned != nil && len(known.Reasons) == 0 && (!scanned || of != s.Sum) {
		known.Reasons = []pannier.Reason{{
			Code: pannier.ReasonSecurityPending, Subject: "not scanned yet",
			Remedy: "wait for the background scan of its newest content, or run `pannier scan " + s.Slug + "`; health shows what keeps skills from being scanned",
		}}
	}
	return known
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
	if len(f.dirty.scanned) == 0 {
		return f.scanned
	}
	f.scanned = maps.Clone(f.scanned)
	for path := range f.dirty.scanned {
		delete(f.scanned, path)
		if d := f.directories[path]; d != nil {
			if _, scanned := f.verdicts.Summary(d.digest); scanned {
				f.scanned[path] = d.of
			}
		}
	}
	clear(f.dirty.scanned)
	return f.scanned
}

// dropPathLocked drops what is known of the files in a directory.
func (f *fingerprints) dropPathLocked(path string) {
	d := f.directories[path]
	if d == nil {
		return
	}
	delete(f.directories, path)
	f.dirty.shown[path], f.dirty.deepDirs = true, f.dirty.deepDirs || len(d.dirs) > 0
	f.dirty.contents = f.dirty.contents || d.contents != nil
	if _, cleared := f.scanned[path]; cleared {
		f.dirty.scanned[path] = true
	}
}

// dropLocked forgets, where there are too many, what is presumed of directories in which there is no skill now.
func (f *fingerprints) dropLocked() {
	if len(f.blocked) > maxBlocked {
		maps.DeleteFunc(f.blocked, func(path string, _ verdict) bool { return f.directories[path] == nil })
	}
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
