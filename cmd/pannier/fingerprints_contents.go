package main

import (
	"context"

	"pannier"
	"pannier/loader"
	"pannier/loader/fingerprint"
)

// lookInto looks for tools, and for words to describe a skill that has none, in the files of a skill. It does so once for each
// fingerprint, and only where there are such files or such a lack.
func (f *fingerprints) lookInto(ctx context.Context, s *pannier.Skill, p fingerprint.Print) {
	f.mu.Lock()
	d := f.directories[s.Path]
	known := f.contents == nil || d == nil || d.digest != p.Digest || d.foundIn == p.Digest
	f.mu.Unlock()
	if known {
		return
	}
	var found pannier.Contents
	if p.Parts.Tools || loader.LacksDescription(s) {
		var err error
		if found, err = f.contents(ctx, s); err != nil {
			f.log.Debug("the files of a skill cannot be looked into", "path", s.Path, "error", err)
			return // the next round tries again
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if d := f.directories[s.Path]; d != nil && d.digest == p.Digest {
		f.unfound = f.unfound || d.contents.Digest != found.Digest
		d.contents, d.foundIn = found, p.Digest
	}
}

// contentsLocked returns what was found in the files of skills, by their paths.
func (f *fingerprints) contentsLocked() map[string]pannier.Contents {
	f.unfound = false
	contents := map[string]pannier.Contents{}
	for path, d := range f.directories {
		if !d.contents.Digest.IsZero() {
			contents[path] = d.contents
		}
	}
	return contents
}
