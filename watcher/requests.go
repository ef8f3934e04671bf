package watcher

import "path/filepath"

// watchRequests are the directories that the consumer wants besides the trees, and where they were found. It is made anew
// whenever they are looked for, and never changed.
type watchRequests struct {
	names   map[string][]string // those that the consumer has for each directory that was found, by its path without links
	leads   map[string]string   // the path without links for each name, empty where it leads nowhere
	lacking bool                // one leads nowhere
	// entries are all that lies on the ways, whether it is there or not, and holders the directories that hold them.
	entries, holders map[string]struct{}
	// files are those at the ends of ways, by the directory that holds them.
	files map[string][]string
	// anchors are the directories to watch besides those to learn that a way leads elsewhere; true stands for one that
	// would be missed, since nothing else tells of what may come in it.
	anchors map[string]bool
	turned  []string // the names whose way something has changed on
}

// findWanted goes the ways to all that is wanted. What it costs grows with the entries that lie there, and not with the
// depth of each way. What the rules reach is watched in its tree, so only that it goes counts.
func (w *Watcher) findWanted(ways chainFinder, turned map[string]struct{}) watchRequests {
	found := watchRequests{
		names: make(map[string][]string), leads: make(map[string]string),
		entries: make(map[string]struct{}), holders: make(map[string]struct{}), anchors: make(map[string]bool),
		files: make(map[string][]string),
	}
	for _, dir := range w.wantedDirs() {
		if w.isRoot(dir) {
			continue
		}
		if real, ok := w.reached(dir); ok {
			found.entries[real] = struct{}{}
			continue
		}
		found.add(dir, ways.find(dir), turned)
	}
	w.followTargets(&found, ways, turned)
	if w.backend != nil {
		w.hold(&found)
	}
	return found
}

// followTargets takes in the ways to what links of the roots may lead into: where such a way leads elsewhere, so may they. What
// lies there counts only where a link leads to it, and is wanted then. What cannot be watched for that is not a failure, since there
// may be no link that needs it.
func (w *Watcher) followTargets(found *watchRequests, ways chainFinder, turned map[string]struct{}) {
	for _, root := range w.rules.Roots {
		for _, target := range root.LinkTargets {
			chain := ways.find(target)
			found.follow(target, chain, turned)
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

// add takes in the way to one directory.
func (s *watchRequests) add(name string, to symlinkChain, turned map[string]struct{}) {
	s.follow(name, to, turned)
	for _, a := range to.anchors {
		s.anchors[a] = true
	}
	if s.lacking = s.lacking || to.real+to.file == ""; to.real != "" {
		s.names[to.real] = append(s.names[to.real], name)
	}
}

// follow takes in a way, and not what is at its end.
func (s *watchRequests) follow(name string, to symlinkChain, turned map[string]struct{}) {
	s.leads[name] = to.real + to.file // of which one is empty
	if to.file != "" {
		above := filepath.Dir(to.file)
		s.files[above] = append(s.files[above], to.file)
	}
	changed := false
	for _, entry := range to.entries {
		s.entries[entry] = struct{}{}
		s.holders[filepath.Dir(entry)] = struct{}{}
		if _, ok := turned[entry]; ok {
			changed = true
		}
	}
	if changed {
		s.turned = append(s.turned, name)
	}
}

// hold adds the directories above what is there, which the kernel has to be asked about: a directory that is renamed with
// all above it tells of nothing itself, while polling looks at its path. What lies on the way to a place is left to that.
func (w *Watcher) hold(found *watchRequests) {
	for entry := range found.entries {
		above := filepath.Dir(entry)
		_, placed := w.entries[entry]
		if _, ok := found.holders[above]; ok && !placed && !found.anchors[above] {
			found.anchors[above] = false
		}
	}
}
