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

// deepenLocked records the directory of a skill and those inside of it. They are watched where scans are enforced, so that a change
// of any file is noticed at once. The first is watched for the loader too, but behind a symlink by another path, which names no skill.
func (f *fingerprints) deepenLocked(s *pannier.Skill, d *directory, dirs []string) {
	if !f.policy.enforce {
		return
	}
	at := f.directoryOf(s)
	absolute := append(make([]string, 0, len(dirs)+1), at)
	for _, dir := range dirs {
		absolute = append(absolute, filepath.Join(at, dir))
	}
	slices.Sort(absolute)
	f.dirty.deepDirs = f.dirty.deepDirs || !slices.Equal(d.dirs, absolute)
	d.dirs = absolute
}

// showDeepLocked publishes the directories to watch: those of all skills, and at most max_dirs inside of them, those of the first
// skills by path.
func (f *fingerprints) showDeepLocked() {
	f.dirty.deepDirs = false
	paths := make([]string, 0, len(f.directories))
	for path := range f.directories {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	var deep, inside []string
	for _, path := range paths {
		if dirs := f.directories[path].dirs; len(dirs) > 0 {
			deep, inside = append(deep, dirs[0]), append(inside, dirs[1:]...)
		}
	}
	deep = append(deep, inside[:min(len(inside), f.rules.MaxDirs)]...)
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
