package watcher

import (
	"path/filepath"
	"slices"
	"strings"
)

// watchRequests are the directories that the consumer wants besides the trees, and where they were found. It is made anew
// at each search, and never changed.
type watchRequests struct {
	names    map[string][]string // those that the consumer has for each directory that was found, by its path without links
	resolved map[string]string   // the path without links for each name, empty where it leads nowhere
	lacking  bool                // one leads nowhere
	// dirs are all wanted directories, sorted. Those that the rules reach by the same path are in no other field.
	dirs []string
	// entries are the paths on the symlink chains, existing or not, and holders the directories that hold them.
	entries, holders map[string]struct{}
	// files are those at the ends of chains, by the directory that holds them.
	files map[string][]string
	// anchors are the directories to watch besides those to learn that a chain leads elsewhere; true stands for one that
	// must be watched, since nothing else reports what may come in it.
	anchors      map[string]bool
	changedNames []string // the names on whose chain an entry has changed
}

// findWanted follows the chains to all that is wanted. Its cost grows with the number of entries there, and not with the
// depth of each chain. What the rules reach is watched in its tree, so only that it goes counts.
func (w *Watcher) findWanted(finder chainFinder, changedEntries map[string]struct{}) watchRequests {
	w.mu.Lock()
	dirs := w.wanted.Dirs
	w.mu.Unlock()
	found := watchRequests{
		names: make(map[string][]string), resolved: make(map[string]string), dirs: dirs,
		entries: make(map[string]struct{}), holders: make(map[string]struct{}), anchors: make(map[string]bool),
		files: make(map[string][]string),
	}
	for _, dir := range dirs {
		if w.isRoot(dir) {
			continue
		}
		real, ok := w.reached(dir)
		if !ok {
			if real, ok = w.heldByReached(dir, finder); ok {
				found.names[real], found.resolved[dir] = append(found.names[real], dir), real
			} else {
				to := finder.find(dir)
				found.follow(dir, to, changedEntries)
				for _, a := range to.anchors {
					found.anchors[a] = true
				}
				if found.lacking = found.lacking || to.real+to.file == ""; to.real != "" {
					found.names[to.real] = append(found.names[to.real], dir)
				}
			}
		}
		if ok && real != dir {
			found.entries[real] = struct{}{}
		}
	}
	w.followTargets(&found, finder, changedEntries)
	if w.backend != nil {
		w.addHolders(&found)
	}
	return found
}

// has reports whether a path is a wanted directory, or an entry of a chain to one.
func (s *watchRequests) has(path string) bool {
	if _, onChain := s.entries[path]; onChain {
		return true
	}
	_, wanted := slices.BinarySearch(s.dirs, path)
	return wanted
}

// followTargets adds the chains to the allowed targets of symlinks in roots: if such a chain leads elsewhere, so may they. What
// lies there counts only where a link leads to it, and is wanted then. What cannot be watched for that is not a failure, since there
// may be no link that needs it.
func (w *Watcher) followTargets(found *watchRequests, finder chainFinder, changedEntries map[string]struct{}) {
	for _, root := range w.rules.Roots {
		for _, target := range root.LinkTargets {
			chain := finder.find(target)
			found.follow(target, chain, changedEntries)
			if chain.real != "" { // polling notices by itself alone that it is not there any more
				chain.anchors = append(chain.anchors, chain.real)
			}
			for _, a := range chain.anchors {
				if !found.anchors[a] {
					found.anchors[a] = false
				}
			}
		}
	}
}

// follow adds a chain, without what is at its end.
func (r *watchRequests) follow(name string, to symlinkChain, changedEntries map[string]struct{}) {
	r.resolved[name] = to.real + to.file // of which one is empty
	if to.file != "" {
		above := filepath.Dir(to.file)
		r.files[above] = append(r.files[above], to.file)
	}
	changed := false
	for _, entry := range to.entries {
		r.entries[entry] = struct{}{}
		r.holders[filepath.Dir(entry)] = struct{}{}
		if _, ok := changedEntries[entry]; ok {
			changed = true
		}
	}
	if changed {
		r.changedNames = append(r.changedNames, name)
	}
}

// addHolders adds the directories above what is there, which the kernel has to be asked about: a directory that is renamed with
// all above it causes no event itself, while polling checks its path. Entries on the chain to a place are left to that place.
func (w *Watcher) addHolders(found *watchRequests) {
	for entry := range found.entries {
		above := filepath.Dir(entry)
		_, placed := w.entries[entry]
		if _, ok := found.holders[above]; ok && !placed && !found.anchors[above] {
			found.anchors[above] = false
		}
	}
	for above := range found.holders {
		if _, held := found.anchors[above]; !held && w.holdsReached(found, above) {
			found.anchors[above] = false
		}
	}
}

// holdsReached reports whether something that is wanted lies right in a directory, is reached by the rules, and is not on the way to
// a place.
func (w *Watcher) holdsReached(found *watchRequests, above string) bool {
	prefix := strings.TrimSuffix(above, "/") + "/"
	from, _ := slices.BinarySearch(found.dirs, prefix)
	for _, dir := range found.dirs[from:] {
		name, ok := strings.CutPrefix(dir, prefix)
		if !ok {
			break
		}
		if strings.Contains(name, "/") || w.isRoot(dir) {
			continue
		}
		if _, placed := w.entries[dir]; placed {
			continue
		}
		if real, ok := w.reached(dir); ok && real == dir {
			return true
		}
	}
	return false
}

// reached returns the path without links of a directory that the rules reach and that is armed, so that it needs no watch
// of its own. Of one that is skipped only a SKILL.md counts, so that is not enough.
func (w *Watcher) reached(dir string) (real string, ok bool) {
	if known := w.table.byPath[dir]; known != nil && known.has(roleTree) {
		return dir, true
	}
	for _, p := range w.places {
		rest, ok := under(p.path, dir)
		if !ok || p.chain.real == "" {
			continue
		}
		if known := w.table.byPath[p.chain.real+rest]; known != nil && known.has(roleTree) {
			return known.path, true
		}
	}
	return "", false
}

// heldByReached returns the path without links of a directory right in one that the rules reach, such as the tools of a skill. Events
// of that one report what becomes of it, so no chain to it is followed.
func (w *Watcher) heldByReached(dir string, finder chainFinder) (real string, ok bool) {
	above, ok := w.reached(filepath.Dir(dir))
	if !ok {
		return "", false
	}
	real = filepath.Join(above, filepath.Base(dir))
	s := finder.stat(real)
	return real, s.err == nil && !s.link
}

// isRoot reports whether a directory is a root, which is watched whatever becomes of it.
func (w *Watcher) isRoot(dir string) bool {
	return slices.ContainsFunc(w.places, func(p *place) bool { return p.root != nil && p.path == dir })
}
