package fingerprint

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"io/fs"
	"slices"
	"syscall"
	"time"

	"pannier"
)

// racyWindow is how long before a look a file may have changed so that its stat may stay the same when it changes again:
// the coarsest clock of a file system that is in use counts two seconds.
const racyWindow = 2 * time.Second

// Known is what is known of the files of a skill directory by their stats. It is immutable. A file takes 40 bytes, whatever
// its path.
type Known struct{ files []knownFile } // by mark

type knownFile struct {
	mark    uint64
	content pannier.Digest
}

// seed is that of all marks of this process, so that nobody can make two stats of one mark.
var seed = maphash.MakeSeed()

// markOf returns the mark of a file in a state, and whether an equal one, seen later, proves that nothing changed since the
// look at that time.
func markOf(path string, st *syscall.Stat_t, look time.Time) (mark uint64, proves bool) {
	b := make([]byte, 0, 64+len(path))
	for _, n := range []uint64{
		uint64(st.Dev), st.Ino, uint64(st.Size), uint64(st.Mode), uint64(st.Mtim.Nano()), uint64(st.Ctim.Nano()),
	} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	edge := look.Add(-racyWindow).UnixNano()
	return maphash.Bytes(seed, append(b, path...)), st.Mtim.Nano() < edge && st.Ctim.Nano() < edge
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

// statOf returns the system's own form of a stat.
func statOf(info fs.FileInfo) *syscall.Stat_t { return info.Sys().(*syscall.Stat_t) }

// sameState reports whether nothing has been done to a file between two stats.
func sameState(a, b *syscall.Stat_t) bool {
	return a.Dev == b.Dev && a.Ino == b.Ino && a.Size == b.Size && a.Mode == b.Mode && a.Mtim == b.Mtim && a.Ctim == b.Ctim
}
