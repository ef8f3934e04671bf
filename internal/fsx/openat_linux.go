package fsx

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// OpenAt opens a file below an open directory for reading and returns its descriptor. The kernel keeps it below the
// directory in one step (openat2(2), RESOLVE_BENEATH), which costs a third of what [os.Root] needs to do the same
// component by component. The caller leaves what the kernel refuses or does not know to os.Root, so that one set of
// rules decides.
func OpenAt(dir int, name string) (int, error) {
	return unix.Openat2(dir, name, &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC | unix.O_NOCTTY,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS,
	})
}

// openWithoutLinks opens a directory, on whose path there are no symlinks, to look names up in it (O_PATH). A kernel
// without openat2(2) checks the last name only.
func openWithoutLinks(dir int, name string) (*os.File, error) {
	var fd int
	err := retryEINTR(func() (err error) {
		fd, err = unix.Openat2(dir, name, &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
		if errors.Is(err, unix.EAGAIN) {
			return unix.EINTR // a rename elsewhere; openat2(2) says to try again
		}
		return err
	})
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		fd, err = unix.Openat(dir, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}
