package loader_test

import (
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"pannier"
	"pannier/loader"
)

// turn makes a link lead elsewhere in one step.
func turn(t *testing.T, target, path string) {
	t.Helper()
	link(t, target, path+"_next")
	rename(t, path+"_next", path)
}

// TestEachLinkOfAChainIsWatched turns a link that is neither the first nor the last on the chain to a skill, and scans only where
// the watch set says.
func TestEachLinkOfAChainIsWatched(t *testing.T) {
	root := tree(t, ".hub/one", ".hub/two", "b", "c")
	hub := filepath.Join(root, ".hub")
	for _, name := range []string{"x", "y"} {
		mkdir(t, filepath.Join(hub, name))
		write(t, filepath.Join(hub, name, "T.md"), good(name))
		write(t, filepath.Join(hub, name, "meta.json"), `{"slug":"`+name+`"}`)
	}
	link(t, "one", filepath.Join(hub, "cur"))
	link(t, "x/T.md", filepath.Join(hub, "T.md"))
	mkdir(t, filepath.Join(root, ".meta"))
	link(t, "../.hub/x/meta.json", filepath.Join(root, ".meta/m"))
	link(t, ".hub/cur", filepath.Join(root, "a"))
	remove(t, filepath.Join(root, "b/SKILL.md"))
	link(t, "../.hub/T.md", filepath.Join(root, "b/SKILL.md"))
	link(t, "../.meta/m", filepath.Join(root, "c/_meta.json"))

	l := loader.New(loader.Options{Rules: rulesFor(root)})
	c := load(t, l, pannier.Batch{Full: true})
	wantPaths(t, c, "a", "b", "c")
	wantWatch(t, c, root, hub, hub+"/one", hub+"/x", hub+"/x/T.md", hub+"/x/meta.json", root+"/.meta", root+"/b", root+"/c")

	write(t, filepath.Join(hub, "two/SKILL.md"), good("two"))
	turn(t, "two", filepath.Join(hub, "cur"))
	turn(t, "y/T.md", filepath.Join(hub, "T.md"))
	turn(t, "../.hub/y/meta.json", filepath.Join(root, ".meta/m"))
	c = load(t, l, pannier.Batch{Dirs: []string{hub}})
	wantWatch(t, c, root, hub, hub+"/two", hub+"/y", hub+"/y/T.md", hub+"/y/meta.json", root+"/.meta", root+"/b", root+"/c")
	if a, b, c := c.Skills[0], c.Skills[1], c.Skills[2]; a.Description != "two" || b.Description != "y" || c.Slug != "y" {
		t.Errorf("%q, %q, %q", a.Description, b.Description, c.Slug)
	}
}

// TestChainThatEndsEarly covers what replaces a link by two calls: between them it leads nowhere, and is to be found again.
func TestChainThatEndsEarly(t *testing.T) {
	root := tree(t, ".hub/one", "b")
	hub := filepath.Join(root, ".hub")
	link(t, "one", filepath.Join(hub, "cur"))
	link(t, ".hub/cur", filepath.Join(root, "a"))
	remove(t, filepath.Join(root, "b/SKILL.md"))
	link(t, "../.hub/cur/SKILL.md", filepath.Join(root, "b/SKILL.md"))
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	wantPaths(t, load(t, l, pannier.Batch{Full: true}), "a", "b")
	for _, broken := range []func(){
		func() { remove(t, filepath.Join(hub, "cur")) },
		func() { turn(t, "gone/deep/er", filepath.Join(hub, "cur")) },
		func() { turn(t, "one/SKILL.md/x", filepath.Join(hub, "cur")) },
		func() { turn(t, "cur", filepath.Join(hub, "cur")) },
		func() { turn(t, "../../elsewhere", filepath.Join(hub, "cur")) },
		func() { turn(t, "/etc", filepath.Join(hub, "cur")) },
	} {
		broken()
		c := load(t, l, pannier.Batch{Dirs: []string{hub}})
		wantPaths(t, c, "b")
		if !slices.Contains(c.Watch.Dirs, hub) {
			t.Errorf("%s is not in %q", hub, c.Watch.Dirs)
		}
		remove(t, filepath.Join(hub, "cur"))
		link(t, "one", filepath.Join(hub, "cur"))
		c = load(t, l, pannier.Batch{Dirs: []string{hub}})
		wantPaths(t, c, "a", "b")
		if c.Skills[1].LastGood {
			t.Errorf("not mended: %v", c.Skills[1].Problems)
		}
	}
}

// TestChainsAreForgotten removes what made directories worth watching.
func TestChainsAreForgotten(t *testing.T) {
	root := tree(t, ".hub/one", "s", ".skipped")
	hub := filepath.Join(root, ".hub")
	link(t, "one", filepath.Join(hub, "cur"))
	link(t, "one/SKILL.md", filepath.Join(hub, "M.md"))
	link(t, ".hub/cur", filepath.Join(root, "a"))
	for _, dir := range []string{"s", ".skipped"} {
		remove(t, filepath.Join(root, dir, "SKILL.md"))
		link(t, "../.hub/M.md", filepath.Join(root, dir, "SKILL.md"))
	}
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	wantWatch(t, load(t, l, pannier.Batch{Full: true}), root, hub, hub+"/one", hub+"/one/SKILL.md", root+"/.skipped", root+"/s")
	remove(t, filepath.Join(root, "a"))
	remove(t, filepath.Join(root, "s/SKILL.md"))
	remove(t, filepath.Join(root, ".skipped/SKILL.md"))
	wantWatch(t, load(t, l, pannier.Batch{Full: true}), root, root+"/s")
}

// TestChainsAreBounded has more links in a row than the kernel follows.
func TestChainsAreBounded(t *testing.T) {
	root := tree(t)
	previous := "nowhere"
	for i := range 100 {
		dir := filepath.Join(root, ".d", strconv.Itoa(i))
		mkdir(t, dir)
		link(t, previous, filepath.Join(dir, "l"))
		previous = "../" + strconv.Itoa(i) + "/l"
	}
	link(t, ".d/99/l", filepath.Join(root, "a"))
	c := full(t, root)
	if n := len(c.Watch.Dirs); n < 30 || n > 42 {
		t.Errorf("%d directories", n)
	}
}
