package sidecar

import (
	"context"
	"maps"

	"pannier"
	"pannier/loader"
	"pannier/loader/fingerprint"
)

// readContents looks for what turns and prompts show beside SKILL.md, and for words to describe a skill that has none, in the files
// of a skill. It does so once for each fingerprint, and only where there are such files or such a lack.
func (f *fingerprints) readContents(ctx context.Context, s *pannier.Skill, p fingerprint.Print) {
	f.mu.Lock()
	d := f.directories[s.Path]
	known := f.contents == nil || d == nil || d.digest != p.Digest || d.searched
	f.mu.Unlock()
	if known {
		return
	}
	var found *pannier.Contents
	if p.Parts.Tools || p.Parts.Resources || loader.LacksDescription(s) {
		contents, err := f.contents(ctx, s)
		if err != nil {
			f.log.Debug("the files of a skill cannot be read", "path", s.Path, "error", err)
			return // the next round tries again
		}
		if !contents.Digest.IsZero() {
			contents.Of = s.Digest
			found = &contents
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if d := f.directories[s.Path]; d != nil && d.digest == p.Digest {
		before := d.contents
		if restored, ok := f.restored[s.Path]; ok {
			before = &restored
			delete(f.restored, s.Path)
		}
		f.dirty.contents = f.dirty.contents || !sameContents(before, found)
		d.contents, d.searched = found, true
	}
}

// sameContents compares contents of one skill, nil for none.
func sameContents(a, b *pannier.Contents) bool {
	return a == b || a != nil && b != nil && a.Digest == b.Digest && a.Of == b.Of
}

// restore begins with what the process before found, so that a restart with unchanged skills serves the same snapshot. It counts
// for each skill with the same SKILL.md until its files are read.
func (f *fingerprints) restore(contents map[string]pannier.Contents) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.restored, f.contentsNow = contents, nil
	f.judgeAnewLocked()
}

// dropRestoredLocked forgets what was restored of skills that are not in the snapshot, or shadowed.
func (f *fingerprints) dropRestoredLocked(s *pannier.Snapshot) {
	if len(f.restored) == 0 {
		return
	}
	present := map[string]bool{}
	for i := range s.Entries {
		present[s.Entries[i].Path] = s.Entries[i].State != pannier.StateShadowed
	}
	before := len(f.restored)
	maps.DeleteFunc(f.restored, func(path string, _ pannier.Contents) bool { return !present[path] })
	f.dirty.contents = f.dirty.contents || len(f.restored) < before
}

// contentsLocked returns what was found in the files of skills, by their paths, and has new contents kept.
func (f *fingerprints) contentsLocked() map[string]pannier.Contents {
	if !f.dirty.contents && f.contentsNow != nil {
		return f.contentsNow
	}
	contents := make(map[string]pannier.Contents, len(f.restored))
	maps.Copy(contents, f.restored)
	for path, d := range f.directories {
		if d.contents != nil {
			contents[path] = *d.contents
		}
	}
	if f.dirty.contents && f.keepContents != nil {
		f.keepContents(maps.Clone(contents))
	}
	f.dirty.contents = false
	for path, c := range contents {
		if _, restored := f.restored[path]; !restored {
			c.Of = pannier.Digest{} // while a changed skill waits to be read, what was found before stays
			contents[path] = c
		}
	}
	f.contentsNow = contents
	return contents
}
