package loader

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// fileStat is what tells one state of a file from another without reading it.
type fileStat struct {
	dev, ino     uint64
	size         int64
	mtime, ctime int64 // unix nanoseconds
	mode         uint32
}

// statAt returns the stat of a path below an open directory, of a link that of the link itself. It opens nothing.
func statAt(dir int, path string) (fileStat, error) {
	var st unix.Stat_t
	for {
		err := unix.Fstatat(dir, path, &st, unix.AT_SYMLINK_NOFOLLOW)
		if err == unix.EINTR {
			continue
		}
		return newFileStat(&st), err
	}
}

// statOpen returns the stat of an open file.
func statOpen(fd int) (fileStat, error) {
	var st unix.Stat_t
	for {
		err := unix.Fstat(fd, &st)
		if err == unix.EINTR {
			continue
		}
		return newFileStat(&st), err
	}
}

func newFileStat(st *unix.Stat_t) fileStat {
	return fileStat{
		dev: uint64(st.Dev), ino: st.Ino, size: st.Size, mode: uint32(st.Mode),
		mtime: st.Mtim.Nano(), ctime: st.Ctim.Nano(),
	}
}

func (s fileStat) kind() uint32    { return s.mode & unix.S_IFMT }
func (s fileStat) isRegular() bool { return s.kind() == unix.S_IFREG }
func (s fileStat) isDir() bool     { return s.kind() == unix.S_IFDIR }
func (s fileStat) isLink() bool    { return s.kind() == unix.S_IFLNK }

// proves reports whether an equal stat, taken later, proves that nothing changed since the look at that time. The stat of
// a link that leads nowhere tells nothing of the way there.
func (s fileStat) proves(look time.Time) bool {
	edge := look.Add(-racyWindow).UnixNano()
	return s.mtime < edge && s.ctime < edge && !s.isLink()
}

// contentInterval is how often a full load reads every file again, however its stat is: a write through a mapping need not move
// that, nor one of a file server whose clock stands still.
const contentInterval = 5 * time.Minute

// renamedSince reports whether the directory itself was renamed, or its mode changed, since that look, and its entries
// were not.
func (s fileStat) renamedSince(before fileStat) bool {
	return s.ctime != before.ctime && s.mtime == before.mtime
}

// what names a kind of file for people.
func (s fileStat) what() string {
	switch s.kind() {
	case unix.S_IFDIR:
		return "a directory"
	case unix.S_IFIFO:
		return "a FIFO"
	case unix.S_IFSOCK:
		return "a socket"
	case unix.S_IFBLK, unix.S_IFCHR:
		return "a device"
	case unix.S_IFLNK:
		return "a link"
	}
	return "no regular file"
}

// unixStat is what [os.FileInfo.Sys] returns here.
type unixStat = syscall.Stat_t

func fromSys(st *unixStat) fileStat {
	return fileStat{
		dev: uint64(st.Dev), ino: st.Ino, size: st.Size, mode: uint32(st.Mode),
		mtime: st.Mtim.Nano(), ctime: st.Ctim.Nano(),
	}
}
