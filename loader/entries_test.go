package loader_test

import (
	"path/filepath"
	"testing"
	"time"

	"pannier"
	"pannier/loader"
)

// TestEntryIsScannedWithoutList has one of two new skills named. Only a full scan finds the other one.
func TestEntryIsScannedWithoutList(t *testing.T) {
	root := tree(t, "a", "g/b")
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	l.SetClock(func() time.Time { return time.Now().Add(time.Hour) })
	load(t, l, pannier.Batch{Full: true})
	named := func(dirs ...string) pannier.Catalog {
		b := pannier.Batch{}
		for _, dir := range dirs {
			b.Dirs = append(b.Dirs, filepath.Join(root, dir))
		}
		return load(t, l, b)
	}
	for _, dir := range []string{"c", "d", "g/e", "g/f", "new/deep/h"} {
		writeSkill(t, root, dir, good(dir))
	}
	wantPaths(t, named("c"), "a", "c", "g/b")
	wantPaths(t, named("g/e", "new/deep"), "a", "c", "g/b", "g/e", "new/deep/h")
	for _, dir := range []string{"a", "c", "g/b"} {
		remove(t, filepath.Join(root, dir))
	}
	wantPaths(t, named("a", "g/b"), "c", "g/e", "new/deep/h")
	wantPaths(t, named("c/SKILL.md"), "g/e", "new/deep/h")
	wantPaths(t, load(t, l, pannier.Batch{Full: true}), "d", "g/e", "g/f", "new/deep/h")
}
