package fsx

import (
	"fmt"
	"io/fs"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// asDirectory are the flags of an open call that fails at once for anything that is not a directory.
const asDirectory = os.O_RDONLY | unix.O_DIRECTORY | unix.O_NONBLOCK

// OpenDir opens a directory as [os.Open] does, but does not wait for the writer of a FIFO in its place: that is an
// error, as for any other file.
func OpenDir(dir string) (*os.File, error) { return os.OpenFile(dir, asDirectory, 0) }

// OpenRoot opens a directory as [os.OpenRoot] does, but waits as little as [OpenDir].
func OpenRoot(dir string) (*os.Root, error) {
	f, err := OpenDir(dir)
	return rootOf(f, err, func() (*os.Root, error) { return os.OpenRoot(dir) })
}

// OpenRootIn opens a directory below a parent as [os.Root.OpenRoot] does, and does not wait either.
func OpenRootIn(parent *os.Root, name string) (*os.Root, error) {
	f, err := parent.OpenFile(name, asDirectory, 0)
	return rootOf(f, err, func() (*os.Root, error) { return parent.OpenRoot(name) })
}

// rootOf returns the root of an open directory, which it closes. On Linux the directory is reopened by its descriptor,
// which no rename can interfere with; elsewhere it is reopened by its name, and compared.
func rootOf(f *os.File, err error, again func() (*os.Root, error)) (*os.Root, error) {
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if runtime.GOOS == "linux" {
		return reopen(int(f.Fd()))
	}
	root, err := again()
	if err != nil {
		return nil, err
	}
	opened, err := f.Stat()
	if err == nil {
		var now fs.FileInfo
		if now, err = root.Stat("."); err == nil && !os.SameFile(opened, now) {
			err = &fs.PathError{Op: "open", Path: f.Name(), Err: unix.ENOTDIR}
		}
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

// reopen returns the root of an open directory. It is for Linux.
func reopen(fd int) (*os.Root, error) { return os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", fd)) }
