package watcher

import (
	"path/filepath"
	"slices"
	"time"
)

// armWanted arms the directories that the consumer wants and that the rules do not reach, and drops those that it wanted
// before. A directory is marked when it is armed, and also when it is wanted by one more name, since its earlier events
// were told by other names.
func (w *Watcher) armWanted() {
	if dir := w.table.byPath[w.places[0].way.real]; dir != nil {
		dir.seen.stale = true // the consumer may name other files in the workspace
	}
	before, extras := w.extras, w.findExtras()
	w.setExtras(extras)
	for real, names := range extras {
		dir, fresh := w.arm(real, roleExtra)
		if dir == nil {
			continue
		}
		if fresh || !slices.Equal(before[real], names) {
			w.markWanted(real)
		}
	}
	for real := range before {
		if dir := w.table.byPath[real]; dir != nil && extras[real] == nil {
			w.revoke(dir, roleExtra)
		}
	}
}

// findExtras returns what is wanted besides the trees, by its path without links. What leads nowhere is left out, and
// looked for again at the next resync.
func (w *Watcher) findExtras() map[string][]string {
	extras := make(map[string][]string)
	for _, dir := range w.wantedDirs() {
		if w.reached(dir) {
			continue
		}
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			extras[real] = append(extras[real], dir)
		}
	}
	return extras
}

// reached reports whether the rules reach a directory and it is armed, so that it needs no watch of its own. Of one that is
// skipped only a SKILL.md counts, so that is not enough.
func (w *Watcher) reached(dir string) bool {
	if known := w.table.byPath[dir]; known != nil && known.has(roleTree) {
		return true
	}
	return slices.ContainsFunc(w.places, func(p *place) bool {
		rest, ok := under(p.path, dir)
		known := w.table.byPath[p.way.real+rest]
		return ok && p.way.real != "" && known != nil && known.has(roleTree)
	})
}

// leadsToExtra reports whether what is wanted is named by way of the entry at path. That may be a link that leads elsewhere
// now, of which a consumer that goes by names need not tell.
func (w *Watcher) leadsToExtra(path string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.extras) == 0 {
		return false
	}
	entries := w.namesLocked(path)
	for _, names := range w.extras {
		for _, name := range names {
			if slices.ContainsFunc(entries, func(entry string) bool { _, ok := under(entry, name); return ok }) {
				return true
			}
		}
	}
	return false
}

func (w *Watcher) wantedDirs() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.wanted.Dirs
}

func (w *Watcher) wantedEntries() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.wanted.Entries
}

func (w *Watcher) setExtras(extras map[string][]string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.extras = extras
}

// markWanted marks a directory: the consumer has looked at it before it was armed, and nothing else will tell. That need
// not wait for quiet, unless there is a change that does, which would be given out half done with it.
func (w *Watcher) markWanted(real string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	pending := &w.ledger.pending
	alone := pending.empty()
	w.markLocked(real, time.Now())
	pending.urgent = pending.urgent || alone
}
