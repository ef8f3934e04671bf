package fsx

import (
	"io/fs"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// RacyWindow is how long after a change another change can leave the stat as it is: clocks of file systems are coarse,
// and the coarsest in use counts in steps of two seconds.
const RacyWindow = 2 * time.Second

// ContentInterval is for how long an equal stat is trusted at all: a write through a memory mapping need not change it,
// nor does one on a file server whose clock stands still.
const ContentInterval = 5 * time.Minute

// FileID identifies an inode, whatever path leads to it.
type FileID struct{ Dev, Ino uint64 }

// Stamp tells one state of a file or a directory from another without reading it. It is comparable; the zero value is
// the stamp of nothing. Equal stamps prove that nothing changed only where the earlier was not taken
// [Stamp.WithinRacyWindow].
type Stamp struct {
	FileID
	Size         int64
	MTime, CTime int64  // Unix nanoseconds
	Mode         uint32 // st_mode of stat(2)
}

// StampOf returns the stamp of a file by its stat, the zero value if the stat is not one of the system.
func StampOf(info fs.FileInfo) Stamp {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Stamp{}
	}
	mtime, ctime := statTimes(st)
	return Stamp{FileID: FileID{uint64(st.Dev), st.Ino}, Size: st.Size, MTime: mtime, CTime: ctime, Mode: uint32(st.Mode)}
}

// Lstat returns the stamp of what is at a path, of a symlink that of the symlink itself: the target may be on a file
// system that does not answer. Errors are of the type [unix.Errno].
func Lstat(path string) (Stamp, error) { return LstatAt(unix.AT_FDCWD, path) }

// LstatAt is [Lstat] for a path below an open directory.
func LstatAt(dir int, path string) (Stamp, error) {
	var st unix.Stat_t
	err := retryEINTR(func() error { return unix.Fstatat(dir, path, &st, unix.AT_SYMLINK_NOFOLLOW) })
	return stampOf(&st), err
}

// StatAt is [LstatAt] for what a symlink leads to.
func StatAt(dir int, path string) (Stamp, error) {
	var st unix.Stat_t
	err := retryEINTR(func() error { return unix.Fstatat(dir, path, &st, 0) })
	return stampOf(&st), err
}

// Fstat is [Lstat] for an open file.
func Fstat(fd int) (Stamp, error) {
	var st unix.Stat_t
	err := retryEINTR(func() error { return unix.Fstat(fd, &st) })
	return stampOf(&st), err
}

func stampOf(st *unix.Stat_t) Stamp {
	return Stamp{
		FileID: FileID{uint64(st.Dev), st.Ino}, Size: st.Size,
		MTime: st.Mtim.Nano(), CTime: st.Ctim.Nano(), Mode: uint32(st.Mode),
	}
}

func retryEINTR(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

// IsRegular reports whether the stamp is of a regular file.
func (s Stamp) IsRegular() bool { return s.kind() == unix.S_IFREG }

// IsDir reports whether the stamp is of a directory.
func (s Stamp) IsDir() bool { return s.kind() == unix.S_IFDIR }

// IsSymlink reports whether the stamp is of a symlink.
func (s Stamp) IsSymlink() bool { return s.kind() == unix.S_IFLNK }

func (s Stamp) kind() uint32 { return s.Mode & unix.S_IFMT }

// KindName names the kind of the file for messages.
func (s Stamp) KindName() string {
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

// WithinRacyWindow reports whether the file may change at that time, or have changed since, without another stamp. A
// stamp in the future is from another clock and proves nothing.
func (s Stamp) WithinRacyWindow(at time.Time) bool {
	return max(s.MTime, s.CTime) >= at.Add(-RacyWindow).UnixNano()
}
