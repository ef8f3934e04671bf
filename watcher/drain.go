package watcher

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"pannier"
)

// drain reads the backend until both of its channels are closed. The backend sends on them from one goroutine, so neither
// may be left waiting for the other.
func (w *Watcher) drain(b backend) {
	events, errs := b.Events(), b.Errors()
	for events != nil || errs != nil {
		select {
		case event, ok := <-events:
			if !ok {
				events = nil
				continue
			}
			w.noticeEvent(event)
		case err, ok := <-errs:
			if !ok {
				errs = nil
				continue
			}
			w.noticeError(err)
		}
	}
	w.noticeEnd(b)
}

// noticeError marks everything. After an overflow everything is armed anew besides; after other errors, which fsnotify
// reports when a directory is renamed and removed at once, only the resync compares the watches.
func (w *Watcher) noticeError(err error) {
	w.metrics.errors.WithLabelValues(kindOf(err)).Inc()
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.signal()
	w.todo.err = err
	if errors.Is(err, fsnotify.ErrEventOverflow) {
		w.todo.rearm = true
		return
	}
	w.ledger.pending.all(pannier.TriggerError, time.Now())
}

// noticeClock asks for a resync after a jump of the clock.
func (w *Watcher) noticeClock() {
	w.log.Info("the clock was set, or the machine has slept, so everything is compared")
	w.mu.Lock()
	defer w.mu.Unlock()
	w.todo.jumped = true
	w.signal()
}

// noticeNoClock tells that nothing tells of such jumps.
func (w *Watcher) noticeNoClock(err error) {
	w.log.Warn("jumps of the clock are not noticed, so what happens with them waits for the next resync", "error", err)
}

// noticeEnd tells Run if the backend ended although nobody closed it.
func (w *Watcher) noticeEnd(b backend) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.backend == b {
		w.todo.deaf = true
		w.signal()
	}
}

// noticeEvent marks what an event concerns. The kind of the event matters only where a watch ends with it.
func (w *Watcher) noticeEvent(event fsnotify.Event) {
	if event.Name == "" { // of a watch that has just ended
		return
	}
	w.metrics.events.Inc()
	path, now := filepath.Clean(event.Name), time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.noticeLocked(path, event.Has(fsnotify.Remove) || event.Has(fsnotify.Rename), now)
}

// noticeLocked marks what a change at path concerns. ended says that what was there is not there any more.
func (w *Watcher) noticeLocked(path string, ended bool, now time.Time) {
	self := w.noticeSelf(path, ended, now)
	entry := w.noticeEntry(path, now)
	onWay := w.noticeWays(path)
	if self || entry || onWay {
		w.signal()
	}
}

// noticeWays notes that something on the way to a place or to what is wanted changed. It reports whether it did.
func (w *Watcher) noticeWays(path string) bool {
	_, toPlace := w.entries[path]
	_, toWanted := w.wishes.entries[path]
	w.todo.ways = w.todo.ways || toPlace
	if toWanted {
		put(&w.todo.turned, path)
	}
	return toPlace || toWanted
}

// noticeSelf marks a watched directory that an event is about. It reports whether it matters.
func (w *Watcher) noticeSelf(path string, ended bool, now time.Time) bool {
	self := w.table.byPath[path]
	if self == nil {
		return false
	}
	if ended {
		put(&w.todo.gone, path)
	}
	counts := self.has(roleTree | roleExtra)
	if counts {
		w.markLocked(path, now)
	}
	return ended || counts
}

// noticeEntry marks the watched directory that holds the entry that an event is about. It reports whether it matters.
func (w *Watcher) noticeEntry(path string, now time.Time) bool {
	dir, name := w.table.parentOf(path), filepath.Base(path)
	if dir == nil || !w.counts(dir, path, name) {
		return false
	}
	w.markLocked(dir.path, now)
	switch {
	case !dir.has(roleReached):
	case pannier.IsSkillFile(name):
		put(&w.todo.relist, dir.path)
	case dir.entered():
		w.todo.look(path)
	}
	return true
}

// counts reports whether an entry of a watched directory matters.
func (w *Watcher) counts(dir *watch, path, name string) bool {
	switch {
	case dir.has(roleTree | roleExtra):
		return true
	case dir.has(roleProbe) && pannier.IsSkillFile(name):
		return true
	case dir.has(roleWorkspace):
		_, onWay := w.entries[path]
		return onWay || ofWorkspace(name, w.wanted.Entries)
	}
	return false
}

// ofWorkspace reports whether an entry right in the workspace matters by its name, where those that are named do.
func ofWorkspace(name string, named []string) bool {
	return name == pannier.WorkspaceFile || strings.HasPrefix(name, "..") || slices.Contains(named, name)
}

// markLocked marks the directory at a path without links by every name that the consumer has for it.
func (w *Watcher) markLocked(path string, now time.Time) {
	for _, name := range w.namesLocked(path) {
		w.ledger.pending.dirty(name, now)
	}
}

// checkLocked marks it as one to be looked at although nothing was noticed in it.
func (w *Watcher) checkLocked(path string, now time.Time) {
	for _, name := range w.namesLocked(path) {
		w.ledger.pending.check(name, now)
	}
}

// namesLocked returns the names of a path without links: below each root that leads there, and as the consumer wants it.
func (w *Watcher) namesLocked(path string) []string {
	var names []string
	for _, p := range w.places {
		if rest, ok := p.holds(path); ok {
			names = append(names, p.path+rest)
		}
	}
	names = append(names, w.wishes.names[path]...)
	if names == nil {
		return []string{path}
	}
	return names
}
