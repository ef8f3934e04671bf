package fsx

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// ErrNotRegular says that something other than a regular file is at a path.
var ErrNotRegular = errors.New("is not a regular file")

// Cause returns an error of a file without the operation and the path, which its message has already.
func Cause(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err
	}
	return err
}

// OpenRegular opens a regular file for reading and returns its stat. It does not wait for the writer of a FIFO. flag is
// added to the flags of the open call: [unix.O_NOFOLLOW] refuses a symlink.
func OpenRegular(path string, flag int) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|flag, 0)
	return regular(f, err)
}

// OpenRegularIn is [OpenRegular] for a file below a root.
func OpenRegularIn(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	return regular(f, err)
}

func regular(f *os.File, err error) (*os.File, fs.FileInfo, error) {
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: f.Name(), Err: ErrNotRegular}
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// ReadRegular returns the content and the stat of a regular file. Of a file with more than limit bytes it returns the
// first limit+1, which the caller refuses in its own words. The flags are those of [OpenRegular].
func ReadRegular(path string, flag int, limit int64) ([]byte, fs.FileInfo, error) {
	f, info, err := OpenRegular(path, flag)
	return read(f, info, err, limit)
}

// ReadRegularIn is [ReadRegular] for a file below a root.
func ReadRegularIn(root *os.Root, name string, limit int64) ([]byte, fs.FileInfo, error) {
	f, info, err := OpenRegularIn(root, name)
	return read(f, info, err, limit)
}

// ReadEntryIn is [ReadRegularIn] for an entry that must not be a symlink: [ErrNotRegular].
func ReadEntryIn(root *os.Root, name string, limit int64) ([]byte, fs.FileInfo, error) {
	const tries = 4 // a file that is replaced atomically meanwhile is read again
	for range tries {
		entry, err := root.Lstat(name)
		if err != nil {
			return nil, nil, err
		}
		if !entry.Mode().IsRegular() {
			break
		}
		content, info, err := ReadRegularIn(root, name, limit)
		if err != nil || os.SameFile(entry, info) {
			return content, info, err
		}
	}
	return nil, nil, &fs.PathError{Op: "open", Path: root.Name() + "/" + name, Err: ErrNotRegular}
}

func read(f *os.File, info fs.FileInfo, err error, limit int64) ([]byte, fs.FileInfo, error) {
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	return content, info, err
}

// ReadAtMost returns the content of a file of any kind, such as a pipe, and fails where it has more than limit bytes.
func ReadAtMost(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = fmt.Errorf("%s has more than %d bytes", path, limit)
	}
	return content, err
}

// SyncDir makes the names in a directory survive a power cut. A file system that cannot sync a directory is not an
// error.
func SyncDir(dir string) error {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_NONBLOCK, 0)
	return syncDir(f, err)
}

// SyncDirIn is [SyncDir] for a directory below a root.
func SyncDirIn(root *os.Root, dir string) error {
	f, err := root.OpenFile(dir, os.O_RDONLY|unix.O_NONBLOCK, 0)
	return syncDir(f, err)
}

func syncDir(f *os.File, err error) error {
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, unix.EINVAL) {
		return err
	}
	return nil
}

// TryLock locks an open file exclusively and reports whether it did; false means that another open file holds the lock.
// The lock ends with [Unlock], or when the last copy of the descriptor is closed.
func TryLock(f *os.File) (bool, error) {
	err := lock(f, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// LockContext is [TryLock], and retries at an interval until ctx is done; then it returns the cause.
func LockContext(ctx context.Context, f *os.File, retry time.Duration) error {
	for {
		if held, err := TryLock(f); held || err != nil {
			return err
		}
		select {
		case <-time.After(retry):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Lock is [TryLock], and waits until the lock is released.
func Lock(f *os.File) error { return lock(f, unix.LOCK_EX) }

func lock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
		}
		return nil
	}
}

// Unlock releases the lock of a file and closes it. Closing alone is not enough while a child process that is being
// started has a copy of the descriptor.
func Unlock(f *os.File) {
	_ = unix.Flock(int(f.Fd()), unix.LOCK_UN)
	f.Close()
}
