package loader_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pannier"
	"pannier/loader"
)

// graced is a loader with a grace of two seconds and a clock of its own.
type graced struct {
	*loader.Loader
	t    *testing.T
	root string
	now  time.Time
}

func newGraced(t *testing.T, root string) *graced {
	t.Helper()
	g := &graced{t: t, root: root, now: time.Now()}
	g.Loader = loader.New(loader.Options{Rules: rulesFor(root), DeleteGrace: 2 * time.Second})
	g.SetClock(func() time.Time { return g.now })
	return g
}

func (g *graced) look(dirs ...string) pannier.Catalog {
	g.t.Helper()
	b := pannier.Batch{Full: len(dirs) == 0}
	for _, dir := range dirs {
		b.Dirs = append(b.Dirs, filepath.Join(g.root, dir))
	}
	return load(g.t, g.Loader, b)
}

// held returns the paths of the skills of a catalog that are in their grace.
func held(c pannier.Catalog) []string {
	var paths []string
	for _, s := range c.Skills {
		if s.Deleting {
			paths = append(paths, s.PathBelowRoot)
		}
	}
	return paths
}

func (g *graced) wantHeld(c pannier.Catalog, want ...string) {
	g.t.Helper()
	if got := held(c); !slices.Equal(got, want) {
		g.t.Errorf("held %q, want %q", got, want)
	}
}

func TestVanishedSkillStaysForTheGrace(t *testing.T) {
	for name, vanish := range map[string]struct {
		gone func(t *testing.T, root string)
		look []string
	}{
		"file":      {func(t *testing.T, root string) { remove(t, filepath.Join(root, "b/SKILL.md")) }, []string{"b"}},
		"directory": {func(t *testing.T, root string) { remove(t, filepath.Join(root, "b")) }, []string{""}},
		"unseen":    {func(t *testing.T, root string) { remove(t, filepath.Join(root, "b")) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGraced(t, tree(t, "a", "b"))
			before := g.look().Skills[1]
			vanish.gone(t, g.root)
			c := g.look(vanish.look...)
			wantPaths(t, c, "a", "b")
			g.wantHeld(c, "b")
			if due := g.Revisit(); !due.Equal(g.now.Add(2 * time.Second)) {
				t.Errorf("wants a look in %v", due.Sub(g.now))
			}
			b := c.Skills[1]
			if b.Description != before.Description || b.Digest != before.Digest || b.Sum != before.Sum || before.Deleting {
				t.Errorf("held as %+v, was %+v", b, before)
			}
			if got, want := pannier.TreeDigest(c.Skills), pannier.TreeDigest(c.Skills[:1]); got != want {
				t.Error("what is held counts in the digest of the tree")
			}
			if _, err := g.Read(t.Context(), b); !errors.Is(err, pannier.ErrNotServable) {
				t.Errorf("read: %v", err)
			}

			g.now = g.now.Add(time.Second)
			again := g.look("a")
			if again.Skills[1] != b {
				t.Error("another look makes another skill")
			}
			g.now = g.now.Add(time.Second)
			wantPaths(t, load(t, g.Loader, pannier.Batch{}), "a")
			if !g.Revisit().IsZero() {
				t.Error("wants a look although nothing is held")
			}
		})
	}
}

func TestSkillThatIsBackInItsGraceWasNeverGone(t *testing.T) {
	g := newGraced(t, tree(t, "a", "g/b"))
	g.look()
	remove(t, filepath.Join(g.root, "g"))
	g.wantHeld(g.look(""), "g/b")
	writeSkill(t, g.root, "g/b", good("another"))
	c := g.look("")
	wantPaths(t, c, "a", "g/b")
	g.wantHeld(c)
	if c.Skills[1].Description != "another" || !g.Revisit().IsZero() {
		t.Errorf("%+v", c.Skills[1])
	}

	// The last look finds what no event told of.
	remove(t, filepath.Join(g.root, "g"))
	g.wantHeld(g.look(""), "g/b")
	writeSkill(t, g.root, "g/b", good("once more"))
	g.now = g.now.Add(3 * time.Second)
	c = load(t, g.Loader, pannier.Batch{})
	wantPaths(t, c, "a", "g/b")
	g.wantHeld(c)
}

