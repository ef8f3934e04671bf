package watcher

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// armWanted arms the directories that the consumer wants and that the rules do not reach, with the chains there, and drops
// those that it wanted before. changedEntries are entries on those chains that have changed. It follows the chains again after the
// arming, because what is on them may have changed just before.
func (w *Watcher) armWanted(changedEntries map[string]struct{}) {
	if dir := w.table.byPath[w.places[0].chain.real]; dir != nil {
		dir.resample() // the consumer may name other files in the workspace
	}
	for range maxChainRetries {
		if w.armWantedOnce(changedEntries) {
			return
		}
		changedEntries = nil
	}
}

// armWantedOnce follows all chains once and reports whether everything on them was armed before.
func (w *Watcher) armWantedOnce(changedEntries map[string]struct{}) (already bool) {
	finder := make(chainFinder)
	before, now := w.watchRequests, w.findWanted(finder, changedEntries)
	w.mu.Lock()
	w.watchRequests = now
	w.mu.Unlock()
	// Polling has to sample other files in these directories than before.
	for above, files := range now.files {
		if dir := w.table.byPath[above]; dir != nil && !slices.Equal(files, before.files[above]) {
			dir.resample()
		}
	}
	// No batch is given out before this is done: the consumer may have scanned these before they were watched where they are now.
	for name, real := range now.resolved {
		switch was, known := before.resolved[name]; {
		case !known:
			w.checkNames([]string{name}, true) // it was scanned before it was armed, and no event reports a change between
		case was != real:
			w.markNames([]string{name})
		}
	}
	w.markNames(now.changedNames)
	already = true
	for a, needed := range now.anchors {
		if needed || w.canWatch(a) {
			already = w.armed(a, roleAnchor, finder.stat(a)) && already
		}
	}
	for real, names := range now.names {
		if w.armed(real, roleExtra, finder.stat(real)) {
			continue
		}
		already = false
		if dir := w.table.byPath[real]; dir != nil && !dir.has(roleReached) {
			if l, err := list(real); err == nil { // whether it holds a SKILL.md decides what counts in it
				w.mu.Lock()
				dir.skill, dir.links = l.holdsSkill, l.links
				w.mu.Unlock()
			}
		}
		w.checkNames(names, false)
	}
	for real := range before.names {
		if dir := w.table.byPath[real]; dir != nil && now.names[real] == nil {
			w.revoke(dir, roleExtra)
		}
	}
	for a := range before.anchors {
		_, wanted := now.anchors[a]
		if _, placed := w.anchors[a]; !wanted && !placed {
			w.dropAnchor(a)
		}
	}
	return already
}

// armed arms a directory in a role and reports whether it had it already, or cannot have it. seen is what was found there
// a moment ago: what was armed before that and is the same need not be checked again.
func (w *Watcher) armed(path string, r role, seen step) bool {
	if dir := w.table.byPath[path]; dir != nil && seen.err == nil && dir.id == seen.id && dir.has(r) {
		return true
	}
	dir, fresh := w.arm(path, r)
	if dir == nil {
		return w.failed[path] != nil
	}
	return !fresh
}

// canWatch reports whether the kernel may be asked about a directory that is watched for no more than its being renamed
// with all below it. It is not a failure where such a directory cannot be watched.
func (w *Watcher) canWatch(path string) bool {
	if dir := w.table.byPath[path]; dir != nil {
		return true
	}
	id, err := identify(path)
	if err != nil || unix.Access(path, unix.R_OK) != nil {
		return false
	}
	other := w.table.byID[id]
	if other == nil {
		return true
	}
	there, err := identify(other.path)
	return err != nil || there != id
}

// markNames marks directories by the names that the consumer has for them, since what they lead to is another.
func (w *Watcher) markNames(names []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range names {
		w.pending.change(name, true, time.Now(), name)
	}
}

// checkNames marks directories that are to be scanned although nothing was noticed in them. With immediate they do not settle.
func (w *Watcher) checkNames(names []string, immediate bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range names {
		w.pending.check(name, immediate, time.Now(), name)
	}
}
