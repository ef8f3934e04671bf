package watcher

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"pannier"
)

// armAll arms everything, beginning with nothing.
func (w *Watcher) armAll(ctx context.Context) {
	if !w.armable() {
		return
	}
	w.armPlaces()
	w.armReached(ctx)
	if ctx.Err() == nil {
		w.armWanted(nil)
	}
}

// armReached arms every directory that the rules reach and that is not armed.
func (w *Watcher) armReached(ctx context.Context) {
	for _, p := range w.places {
		if p.root == nil || p.chain.real == "" {
			continue
		}
		if top, _ := w.arm(p.chain.real, roleTree); top != nil {
			w.join(top, p, nil, w.rules.MaxDepth)
			w.explore(ctx, true, top)
		}
	}
}

// armFresh marks the directory in which path came, if path is a directory or a link, arms what is new, and what is below it.
func (w *Watcher) armFresh(ctx context.Context, path string, a arrival) {
	parent := w.table.parentOf(path)
	if parent == nil || !w.markFresh(parent, path, a) || !parent.entered() {
		return
	}
	at := identityOf(path)
	if at.err != nil && gone(at.err) {
		w.clearFailure(path)
		return
	}
	if dir, _ := w.armBelow(parent, filepath.Base(path), at); dir != nil {
		w.explore(ctx, false, dir)
	}
}

// markFresh marks a directory in which a directory or a link came. It reports whether a directory may have.
func (w *Watcher) markFresh(parent *watch, path string, a arrival) bool {
	info, err := os.Lstat(path)
	if err != nil {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	link := info.Mode().Type() == fs.ModeSymlink
	if !link && !info.IsDir() {
		w.touchLocked(parent)
		return false
	}
	if link {
		put(&parent.links, filepath.Base(path))
	}
	if parent.has(roleTree | roleExtra) {
		w.markEntryLocked(parent, filepath.Base(path), a.at)
	}
	if a.from != "" {
		w.pending.join(a.from, parent.path)
	}
	return !link
}

// explore reads directories and, level by level, those below them. A directory is armed before it is read, so
// that an entry is either read or reported. Directories that are armed already are read again if again is set.
func (w *Watcher) explore(ctx context.Context, again bool, dirs ...*watch) {
	for len(dirs) > 0 && ctx.Err() == nil {
		read := w.readDirs(ctx, dirs)
		var next []*watch
		for i, dir := range dirs {
			if ctx.Err() != nil { // not all were read
				return
			}
			next = append(next, w.enter(ctx, dir, read[i], again)...)
		}
		dirs = next
	}
}

// listResult is what was found in a directory, or why nothing was.
type listResult struct {
	listing
	err error
}

// readDirs reads a level of directories. Where a SKILL.md makes a directory a skill, nothing else in it is read.
func (w *Watcher) readDirs(ctx context.Context, dirs []*watch) []listResult {
	read := make([]listResult, len(dirs))
	inParallel(len(dirs), func(i int) {
		dir := dirs[i]
		switch {
		case ctx.Err() != nil || !w.depends(dir):
		case dir.confirmed && !dir.top && isSkillFile(filepath.Join(dir.path, pannier.SkillFile)):
			read[i].holdsSkill, read[i].links = true, dir.links
		default:
			read[i].listing, read[i].err = list(dir.path)
		}
	})
	return read
}

// depends reports whether anything depends on what a directory holds, if it is still where it was.
func (w *Watcher) depends(dir *watch) bool {
	return w.table.byPath[dir.path] == dir && (dir.reach > 0 || dir.skipped)
}

// enter brings what is armed right below a directory up to date, and returns what is to be entered next. Where ctx is done it
// returns early.
func (w *Watcher) enter(ctx context.Context, dir *watch, l listResult, again bool) []*watch {
	if !w.depends(dir) {
		return nil
	}
	if l.err != nil {
		w.fail(dir.path, l.err)
		return nil
	}
	w.clearFailure(dir.path)
	w.classify(dir, l.listing)
	if !dir.entered() {
		w.abandon(dir)
		return nil
	}
	var next []*watch
	for names := range slices.Chunk(l.dirs, maxIdentities) {
		names = slices.DeleteFunc(names, func(name string) bool { return w.crowded(dir, filepath.Join(dir.path, name)) })
		found := make([]identity, len(names))
		inParallel(len(names), func(i int) {
			if ctx.Err() == nil {
				found[i] = identityOf(filepath.Join(dir.path, names[i]))
			}
		})
		for i, at := range found {
			if ctx.Err() != nil { // not all were identified
				return nil
			}
			child, fresh := w.armBelow(dir, names[i], at)
			if w.table.byPath[dir.path] != dir { // it was renamed, as arming showed
				return nil
			}
			if child != nil && (fresh || again) {
				next = append(next, child)
			}
		}
	}
	return next
}

// maxIdentities bounds how many directories are identified before the first of them is armed.
const maxIdentities = 1024

// crowded reports whether a directory that is not armed has no place in the budget of its root. That is logged once; what the
// loader does with such directories it reports itself.
func (w *Watcher) crowded(parent *watch, path string) bool {
	p := parent.place
	if w.table.byPath[path] != nil || p.dirs < w.rules.MaxDirs {
		return false
	}
	if !p.crowded {
		p.crowded = true
		w.log.Warn("a root holds more directories than are watched", "root", p.path, "max_dirs", w.rules.MaxDirs)
	}
	return true
}

// classify records whether a directory holds a SKILL.md, which decides what counts in it and whether it is entered.
func (w *Watcher) classify(dir *watch, l listing) {
	w.mu.Lock()
	before := dir.roles
	dir.links, dir.skill = l.links, l.holdsSkill && !dir.top
	if dir.skipped && !dir.top { // part of the tree only while it is a skill
		dir.roles &^= roleReached
		if dir.skill {
			dir.roles |= roleTree
		} else {
			dir.roles |= roleProbe
		}
	}
	if dir.roles != before {
		dir.resample()
	}
	w.mu.Unlock()
	if before&roleProbe != 0 && dir.skill { // it has become a skill
		w.markDir(dir)
	}
}

// armBelow arms what was found at a name in a directory, within the budget of its root, and marks it if that is new.
func (w *Watcher) armBelow(parent *watch, name string, at identity) (dir *watch, fresh bool) {
	path := filepath.Join(parent.path, name)
	skips := w.rules.Skips(name)
	if w.crowded(parent, path) {
		return nil, false
	}
	r := roleTree
	if skips {
		r = roleProbe
	}
	if dir, fresh = w.armAt(path, r, at); dir == nil {
		return nil, false
	}
	if w.table.byPath[parent.path] != parent { // it was renamed, as arming showed; nothing would drop dir with it
		w.unwatch(dir)
		return nil, false
	}
	dir.skipped = skips
	w.join(dir, parent.place, parent, parent.reach-1)
	if fresh && !skips {
		w.markDir(dir)
	}
	return dir, fresh
}

// join makes dir a part of a tree.
func (w *Watcher) join(dir *watch, p *place, parent *watch, reach int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	dir.join(p, parent, reach)
}

// abandon ends the watches on what was reached through a directory that is not entered any more, but for the roots among
// it.
func (w *Watcher) abandon(dir *watch) {
	for _, child := range dir.children() {
		if child.top {
			continue
		}
		w.abandon(child)
		w.mu.Lock()
		delete(child.parent.below, child)
		child.leave()
		w.mu.Unlock()
		w.revoke(child, roleReached)
	}
}
