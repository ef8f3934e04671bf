package fingerprint

import (
	"cmp"
	"hash/maphash"
	"slices"
	"time"

	"pannier"
	"pannier/internal/fsx"
)

// Known is what is known of the files of a skill directory by their stats. It is immutable. A file takes 40 bytes, whatever
// its path.
type Known struct{ files []knownFile } // by mark

type knownFile struct {
	mark    uint64
	content pannier.Digest
}

// seed is that of all marks of this process, so that two stats with one mark cannot be made.
var seed = maphash.MakeSeed()

// markOf returns the mark of a file in a state, and whether an equal one, seen later, proves that nothing changed since the
// look at that time.
func markOf(path string, s fsx.Stamp, scan time.Time) (mark uint64, proves bool) {
	return maphash.Comparable(seed, struct {
		fsx.Stamp
		path string
	}{s, path}), !s.WithinRacyWindow(scan)
}

func byMark(f knownFile, mark uint64) int { return cmp.Compare(f.mark, mark) }

// content returns what is known of a mark.
func (k *Known) content(mark uint64) (pannier.Digest, bool) {
	if k == nil {
		return pannier.Digest{}, false
	}
	i, ok := slices.BinarySearchFunc(k.files, mark, byMark)
	if !ok {
		return pannier.Digest{}, false
	}
	return k.files[i].content, true
}

// learned returns what is known now. Where not everything was looked at, what was known before may still hold.
func (w *walker) learned(whole bool) *Known {
	files := w.learnedFiles
	if !whole && w.known != nil {
		files = slices.Concat(files, w.known.files)
	}
	slices.SortStableFunc(files, func(a, b knownFile) int { return cmp.Compare(a.mark, b.mark) })
	files = slices.CompactFunc(files, func(a, b knownFile) bool { return a.mark == b.mark })
	return &Known{files: files[:min(len(files), 2*w.o.MaxEntries)]}
}
