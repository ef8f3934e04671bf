package sidecar

import (
	"maps"
	"time"

	"pannier"
	"pannier/loader/fingerprint"
)

// shownFingerprints is what the API shows. It is never changed.
type shownFingerprints struct {
	generation uint64
	byPath     [shownShards]map[string]*shownFingerprint
}

// shownShards is how many maps hold what is shown, so that a change copies only one of them.
const shownShards = 256

func (s *shownFingerprints) get(path string) *shownFingerprint { return s.byPath[shardOf(path)][path] }

// shardOf returns the number of the map that has a path (FNV-1a).
func shardOf(path string) uint8 {
	h := uint32(2166136261)
	for i := range len(path) {
		h = (h ^ uint32(path[i])) * 16777619
	}
	return uint8(h ^ h>>8 ^ h>>16 ^ h>>24)
}

type shownFingerprint struct {
	digest, of pannier.Digest
	parts      fingerprint.Parts
	scan       *pannier.ScanSummary // of digest, or held of the place; nil where there is none
	trouble    string
}

func (f *fingerprints) showLocked() {
	next := *f.shown.Load()
	next.generation++
	copied := map[uint8]bool{}
	for path := range f.dirty.shown {
		i := shardOf(path)
		if !copied[i] {
			copied[i] = true
			if next.byPath[i] = maps.Clone(next.byPath[i]); next.byPath[i] == nil {
				next.byPath[i] = map[string]*shownFingerprint{}
			}
		}
		if d := f.directories[path]; d != nil {
			next.byPath[i][path] = &shownFingerprint{d.digest, d.of, d.parts, f.summaryLocked(path, d), d.trouble}
		} else {
			delete(next.byPath[i], path)
		}
	}
	f.shownAt = time.Now()
	clear(f.dirty.shown)
	f.shown.Store(&next)
}