func TestSkillThatIsBackBrokenIsLastGood(t *testing.T) {
	g := newGraced(t, tree(t, "a"))
	g.look()
	path := filepath.Join(g.root, "a/SKILL.md")
	remove(t, path)
	g.wantHeld(g.look("a"), "a")
	write(t, path, "")
	if s := only(t, g.look("a")); !s.LastGood || s.Deleting || s.Description != "d" {
		t.Errorf("%+v", s)
	}
	write(t, path, good("e"))
	if s := only(t, g.look("a")); s.LastGood || s.Description != "e" {
		t.Errorf("%+v", s)
	}
}

func TestWhatPannierItselfRemovesIsGoneAtOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		sure        string
		paths, held []string
	}{
		"the skill":  {"b", []string{"a", "g/c"}, []string{"g/c"}},
		"its parent": {"g", []string{"a", "b"}, []string{"b"}},
		"the root":   {"", []string{"a", "b", "g/c"}, []string{"b", "g/c"}}, // which it changes for any skill
	} {
		t.Run(name, func(t *testing.T) {
			g := newGraced(t, tree(t, "a", "b", "g/c"))
			g.look()
			remove(t, filepath.Join(g.root, "b"))
			remove(t, filepath.Join(g.root, "g"))
			dirs := []string{g.root}
			c := load(t, g.Loader, pannier.Batch{Dirs: dirs, OwnChanges: []string{filepath.Join(g.root, tt.sure)}})
			wantPaths(t, c, tt.paths...)
			g.wantHeld(c, tt.held...)
		})
	}

	g := newGraced(t, tree(t, "a", "b")) // also where it was noticed before
	g.look()
	remove(t, filepath.Join(g.root, "b"))
	g.wantHeld(g.look(""), "b")
	wantPaths(t, load(t, g.Loader, pannier.Batch{OwnChanges: []string{filepath.Join(g.root, "b")}}), "a")
}

// TestShadowIsNoMove: what was there all the time does not take the place of what has vanished.
func TestShadowIsNoMove(t *testing.T) {
	root := tree(t, "a/foo", "b/foo")
	g := newGraced(t, root)
	g.look()
	if err := os.Rename(filepath.Join(root, "a/foo"), filepath.Join(t.TempDir(), "away")); err != nil {
		t.Fatal(err)
	}
	c := g.look("a")
	wantPaths(t, c, "a/foo", "b/foo")
	g.wantHeld(c, "a/foo")
}

func TestRenamedSkillIsNotHeld(t *testing.T) {
	root := tree(t, "a")
	write(t, filepath.Join(root, "a/_meta.json"), `{"slug":"same"}`)
	g := newGraced(t, root)
	g.look()
	if err := os.Rename(filepath.Join(root, "a"), filepath.Join(root, "b")); err != nil {
		t.Fatal(err)
	}
	c := g.look("")
	wantPaths(t, c, "b")
	if s := only(t, c); s.Slug != "same" {
		t.Errorf("slug %q", s.Slug)
	}
}

func TestRootThatVanishesKeepsItsSkillsForTheGrace(t *testing.T) {
	g := newGraced(t, tree(t, "a", "b"))
	g.look()
	remove(t, g.root)
	c := g.look("")
	wantPaths(t, c, "a", "b")
	wantCodes(t, c.Problems, "root.missing")
	g.wantHeld(c, "a", "b")
	writeSkill(t, g.root, "a", good("back"))
	c = g.look("")
	wantPaths(t, c, "a", "b")
	g.wantHeld(c, "b")
	remove(t, g.root)
	g.now = g.now.Add(2 * time.Second)
	c = load(t, g.Loader, pannier.Batch{})
	wantPaths(t, c, "a")
	g.wantHeld(c, "a")
	g.now = g.now.Add(2 * time.Second)
	wantPaths(t, load(t, g.Loader, pannier.Batch{}))
}

func TestUnreadableRootKeepsItsSkillsForGood(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	g := newGraced(t, tree(t, "a"))
	g.look()
	if err := os.Chmod(g.root, 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(g.root, 0o755)
	g.now = g.now.Add(time.Hour)
	c := g.look()
	wantPaths(t, c, "a")
	g.wantHeld(c)
}

func TestNoGrace(t *testing.T) {
	root := tree(t, "a", "b")
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	load(t, l, pannier.Batch{Full: true})
	remove(t, filepath.Join(root, "b"))
	wantPaths(t, load(t, l, pannier.Batch{Full: true}), "a")
	if !l.Revisit().IsZero() {
		t.Error("wants another look")
	}
}
