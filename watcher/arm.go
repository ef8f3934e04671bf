package watcher

import (
	"errors"
	"fmt"
)

// errDeaf is why nothing is watched when the backend ended although nobody closed it.
var errDeaf = errors.New("the kernel's queue was closed")

// open opens the backend and starts to drain it. It reports whether that worked.
func (w *Watcher) open() bool {
	b, err := w.openBackend()
	if err != nil {
		w.fail("", err)
		return false
	}
	w.mend("")
	w.setBackend(b)
	w.drains.Go(func() { w.drain(b) })
	return true
}

// closeBackend closes the backend, waits for the drain goroutine, and forgets all watches, which ended with the backend.
func (w *Watcher) closeBackend() {
	b := w.backend
	w.setBackend(nil)
	if b == nil {
		return
	}
	if err := b.Close(); err != nil {
		w.log.Warn("close the kernel's queue", "error", err)
	}
	w.drains.Wait()
}

// setBackend begins with an empty table.
func (w *Watcher) setBackend(b backend) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.backend = b
	w.todo.deaf = false // of the last one
	w.table = newTable()
	w.extras = nil
	for _, p := range w.places {
		p.way, p.dirs, p.armed, p.crowded = way{}, 0, false, false
	}
	w.changed = true
}

// lose gives up a backend that ended by itself. The next resync opens another one.
func (w *Watcher) lose() {
	w.closeBackend()
	w.fail("", errDeaf)
}

// arm makes sure that what is at path now is watched in a role, and returns its watch, or nil where that can not be. fresh
// says that it had not that role before.
func (w *Watcher) arm(path string, r role) (dir *watch, fresh bool) {
	id, err := identify(path)
	if err != nil {
		w.fail(path, fmt.Errorf("arm: %w", err))
		return nil, false
	}
	if dir := w.table.byPath[path]; dir != nil {
		if dir.id == id {
			return dir, w.grant(dir, r)
		}
		w.drop(dir)
	}
	if err := w.evict(id); err != nil {
		w.fail(path, err)
		return nil, false
	}
	dir = &watch{path: path, id: id, roles: r}
	if !w.add(dir) {
		return nil, false
	}
	return dir, true
}

// add asks the backend. The watch is in the table before that, so that the drain goroutine knows what to make of its first
// event.
func (w *Watcher) add(dir *watch) bool {
	w.mu.Lock()
	w.table.insert(dir)
	w.mu.Unlock()
	w.changed = true
	if err := w.backend.Add(dir.path); err != nil {
		w.remove(dir)
		w.fail(dir.path, fmt.Errorf("arm: %w", err))
		return false
	}
	w.mend(dir.path)
	return true
}

// evict makes room for an inode that is watched by another path, for which the kernel would return that watch again, and
// fsnotify go on to call it by the other path. Most often the directory was renamed, and the event for it is still to
// come. It is an error where both paths lead to it.
func (w *Watcher) evict(id fileID) error {
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
	_ = w.backend.Remove(dir.path)
	w.remove(dir)
}

func (w *Watcher) remove(dir *watch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.table.remove(dir)
	w.changed = true
}
