package contents

import (
	"maps"
	"path/filepath"
	"slices"

	"pannier"
)

// watched are the directories of a skill that are watched for its files, absolute.
type watched struct {
	own    string // its own, empty where the loader's watch is enough
	inside []string
}

// watchedOf returns the directories whose files turns and prompts show, or all where scans are enforced, so that a
// change of any file is noticed at once. Then, and behind a symlink, the skill's own is among them: it is watched for
// the loader too, but behind a symlink by another path, which names no skill.
func (t *Tracker) watchedOf(s *pannier.Skill, dirs []string) (w watched) {
	at := t.Directory(s)
	for _, dir := range dirs {
		if t.o.Enforce || pannier.IsPartDir(dir) {
			w.inside = append(w.inside, filepath.Join(at, dir))
		}
	}
	slices.Sort(w.inside)
	if t.o.Enforce || s.Target != "" {
		w.own = at
	}
	return w
}

// Directory returns the absolute path of a skill directory.
func (t *Tracker) Directory(s *pannier.Skill) string {
	return filepath.Join(t.o.Rules.Roots[s.RootIndex].Path, s.PathBelowRoot)
}

func (w watched) equal(o watched) bool { return w.own == o.own && slices.Equal(w.inside, o.inside) }

// showWatched publishes the directories to watch: those of skills, and at most max_dirs inside of them, those of the
// first skills by path. Each time all of them are followed anew, so it waits until all fingerprints that were due are
// computed.
func (t *Tracker) showWatched() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.rewatch {
		return
	}
	t.rewatch = false
	all := maps.Collect(t.allLocked())
	var dirs, inside []string
	for _, path := range slices.Sorted(maps.Keys(all)) {
		w := all[path].watch
		if w.own != "" {
			dirs = append(dirs, w.own)
		}
		inside = append(inside, w.inside...)
	}
	dirs = append(dirs, inside[:min(len(inside), t.o.Rules.MaxDirs)]...)
	slices.Sort(dirs)
	t.watched.Store(&dirs)
	signal(t.watchDue)
}

// WatchDirs returns the directories inside of skills that must be watched. The list is never changed.
func (t *Tracker) WatchDirs() []string {
	if dirs := t.watched.Load(); dirs != nil {
		return *dirs
	}
	return nil
}

// WatchChanged has a value after WatchDirs changed, or after RequestWatch.
func (t *Tracker) WatchChanged() <-chan struct{} { return t.watchDue }

// RequestWatch says that others of the directories to watch changed.
func (t *Tracker) RequestWatch() { signal(t.watchDue) }
