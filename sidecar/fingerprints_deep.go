package sidecar

import (
	"path/filepath"
	"slices"

	"pannier"
)

// directoryOf returns the absolute path of a skill directory.
func (f *fingerprints) directoryOf(s *pannier.Skill) string {
	return filepath.Join(f.rules.Roots[s.RootIndex].Path, s.PathBelowRoot)
}

// deepenLocked records the directories inside of a skill. They are watched where scans are enforced, so that a change of any
// file is noticed at once.
func (f *fingerprints) deepenLocked(s *pannier.Skill, d *directory, dirs []string) {
	if !f.policy.enforce {
		return
	}
	at := f.directoryOf(s)
	absolute := make([]string, 0, len(dirs))
	for _, dir := range dirs {
		absolute = append(absolute, filepath.Join(at, dir))
	}
	slices.Sort(absolute)
	f.dirty.deepDirs = f.dirty.deepDirs || !slices.Equal(d.dirs, absolute)
	d.dirs = absolute
}

// showDeepLocked publishes the directories to watch, at most max_dirs of them, those of the first skills by path.
func (f *fingerprints) showDeepLocked() {
	f.dirty.deepDirs = false
	paths := make([]string, 0, len(f.directories))
	for path := range f.directories {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	var deep []string
	for _, path := range paths {
		deep = append(deep, f.directories[path].dirs...)
	}
	deep = deep[:min(len(deep), f.rules.MaxDirs)]
	slices.Sort(deep)
	f.deep.Store(&deep)
	signal(f.deepChanged)
}

// deepDirs returns the directories inside of skills that must be watched. The list is never changed.
func (f *fingerprints) deepDirs() []string {
	if deep := f.deep.Load(); deep != nil {
		return *deep
	}
	return nil
}
