package sidecar

import (
	"maps"
	"path/filepath"
	"slices"

	"pannier"
)

// directoryOf returns the absolute path of a skill directory.
func (f *fingerprints) directoryOf(s *pannier.Skill) string {
	return filepath.Join(f.rules.Roots[s.RootIndex].Path, s.PathBelowRoot)
}

// deepenLocked records which directories inside of a skill are watched: those whose files turns and prompts show, or all where scans
// are enforced, so that a change of any file is noticed at once. Then, and behind a symlink, the skill's own comes first: it is watched
// for the loader too, but behind a symlink by another path, which names no skill.
func (f *fingerprints) deepenLocked(s *pannier.Skill, d *directory, dirs []string) {
	at := f.directoryOf(s)
	var absolute []string
	for _, dir := range dirs {
		if f.policy.enforce || pannier.IsPartDir(dir) {
			absolute = append(absolute, filepath.Join(at, dir))
		}
	}
	slices.Sort(absolute)
	if f.policy.enforce || s.Target != "" {
		absolute = slices.Insert(absolute, 0, at)
	}
	f.dirty.deepDirs = f.dirty.deepDirs || !slices.Equal(d.dirs, absolute)
	d.dirs = absolute
}

// showDeep publishes the directories to watch: those of skills, and at most max_dirs inside of them, those of the first skills by
// path. Each time all of them are followed anew, so it waits until all fingerprints that were due are computed.
func (f *fingerprints) showDeep() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.dirty.deepDirs {
		return
	}
	f.dirty.deepDirs = false
	var deep, inside []string
	for _, path := range slices.Sorted(maps.Keys(f.directories)) {
		dirs := f.directories[path].dirs
		if s := f.skills[path]; s != nil && len(dirs) > 0 && dirs[0] == f.directoryOf(s) {
			deep, dirs = append(deep, dirs[0]), dirs[1:]
		}
		inside = append(inside, dirs...)
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
