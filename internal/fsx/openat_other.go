//go:build !linux

package fsx

import (
	"os"

	"golang.org/x/sys/unix"
)

// OpenAt is not supported here: the caller opens the file through an [os.Root].
func OpenAt(int, string) (int, error) { return -1, unix.ENOSYS }

// openWithoutLinks opens a directory whose last name is not a symlink.
func openWithoutLinks(dir int, name string) (*os.File, error) {
	fd, err := unix.Openat(dir, name, asDirectory|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}
