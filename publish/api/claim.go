package api

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// claim is the right to listen on a path, held from before the look at what lies there until the socket is gone. Without
// it, of two processes that find the same stale file, the second would remove the socket that the first has just made.
//
// The claim is the lock on a file. The kernel drops it with the process, so a file that a killed process left behind
// claims nothing.
type claim struct {
	file *os.File
	name string
}

// stake takes the claim, or fails with [ErrInUse] where another holds it.
func stake(name string) (*claim, error) {
	for {
		file, err := os.OpenFile(name, os.O_RDONLY|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
		if err != nil {
			return nil, err
		}
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil && lies(file, name) {
			// The umask may have taken away what the next process needs for finding out that it is locked.
			_ = file.Chmod(0o600) // which fails for the file that another user's process left; it can be opened as it is
			return &claim{file, name}, nil
		}
		file.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, ErrInUse
		}
		if err != nil {
			return nil, &fs.PathError{Op: "lock", Path: name, Err: err}
		}
		// The last holder removed the file after it was opened here: what is locked, nobody else will find.
	}
}

// lies reports whether an open file is the one with that name.
func lies(file *os.File, name string) bool {
	held, err := file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(name)
	return err == nil && os.SameFile(held, named)
}

// release gives the claim up. The file goes first, so that a process of another user can make its own; one that somebody
// has put in its place stays.
func (c *claim) release() {
	if lies(c.file, c.name) {
		os.Remove(c.name)
	}
	c.file.Close()
}
