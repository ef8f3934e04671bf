package watcher

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"syscall"

	"github.com/fsnotify/fsnotify"
)

// errSameDirectory is why a directory is not armed that is watched by another path, as a bind mount makes it.
var errSameDirectory = errors.New("it is the same directory as another one that is watched")

// gone reports whether err says no more than that a directory is not there. That is no failure of watching: what holds
// the directory is watched, and tells when it comes back.
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
	}
	return "look into the log of the kernel"
}

// failures are the directories that can not be watched, by path. The empty path stands for watching as a whole.
type failures map[string]error

// problem returns one sentence on what is wrong and what to do, or nothing.
func (f failures) problem() string {
	if len(f) == 0 {
		return ""
	}
	path := slices.Min(slices.Collect(maps.Keys(f)))
	text := describe(path, f[path])
	if more := len(f) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

func describe(path string, err error) string {
	subject := "watch " + path
	if path == "" {
		subject = "watch anything"
	}
	return fmt.Sprintf("can not %s: %v; %s; until then changes are found at each resync", subject, err, advice(err))
}

// fail remembers that the directory at path could not be armed. It is tried again at each resync.
func (w *Watcher) fail(path string, err error) {
	if gone(err) {
		w.mend(path)
		return
	}
	w.metrics.errors.WithLabelValues(kindOf(err)).Inc()
	w.failed[path] = err
	w.changed = true
	w.warnOnce(kindOf(err)+advice(err), describe(path, err))
}

// mend forgets that.
func (w *Watcher) mend(path string) {
	if _, failed := w.failed[path]; failed {
		delete(w.failed, path)
		w.changed = true
	}
}

// warnOnce logs a cause once until everything works again, because one cause can concern thousands of directories.
func (w *Watcher) warnOnce(cause, message string) {
	if !w.warned[cause] {
		w.warned[cause] = true
		w.log.Warn(message)
	}
}
