package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// ErrGone says that the directory of a store no longer leads to the files that the store has open. The kernel writes to
// those all the same, and the next process does not find it.
var ErrGone = errors.New("the state directory was deleted, moved away or replaced")

// InPlace fails with [ErrGone] unless a process that opens the directory now would find what is put. It asks the disk,
// and so takes as long as the disk does. Nothing is wrong with a store in memory, nor with one that is closed, or whose
// disk does not say.
func (s *Store) InPlace() error { return s.engine.inPlace() }

// placeOf fails unless the paths of open files lead to them.
func placeOf(files ...*os.File) error {
	for _, f := range files {
		if f == nil {
			continue
		}
		open, err := f.Stat()
		if err != nil {
			continue
		}
		there, err := os.Stat(f.Name())
		gone := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
		if gone || err == nil && !os.SameFile(open, there) { // as long as a file is open, no other one has its inode
			return fmt.Errorf("%w: %s is not the file that is open", ErrGone, f.Name())
		}
	}
	return nil
}
