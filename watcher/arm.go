package watcher

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"pannier/internal/fsx"
)

// errQueueClosed is why no event arrives after the backend ended without being closed.
var errQueueClosed = errors.New("the kernel's queue was closed")

// armable reports whether changes can be noticed at all.
func (w *Watcher) armable() bool { return w.backend != nil || w.mode.polls() }

// open opens the backend, where one is wanted, and starts to drain it. It reports whether there is one. What is polled
// stays polled.
func (w *Watcher) open() bool {
	if !w.mode.asks() {
		return false
	}
	b, err := w.openBackend()
	if err != nil {
		w.fail("", err)
		return false
	}
	w.clearFailure("")
	w.mu.Lock()
	w.backend = b
	w.mu.Unlock()
	w.changed = true
	w.drains.Go(func() { w.drain(b) })
	return true
}

// closeBackend closes the backend, waits for the drain goroutine, and forgets all watches, most of which ended with the
// backend.
func (w *Watcher) closeBackend() {
	b := w.backend
	// Most watches ended with the backend.
	w.mu.Lock()
	w.backend = nil
	w.todo.backendEnded = false // of the last one
	w.table = newTable()
	w.watchRequests = watchRequests{}
	for _, p := range w.places {
		p.chain, p.dirs, p.armed, p.crowded = symlinkChain{}, 0, false, false
	}
	w.changed = true
	w.mu.Unlock()
	if b == nil {
		return
	}
	if err := b.Close(); err != nil {
		w.log.Warn("close the kernel's queue", "error", err)
	}
	w.drains.Wait()
}

// arm makes sure that what is at path now is watched in a role, and returns its watch, or nil where that cannot be. fresh
// says that it had not that role before.
func (w *Watcher) arm(path string, r role) (dir *watch, fresh bool) {
	return w.armAt(path, r, identityOf(path))
}

// armAt is arm with what was just found at path.
func (w *Watcher) armAt(path string, r role, at identity) (dir *watch, fresh bool) {
	if at.err != nil {
		w.fail(path, at.err)
		return nil, false
	}
	if dir := w.table.byPath[path]; dir != nil {
		if dir.id == at.id {
			return dir, w.grant(dir, r)
		}
		w.drop(dir)
	}
	dir = &watch{path: path, id: at.id, roles: r}
	kind, known := w.kinds[dir.id.Dev] // each file system is asked for once
	if !known {
		kind = w.remoteKind(dir.path)
		w.kinds[dir.id.Dev] = kind
	}
	dir.kind = kind
	if !w.add(dir) {
		return nil, false
	}
	return dir, true
}

// add lets the kernel watch a directory, polls it, or does both. The watch is in the table before that, so that the drain
// goroutine knows what to make of its first event.
func (w *Watcher) add(dir *watch) bool {
	twin := w.evict(dir.id)
	w.mu.Lock()
	t := w.table
	t.byPath[dir.path] = dir
	if t.byID[dir.id] == nil {
		t.byID[dir.id] = dir
	}
	w.mu.Unlock()
	w.changed = true
	err := twin
	if err == nil {
		err = w.tryAdd(dir)
	}
	if err != nil && (gone(err) || !w.mode.polls()) {
		w.remove(dir)
		w.fail(dir.path, err)
		return false
	}
	w.refuse(dir, err)
	w.clearFailure(dir.path)
	if w.mode.polls() && (!dir.confirmed || dir.kind != "") {
		dir.seen = &sample{stale: true}
		w.mu.Lock()
		w.table.polled[dir] = struct{}{}
		w.mu.Unlock()
		dir.seen.begin(w.compareDir(dir, time.Time{}), time.Now())
		dir.seen.files = slices.Clone(dir.seen.files)
		w.changed, w.poller.grown = true, true
		w.poller.begin()
	}
	return true
}

// tryAdd adds a kernel watch on a directory, if there is a backend.
func (w *Watcher) tryAdd(dir *watch) error {
	if w.backend == nil {
		return nil
	}
	if err := w.backend.Add(dir.path); err != nil {
		return err
	}
	dir.confirmed = true
	return nil
}

// evict makes room for an inode that is watched by another path, for which the kernel would return that watch again, and
// fsnotify go on to call it by the other path. Most often the directory was renamed, and the event for it is still to
// come. It is an error where both paths lead to it.
func (w *Watcher) evict(id fsx.FileID) error {
	other := w.table.byID[id]
	if other == nil {
		return nil
	}
	if now, err := identify(other.path); err == nil && now == id {
		return fmt.Errorf("%w: %s", errSameDirectory, other.path)
	}
	w.drop(other)
	return nil
}

// grant gives a watch one more role.
func (w *Watcher) grant(dir *watch, r role) (fresh bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fresh = !dir.has(r)
	if fresh {
		dir.resample()
	}
	dir.roles |= r
	return fresh
}

// revoke takes roles from a watch and ends it when none is left.
func (w *Watcher) revoke(dir *watch, r role) {
	w.mu.Lock()
	dir.roles &^= r
	idle := dir.roles == 0
	w.mu.Unlock()
	if idle {
		w.unwatch(dir)
	}
}

// drop ends the watches on a directory that is not at its path any more, and on all below, whatever their roles.
func (w *Watcher) drop(dir *watch) {
	for _, child := range dir.children() {
		w.drop(child)
	}
	if dir.top || dir.roles&^roleReached != 0 {
		w.recheck = true
		w.signal()
	}
	w.unwatch(dir)
}

// unwatch ends one watch. The backend's error says only that the watch had ended by itself.
func (w *Watcher) unwatch(dir *watch) {
	if dir.confirmed {
		_ = w.backend.Remove(dir.path)
	}
	w.remove(dir)
}

func (w *Watcher) remove(dir *watch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.table.byPath, dir.path)
	delete(w.table.polled, dir)
	if w.table.byID[dir.id] == dir {
		delete(w.table.byID, dir.id)
	}
	if dir.parent != nil {
		delete(dir.parent.below, dir)
	}
	dir.leave()
	w.changed = true
}

// refuse records why the kernel does not report changes in a directory, which is polled instead; nil means that it does.
func (w *Watcher) refuse(dir *watch, err error) {
	if w.backend == nil { // there is none
		return
	}
	if dir.refused = err; err != nil {
		w.metrics.errors.WithLabelValues(kindOf(err)).Inc()
	}
}
