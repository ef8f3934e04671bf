package watcher

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/fsnotify/fsnotify"
)

// errSameDirectory is why a directory is not armed that is watched by another path, as a bind mount makes it.
var errSameDirectory = errors.New("it is the same directory as another one that is watched")

// gone reports whether err says no more than that a directory is not there. That is not a failure of watching: what holds
// the directory is watched, so its return is noticed.
func gone(err error) bool {
	return err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// kindOf returns the label that an error is counted under.
func kindOf(err error) string {
	switch {
	case errors.Is(err, fsnotify.ErrEventOverflow):
		return kindOverflow
	case errors.Is(err, syscall.ENOSPC):
		return kindENOSPC
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return kindEMFILE
	}
	return kindOther
}

// advice says what a person can do about an error.
func advice(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return "raise the sysctl fs.inotify.max_user_watches"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "raise the sysctl fs.inotify.max_user_instances, and the limit of open files (ulimit -n)"
	case errors.Is(err, fs.ErrPermission):
		return "let the user that pannier runs as read it, and enter the directories above it"
	case errors.Is(err, errSameDirectory):
		return "list one of the two only"
	case errors.Is(err, syscall.ESTALE), errors.Is(err, syscall.ENOTCONN), errors.Is(err, syscall.EIO), errors.Is(err, syscall.ETIMEDOUT):
		return "check that the network mount is still mounted"
	}
	return "check the kernel log (dmesg)"
}

// failures are the directories that cannot be watched, or not be read, by path. The empty path stands for the kernel as
// a whole. A directory that is polled because the kernel refuses it is none of them.
type failures map[string]error

// limited reports whether err says that something is used up, which the next directory would miss as well.
func limited(err error) bool {
	return kindOf(err) == kindENOSPC || kindOf(err) == kindEMFILE || errors.Is(err, syscall.ENOMEM)
}

// fail remembers that the directory at path could not be armed or read. It is tried again later.
func (w *Watcher) fail(path string, err error) {
	if gone(err) {
		w.clearFailure(path)
		return
	}
	w.metrics.errors.WithLabelValues(kindOf(err)).Inc()
	w.failed[path] = err
	w.changed = true
}

// clearFailure forgets that.
func (w *Watcher) clearFailure(path string) {
	if _, failed := w.failed[path]; failed {
		delete(w.failed, path)
		w.changed = true
	}
}
