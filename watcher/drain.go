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
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.backend == b { // it ended without being closed
		w.todo.backendEnded = true
		w.signal()
	}
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
	w.pending.all(pannier.TriggerError, false, time.Now())
}

// noticeClock asks for a resync after a jump of the clock.
func (w *Watcher) noticeClock() {
	w.log.Info("the clock was set, or the machine has slept, so everything is compared")
	w.mu.Lock()
	defer w.mu.Unlock()
	w.todo.jumped = true
	w.signal()
}

// noticeNoClock logs that such jumps are not noticed.
func (w *Watcher) noticeNoClock(err error) {
	w.log.Warn("jumps of the clock are not noticed, so what happens with them waits for the next resync", "error", err)
}

// noticeEvent marks what an event concerns. The kind of the event matters only where it says what became of a directory: the
// rest is read from the disk.
func (w *Watcher) noticeEvent(event fsnotify.Event) {
	if event.Name == "" { // of a watch that has just ended
		return
	}
	w.metrics.events.Inc()
	path, now := filepath.Clean(event.Name), time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	from := w.moved
	w.moved = ""
	if event.Has(fsnotify.Rename) {
		w.moved = filepath.Dir(path) // the next event has the new path
	}
	if !event.Has(fsnotify.Create) {
		from = ""
	}
	w.noticeLocked(path, event.Op, from, now)
}

// noticeLocked marks what a change at path concerns. from is the directory that path was moved from, where that is known.
func (w *Watcher) noticeLocked(path string, op fsnotify.Op, from string, now time.Time) {
	self := w.noticeSelf(path, ended(op), now)
	entry := w.noticeEntry(path, op, from, now)
	_, toPlace := w.entries[path]
	toWanted := w.watchRequests.has(path) && !w.isRoot(path)
	w.todo.recheckPlaces = w.todo.recheckPlaces || toPlace
	if toWanted {
		put(&w.todo.changedEntries, path)
	}
	onWay := toPlace || toWanted
	if self || entry || onWay {
		w.signal()
	}
}

// ended reports whether what was there is not there any more.
func ended(op fsnotify.Op) bool { return op.Has(fsnotify.Remove) || op.Has(fsnotify.Rename) }

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
		w.markLocked(self, now)
	}
	return ended || counts
}

// noticeEntry marks the watched directory that holds the entry that an event is about. It reports whether it matters.
func (w *Watcher) noticeEntry(path string, op fsnotify.Op, from string, now time.Time) bool {
	dir, name := w.table.parentOf(path), filepath.Base(path)
	if dir == nil {
		return false
	}
	switch {
	case w.counts(dir, path, name), ended(op) && w.isKnownDirOrLink(dir, path, name):
		w.markEntryLocked(dir, name, now)
		if from != "" {
			w.pending.join(from, dir.path)
		}
	case !dir.has(roleTree | roleExtra):
		return false
	case op.Has(fsnotify.Create), op.Has(fsnotify.Chmod) && dir.entered(): // what is it?
		w.todo.add(path, arrival{at: now, from: from})
		return true
	default:
		w.touchLocked(dir)
		return false
	}
	switch {
	case !dir.has(roleReached | roleExtra):
	case pannier.IsSkillFile(name):
		put(&w.todo.relist, dir.path)
	case dir.entered():
		w.todo.add(path, arrival{at: now, from: from})
	}
	return true
}

// counts reports whether an entry of a watched directory matters by its name.
func (w *Watcher) counts(dir *watch, path, name string) bool {
	switch {
	case dir.has(roleExtra) && !dir.skill:
		return true
	case dir.has(roleTree|roleExtra) && decides(name):
		return true
	case dir.has(roleProbe) && pannier.IsSkillFile(name):
		return true
	case dir.has(roleWorkspace):
		_, onWay := w.entries[path]
		return onWay || ofWorkspace(name, w.wanted.Entries)
	}
	return false
}

// isKnownDirOrLink reports whether an entry of a directory was a directory or a link, as far as that is known.
func (w *Watcher) isKnownDirOrLink(dir *watch, path, name string) bool {
	_, link := dir.links[name]
	return dir.has(roleTree|roleExtra) && (link || w.table.byPath[path] != nil)
}

