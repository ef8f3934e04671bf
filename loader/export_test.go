package loader

import (
	"maps"
	"time"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/internal/fsx"
)

// OnOpen makes the loader call f for each file that it has opened, with the path below its root. f may be called by
// several goroutines.
func (l *Loader) OnOpen(f func(rel string)) {
	for _, t := range l.trees {
		t.opened = f
	}
}

// SetClock makes the loader take its time from now.
func (l *Loader) SetClock(now func() time.Time) {
	for _, t := range l.trees {
		t.now = now
	}
}

// IsTextFault reports whether the profiles count a problem as a fault of the text of SKILL.md.
func IsTextFault(p pannier.Problem) bool { return len(textFaults([]pannier.Problem{p})) > 0 }

// SetMountsFile makes the loader read the mounts from another file.
func (l *Loader) SetMountsFile(path string) { l.mountsFile = path }

// MountPoints reads mountinfo.
var MountPoints = mountPoints

// FindFrontmatter is what finds the frontmatter of a SKILL.md.
func FindFrontmatter(text []byte, whole bool, limit int64) (front, body []byte, line int, code string) {
	p, _, fault := cut(text, whole, limit)
	if fault != nil {
		code = fault.code
	}
	return p.front, p.body, p.line, code
}

// ParseLock reads a lock file: the trust of each path, and the keys that are none.
func ParseLock(text []byte) (map[string]pannier.Trust, []string, error) {
	entries, strange, err := parseLock(text)
	if err != nil {
		return nil, nil, err
	}
	trust := map[string]pannier.Trust{}
	for rel, e := range entries {
		trust[rel] = e.trust
	}
	return trust, strange, nil
}

// Identifies reports whether a regular file with that ctime can be in a cache.
func Identifies(ctime int64) bool {
	return (&tree{}).identifies(fsx.Stamp{Mode: unix.S_IFREG, CTime: ctime})
}

// ManifestReads returns how many files were read for manifests.
func (l *Loader) ManifestReads() int { return int(l.manifests.reads.Load()) }

// AgeManifests lets the manifest of a skill be older.
func (l *Loader) AgeManifests(s *pannier.Skill, by time.Duration) {
	l.manifests.mu.Lock()
	defer l.manifests.mu.Unlock()
	k := *l.manifests.byPath[s.Path]
	k.files = maps.Clone(k.files)
	for name, f := range k.files {
		f.read = f.read.Add(by)
		k.files[name] = f
	}
	l.manifests.byPath[s.Path] = &k
}

// PutManifest keeps a manifest of about so many bytes, and returns how many all have.
func (l *Loader) PutManifest(path string, size int) int {
	l.manifests.put(path, &knownManifest{manifest: pannier.Manifest{Frontmatter: make([]byte, size)}})
	l.manifests.mu.Lock()
	defer l.manifests.mu.Unlock()
	return l.manifests.size
}
