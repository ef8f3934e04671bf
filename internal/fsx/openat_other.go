//go:build !linux

package fsx

import "golang.org/x/sys/unix"

// OpenAt is not supported here: the caller opens the file through an [os.Root].
func OpenAt(int, string) (int, error) { return -1, unix.ENOSYS }
