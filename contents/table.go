package contents

import (
	"iter"
	"maps"

	"pannier"
	"pannier/loader/fingerprint"
)

// Content is what is known of the files of a skill. It is never changed.
//
//	New               found and block alone, as the process before left them
//	record            files, fingerprint, parts, verdict and block, after the files were read
//	readFound         found, if the fingerprint is another one
//	judgeAgainLocked  verdict and block, after a scan of the fingerprint
//	dropLocked        the block alone, once the skill is gone or shadowed
type Content struct {
	// Of is the Sum of the skill whose files were read last.
	Of pannier.Digest
	// Fingerprint is zero where none could be computed. Trouble says why; it is empty while the files change.
	Fingerprint pannier.Digest
	Trouble     string
	Parts       fingerprint.Parts
	// Scan is what the last scan found of the fingerprint; nil for none.
	Scan *pannier.ScanSummary

	block
	found    found
	watch    watched
	ticket   uint64 // of the computation that read the files; 0 where none did
	since    uint64 // the ticket of the first one with this fingerprint
	searched bool   // found is of the fingerprint
	files    *fingerprint.Known
}

// LinkedOut reports whether the SKILL.md of the skill is a link that leads to no file of the skill.
func (c *Content) LinkedOut(s *pannier.Skill) bool {
	return c.Parts.LinkedOut == s.File && s.File != ""
}

// block is why a directory is blocked. After a start, it is presumed that the directory still has the fingerprint.
type block struct {
	fingerprint pannier.Digest
	rules       []string // none where it is not blocked
}

// found is what was found in the files of a skill; nil for nothing. What an earlier process found counts for that
// SKILL.md alone.
type found struct {
	*pannier.Contents
	restored bool
}

func (f found) equal(o found) bool {
	a, b := f.Contents, o.Contents
	return a == b || a != nil && b != nil && a.Digest == b.Digest && a.Of == b.Of
}

// table has all contents at one time, by the paths of skills. It is never changed.
type table struct {
	version uint64 // another one where anything differs that is not private to this package
	held    map[string]PathVerdict
	shards  [shardCount]map[string]*Content
}

// shardCount is how many maps a table has, so that a change copies only one of them.
const shardCount = 256

// shardOf returns the number of the map that has a path (FNV-1a).
func shardOf(path string) uint8 {
	h := uint32(2166136261)
	for i := range len(path) {
		h = (h ^ uint32(path[i])) * 16777619
	}
	return uint8(h ^ h>>8 ^ h>>16 ^ h>>24)
}

// get returns nil where nothing is known.
func (t *table) get(path string) *Content { return t.shards[shardOf(path)][path] }

func (t *table) all() iter.Seq2[string, *Content] {
	return func(yield func(string, *Content) bool) {
		for _, shard := range t.shards {
			for path, c := range shard {
				if !yield(path, c) {
					return
				}
			}
		}
	}
}

// with returns a table with changes; nil removes what is known of a path.
func (t *table) with(changes map[string]*Content) *table {
	next, copied := *t, [shardCount]bool{}
	for path, c := range changes {
		i := shardOf(path)
		if !copied[i] {
			copied[i] = true
			if next.shards[i] = maps.Clone(next.shards[i]); next.shards[i] == nil {
				next.shards[i] = map[string]*Content{}
			}
		}
		if c == nil {
			delete(next.shards[i], path)
		} else {
			next.shards[i][path] = c
		}
	}
	return &next
}
