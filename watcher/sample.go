package watcher

import (
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"pannier/internal/fsx"
)

// stamp is what polling sees at a path, of a symlink that of the symlink itself. The zero value is that of nothing.
type stamp struct {
	fsx.Stamp
	err unix.Errno // why there is no stamp
}

// stampOf returns the stamp of what is at a path.
func stampOf(path string) stamp {
	s, err := fsx.Lstat(path)
	if errno, failed := errors.AsType[unix.Errno](err); failed {
		return stamp{err: errno}
	}
	return stamp{Stamp: s}
}

// fault returns why there is no directory with that stamp, or nil.
func (s stamp) fault() error {
	switch {
	case s.err != 0:
		return s.err
	case !s.IsDir():
		return unix.ENOTDIR
	}
	return nil
}

// withinRacyWindow reports whether what has that stamp may change at that time without another stamp.
func (s stamp) withinRacyWindow(at time.Time) bool { return s.err == 0 && s.WithinRacyWindow(at) }

// file is a file that matters in a polled directory.
type file struct {
	path  string
	stamp stamp
}

// difference says in what a directory is another than before: in itself, so that entries may have come, gone or been
// renamed, in the names of the directories and links in it or in who may read it, or in the files that matter in it.
type difference struct{ dir, entries, files bool }

func (d difference) any() bool { return d.dir || d.entries || d.files }

func (d difference) and(other difference) difference {
	return difference{d.dir || other.dir, d.entries || other.entries, d.files || other.files}
}

// sample is what polling saw of a directory. It does no I/O and knows no clock.
type sample struct {
	dir   stamp
	files []file // that matter, by path
	// entries is the sum of the names of all directories and links in it.
	entries uint64
	stale   bool // other files may matter by now
	// pending is a difference that is reported once more at the time of again. The stat may have stayed the same since while what
	// it is of did not.
	pending difference
	again   time.Time
}

// begin makes the first sample the one to compare with.
func (s *sample) begin(first sample, at time.Time) {
	*s = first
	racy := func(f file) bool { return f.stamp.withinRacyWindow(at) }
	s.scheduleRecheck(difference{dir: first.dir.withinRacyWindow(at), files: slices.ContainsFunc(first.files, racy)}, at)
}

// due reports whether the time has come to report a difference once more.
func (s *sample) due(at time.Time) bool { return s.pending.any() && !at.Before(s.again) }

// update compares with what is seen now, and goes on from there. It copies the files, and only where they differ. again says that
// nothing differs that was not reported before.
func (s *sample) update(now sample, at time.Time) (told difference, again bool) {
	access := now.dir.Mode != s.dir.Mode || now.dir.err != s.dir.err
	d := difference{dir: now.dir != s.dir, entries: now.entries != s.entries || access, files: !slices.Equal(now.files, s.files)}
	s.dir, s.entries, s.stale = now.dir, now.entries, now.stale
	if d.files {
		s.files = slices.Clone(now.files)
	}
	told = d
	if s.due(at) {
		told, s.pending = d.and(s.pending), difference{}
	}
	s.scheduleRecheck(d, at)
	return told, !d.any()
}

func (s *sample) scheduleRecheck(d difference, at time.Time) {
	if d.any() {
		s.pending, s.again = s.pending.and(d), at.Add(fsx.RacyWindow)
	}
}
