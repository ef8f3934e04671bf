package watcher

import (
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// racyWindow is how long after a change another one can leave the stat as it is: clocks of file systems are coarse, and
// some count in steps of two seconds.
const racyWindow = 2 * time.Second

// stamp tells one state of a file or a directory from another without reading it. The zero value is that of nothing.
type stamp struct {
	id           fileID
	size         int64
	mtime, ctime int64 // unix nanoseconds
	mode         uint32
	err          unix.Errno // why there is nothing else
}

// stampOf returns the stamp of what is at path, of a link that of the link itself: to follow one could lead onto a file
// system that does not answer.
func stampOf(path string) stamp {
	var st unix.Stat_t
	for {
		err := unix.Lstat(path, &st)
		if err == unix.EINTR {
			continue
		}
		if errno, failed := errors.AsType[unix.Errno](err); failed {
			return stamp{err: errno}
		}
		return stamp{
			id:   fileID{dev: uint64(st.Dev), ino: st.Ino},
			size: st.Size, mtime: st.Mtim.Nano(), ctime: st.Ctim.Nano(), mode: uint32(st.Mode),
		}
	}
}

// fault returns why there is no directory with that stamp, or nil.
func (s stamp) fault() error {
	switch {
	case s.err != 0:
		return s.err
	case s.mode&unix.S_IFMT != unix.S_IFDIR:
		return unix.ENOTDIR
	}
	return nil
}

// young reports whether what has that stamp may change at that time without another stamp. What lies in the future was
// stamped by another clock, of which nobody knows.
func (s stamp) young(at time.Time) bool {
	return s.err == 0 && max(s.mtime, s.ctime) > at.Add(-racyWindow).UnixNano()
}

// file is a file that matters in a polled directory.
type file struct {
	path  string
	stamp stamp
}

func (f file) young(at time.Time) bool { return f.stamp.young(at) }

// difference says in what a directory is another than before: in itself, so that entries may have come, gone or been
// renamed, in the names of the directories and links in it or in who may read it, or in the files that matter in it.
type difference struct{ dir, entries, files bool }

func (d difference) any() bool { return d.dir || d.entries || d.files }

func (d difference) and(other difference) difference {
	return difference{d.dir || other.dir, d.entries || other.entries, d.files || other.files}
}

// sighting is what polling saw of a directory. It does no I/O and knows no clock.
type sighting struct {
	dir   stamp
	files []file // that matter, by path
	// entries is the sum of the names of all directories and links in it.
	entries uint64
	stale   bool // other files may matter by now
	// owed is a difference that is told once more at the time of again. The stat may have stayed the same since while what
	// it is of did not.
	owed  difference
	again time.Time
}

// begin makes the first sighting the one to compare with.
func (s *sighting) begin(first sighting, at time.Time) {
	*s = first
	young := func(f file) bool { return f.young(at) }
	s.owe(difference{dir: first.dir.young(at), files: slices.ContainsFunc(first.files, young)}, at)
}

// ripe reports whether the time has come to tell a difference once more.
func (s *sighting) ripe(at time.Time) bool { return s.owed.any() && !at.Before(s.again) }

// take compares with what is seen now, and goes on from there. It copies the files, and only where they differ. again says that
// nothing differs that was not told before.
func (s *sighting) take(now sighting, at time.Time) (told difference, again bool) {
	access := now.dir.mode != s.dir.mode || now.dir.err != s.dir.err
	d := difference{dir: now.dir != s.dir, entries: now.entries != s.entries || access, files: !slices.Equal(now.files, s.files)}
	s.dir, s.entries, s.stale = now.dir, now.entries, now.stale
	if d.files {
		s.files = slices.Clone(now.files)
	}
	told = d
	if s.ripe(at) {
		told, s.owed = d.and(s.owed), difference{}
	}
	s.owe(d, at)
	return told, !d.any()
}

func (s *sighting) owe(d difference, at time.Time) {
	if d.any() {
		s.owed, s.again = s.owed.and(d), at.Add(racyWindow)
	}
}
