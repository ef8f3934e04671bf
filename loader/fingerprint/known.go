package fingerprint

import (
	"cmp"
	"hash/maphash"
	"slices"
	"time"

	"pannier"
	"pannier/internal/fsx"
)

// Known is what is known of the files of a skill directory by their stats. It is immutable. A file takes 40 bytes,
// whatever its path.
type Known struct{ files []knownFile } // by mark

type knownFile struct {
	mark    uint64
	content pannier.Digest
}

// seed is that of all marks of this process, so that two stats with one mark cannot be made.
var seed = maphash.MakeSeed()

// markOf returns the mark of a file in a state, and whether an equal one, seen later, proves that nothing changed since
// the look at that time.
func markOf(path string, s fsx.Stamp, scan time.Time) (mark uint64, proves bool) {
	return maphash.Comparable(seed, struct {
		fsx.Stamp
		path string
	}{s, path}), !s.WithinRacyWindow(scan)
}

// content returns what is known of a mark.
func (k *Known) content(mark uint64) (pannier.Digest, bool) {
	if k == nil {
		return pannier.Digest{}, false
	}
	i, ok := slices.BinarySearchFunc(k.files, mark, func(f knownFile, mark uint64) int { return cmp.Compare(f.mark, mark) })
	if !ok {
		return pannier.Digest{}, false
	}
	return k.files[i].content, true
}