// decides reports whether a file of that name decides what a skill is, wherever it lies in a tree. Of all other names only
// directories and links matter: logs, backups and temporary files may come and go at any time.
func decides(name string) bool {
	switch name {
	case pannier.MetaFile, pannier.LockFile, pannier.LinksFile:
		return true
	}
	return pannier.IsSkillFile(name) || strings.HasPrefix(name, "..") // as in ..data, by which a volume is swapped
}

// ofWorkspace reports whether an entry right in the workspace matters by its name, where those that are named do.
func ofWorkspace(name string, named []string) bool {
	return name == pannier.WorkspaceFile || name == pannier.MisplacedDir || pannier.IsSkillFile(name) || strings.HasPrefix(name, "..") || slices.Contains(named, name)
}

// markEntryLocked marks a directory because of an entry in it, with all that settles together with that: everything below a
// directory whose entries come and go, and everything there is with config.yaml, which decides on all skills.
func (w *Watcher) markEntryLocked(dir *watch, name string, now time.Time) {
	names := w.namesLocked(dir.path)
	switch {
	case dir.has(roleWorkspace) && name == pannier.WorkspaceFile:
		w.pending.change(everything, true, now, names...)
	case dir.entered() && !dir.has(roleExtra) && !decides(name): // a directory or a link
		key, covers := w.unitOf(dir)
		for i := range names {
			names[i] = strings.TrimSuffix(names[i], "/") + "/" + name
		}
		w.pending.change(key, covers, now, names...)
	case dir.has(roleTree | roleExtra):
		key, covers := w.unitOf(dir)
		w.pending.change(key, covers, now, names...)
	default:
		w.pending.change(dir.path, strings.HasPrefix(name, ".."), now, names...)
	}
}

// markLocked marks a watched directory by every name that the consumer has for it.
func (w *Watcher) markLocked(dir *watch, now time.Time) {
	key, covers := w.unitOf(dir)
	w.pending.change(key, covers && dir.has(roleTree), now, w.namesLocked(dir.path)...)
}

// unitOf returns the directory that a directory settles with, which is the skill that it lies in, and whether everything below that
// does too.
func (w *Watcher) unitOf(dir *watch) (key string, covers bool) {
	for at := filepath.Dir(dir.path); at != everything; at = filepath.Dir(at) {
		if above := w.table.byPath[at]; above != nil && above.skill {
			return at, false
		}
	}
	return dir.path, !dir.skill
}

// touchLocked reports a change in a skill that does not change the catalog.
func (w *Watcher) touchLocked(dir *watch) {
	if dir.entered() && !pannier.IsPartDir(filepath.Base(dir.path)) { // neither a skill nor a part of one without SKILL.md
		return
	}
	var dirs []string
	select {
	case dirs = <-w.touched:
		if dirs == nil || len(dirs) > maxTouched {
			w.touched <- nil // only this method sends, under the lock, so there is room
			return
		}
	default:
	}
	for _, name := range w.namesLocked(dir.path) {
		if !slices.Contains(dirs, name) {
			dirs = append(dirs, name)
		}
	}
	w.touched <- dirs
}

// maxTouched bounds the directories of one value of touched. If there are more, nil stands for any directory.
const maxTouched = 64

// namesLocked returns the names of a path without links: below each root that leads there, and as the consumer wants it.
func (w *Watcher) namesLocked(path string) []string {
	var names []string
	for _, p := range w.places {
		if rest, ok := p.holds(path); ok {
			names = append(names, p.path+rest)
		}
	}
	names = append(names, w.watchRequests.names[path]...)
	if names == nil {
		return []string{path}
	}
	return names
}

func (t *todo) add(path string, a arrival) {
	if t.all {
		return
	}
	if t.fresh == nil {
		t.fresh = make(map[string]arrival)
	}
	t.fresh[path] = a
	if len(t.fresh) > maxFresh {
		t.fresh, t.all = nil, true
	}
}

// signal wakes Run. A signal that is there already is seen after the lock was taken, and so covers this one too.
func (w *Watcher) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *Watcher) markAll(trigger pannier.Trigger, urgent bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending.all(trigger, urgent, time.Now())
}

// markDir marks a directory that has just been armed. Before a full batch that is not needed, and no event reported it.
func (w *Watcher) markDir(dir *watch) {
	if w.verifying {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.markLocked(dir, time.Now())
}
