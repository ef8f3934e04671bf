package loader_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"pannier"
	"pannier/loader"
)

// generation is a volume of three skills that all say which it is of.
func generation(n int) map[string]string {
	text := good(fmt.Sprintf("generation %d", n))
	return map[string]string{"a/SKILL.md": text, "b/SKILL.md": text, "g/c/SKILL.md": text}
}

// wantOne checks that all skills of a catalog are of one generation, and returns it.
func wantOne(t *testing.T, c pannier.Catalog) string {
	t.Helper()
	for _, s := range c.Skills {
		if s.Description != c.Skills[0].Description || s.LastGood || s.Broken {
			t.Fatalf("%s is of %q, %s of %q", c.Skills[0].Path, c.Skills[0].Description, s.Path, s.Description)
		}
	}
	return c.Skills[0].Description
}

// TestSwapInTheMidstOfALook swaps a volume while it is read.
func TestSwapInTheMidstOfALook(t *testing.T) {
	for _, before := range []int{1, 2, 3} {
		t.Run(fmt.Sprint(before), func(t *testing.T) {
			root := tree(t)
			publish(t, root, "..2026_1", generation(1))
			l := loader.New(loader.Options{Rules: rulesFor(root)})
			load(t, l, pannier.Batch{Full: true})
			publish(t, root, "..2026_2", generation(2))
			opened := 0
			l.OnOpen(func(string) {
				if opened++; opened == before {
					publish(t, root, "..2026_3", generation(3))
				}
			})
			c := load(t, l, pannier.Batch{Dirs: []string{root}})
			wantPaths(t, c, "a", "b", "g/c")
			if got := wantOne(t, c); got != "generation 3" {
				t.Errorf("served %q", got)
			}
		})
	}
}

// TestVolumeThatNeverHoldsStill swaps it each time that it is read: the catalog stays as it was.
func TestVolumeThatNeverHoldsStill(t *testing.T) {
	root := tree(t)
	publish(t, root, "..2026_0", generation(0))
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	load(t, l, pannier.Batch{Full: true})
	n := 0
	swap := func(string) { n++; publish(t, root, fmt.Sprintf("..2026_%d", n), generation(n)) }
	swap("")
	l.OnOpen(swap)
	if got := wantOne(t, load(t, l, pannier.Batch{Dirs: []string{root}})); got != "generation 0" {
		t.Errorf("served %q of %d", got, n)
	}
	if l.Revisit().IsZero() {
		t.Error("no scan is scheduled")
	}
	l.OnOpen(nil)
	if got, want := wantOne(t, load(t, l, pannier.Batch{})), fmt.Sprintf("generation %d", n); got != want || !l.Revisit().IsZero() {
		t.Errorf("served %q, want %q", got, want)
	}
}

// TestRootsOfOneVolume swaps the volume that both roots are links into, after the first was read.
func TestRootsOfOneVolume(t *testing.T) {
	dir := t.TempDir()
	both := func(n int) map[string]string {
		text := good(fmt.Sprintf("generation %d", n))
		return map[string]string{"one/a/SKILL.md": text, "two/b/SKILL.md": text}
	}
	publish(t, dir, "..2026_1", both(1))
	rules := rulesFor(filepath.Join(dir, "one"))
	rules.Roots = append(rules.Roots, pannier.Root{Path: filepath.Join(dir, "two"), Name: "two", Kind: pannier.SourceManaged})
	l := loader.New(loader.Options{Rules: rules})
	load(t, l, pannier.Batch{Full: true})
	publish(t, dir, "..2026_2", both(2))
	opened := 0
	l.OnOpen(func(string) {
		if opened++; opened == 2 {
			publish(t, dir, "..2026_3", both(3))
		}
	})
	c := load(t, l, pannier.Batch{Full: true})
	if got := wantOne(t, c); got != "generation 3" || len(c.Skills) != 2 {
		t.Errorf("served %q of %d skills", got, len(c.Skills))
	}
}

// TestSteady asks behind a load whether what was read is still what is there.
func TestSteady(t *testing.T) {
	root := tree(t)
	publish(t, root, "..2026_1", generation(1))
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	load(t, l, pannier.Batch{Full: true})
	if publish(t, root, "..2026_2", generation(2)); l.Steady() {
		t.Error("a swap behind the load is not noticed")
	}
	if load(t, l, pannier.Batch{Full: true}); !l.Steady() {
		t.Error("not steady, although nothing has changed")
	}
	rename(t, root, root+"_old")
	if mkdir(t, root); l.Steady() {
		t.Error("another root behind the load is not noticed")
	}
}

// TestSameContentSwapIsNoChange swaps a volume for an equal one.
func TestSameContentSwapIsNoChange(t *testing.T) {
	root := tree(t)
	publish(t, root, "..2026_1", generation(1))
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	before := load(t, l, pannier.Batch{Full: true})
	publish(t, root, "..2026_2", generation(1))
	after := load(t, l, pannier.Batch{Dirs: []string{root}})
	for i, s := range after.Skills {
		if s != before.Skills[i] {
			t.Errorf("%s is another skill", s.Path)
		}
	}
}

// TestLinkThatEndsAtNoVolume has an entry of that name that is none.
func TestLinkThatEndsAtNoVolume(t *testing.T) {
	root := tree(t, "a")
	write(t, filepath.Join(root, "..data"), "a file")
	link(t, "a", filepath.Join(root, "b"))
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	wantPaths(t, load(t, l, pannier.Batch{Full: true}), "a", "b")
	if err := os.Remove(filepath.Join(root, "..data")); err != nil {
		t.Fatal(err)
	}
	wantPaths(t, load(t, l, pannier.Batch{Full: true}), "a", "b")
	if !l.Revisit().IsZero() {
		t.Error("the root is taken for a unstable one")
	}
}
