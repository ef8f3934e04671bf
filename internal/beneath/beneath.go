// Package beneath opens directories as an [os.Root], and never waits for it.
//
// [os.OpenRoot] and [os.Root.OpenRoot] wait for a writer where a FIFO lies in the place of the directory. Whoever may write
// beside the skills could so stop every look at them for good. Here that is an error, as it is for any other file.
package beneath

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// asDirectory are the flags of an open that fails at once for whatever is no directory.
const asDirectory = os.O_RDONLY | unix.O_DIRECTORY | unix.O_NONBLOCK

// Open opens a directory as [os.OpenRoot] does.
func Open(dir string) (*os.Root, error) {
	f, err := os.OpenFile(dir, asDirectory, 0)
	return rootOf(f, err)
}

// OpenIn opens a directory beneath a parent as [os.Root.OpenRoot] does.
func OpenIn(parent *os.Root, name string) (*os.Root, error) {
	f, err := parent.OpenFile(name, asDirectory, 0)
	return rootOf(f, err)
}

// rootOf returns the root of an open directory, which it closes. It is opened once more by its descriptor: whatever has
// taken the place of its name meanwhile, this is the directory that was found.
func rootOf(f *os.File, err error) (*os.Root, error) {
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
}
