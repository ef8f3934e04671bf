package api

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"pannier/internal/fsx"
)

// claim is the right to listen on a path, held from before the check of what lies there until the socket is gone.
// Without it, of two processes that find the same stale file, the second would remove the socket that the first has
// just made.
//
// The claim is the lock on a file. The kernel drops it with the process, so the file of a killed process
// claims nothing.
type claim struct {
	file *os.File
	name string
}

// acquire takes the claim, or fails with [ErrInUse] where another holds it.
func acquire(name string) (*claim, error) {
	for {
		// A file that is there keeps its mode: it may be another's.
		const flags = os.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK
		file, err := os.OpenFile(name, flags|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			if file, err = os.OpenFile(name, flags, 0); errors.Is(err, fs.ErrNotExist) {
				continue // its holder has just removed it
			}
		} else if err == nil {
			// The umask may have taken away what the next process needs for finding out that it is locked.
			err = file.Chmod(0o600)
		}
		if err != nil {
			return nil, err
		}
		held, err := fsx.TryLock(file)
		if held && isSameFile(file, name) {
			return &claim{file, name}, nil
		}
		file.Close()
		if err != nil {
			return nil, err
		}
		if !held {
			return nil, ErrInUse
		}
		// The last holder removed the file after it was opened here: the locked file has no name any more.
	}
}

func isSameFile(file *os.File, name string) bool {
	held, err := file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(name)
	return err == nil && os.SameFile(held, named)
}

// release gives the claim up. The file goes first, so that a process of another user can make its own; a file that
// replaced it stays.
func (c *claim) release() {
	if isSameFile(c.file, c.name) {
		os.Remove(c.name)
	}
	c.file.Close()
}
