package loader_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/loader"
)

// exchange makes two entries change places in one step.
func exchange(t *testing.T, a, b string) {
	t.Helper()
	if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
		t.Skip("this file system exchanges nothing: ", err)
	}
}

// generations writes some directories `v1`, `v2` and so on, each with three skills that say which it is of.
func generations(t *testing.T, dir string) {
	t.Helper()
	for n := 1; n <= 3; n++ {
		for name, text := range generation(n) {
			writeSkill(t, dir, filepath.Join(fmt.Sprintf("v%d", n), filepath.Dir(name)), text)
		}
	}
}

// waysToReplace are the ways to show another generation in one step. Each prepares a root, and returns what shows one.
var waysToReplace = map[string]func(t *testing.T, root, store string) (show func(n int)){
	"directory": func(t *testing.T, root, store string) func(int) {
		rename(t, filepath.Join(store, "v1"), filepath.Join(root, "group"))
		return func(n int) { exchange(t, filepath.Join(store, fmt.Sprintf("v%d", n)), filepath.Join(root, "group")) }
	},
	"directory around it": func(t *testing.T, root, store string) func(int) {
		mkdir(t, filepath.Join(root, "outer"))
		rename(t, filepath.Join(store, "v1"), filepath.Join(root, "outer/inner"))
		return func(n int) {
			mkdir(t, filepath.Join(store, "next"))
			from := filepath.Join(store, fmt.Sprintf("v%d", n))
			rename(t, from, filepath.Join(store, "next/inner"))
			exchange(t, filepath.Join(store, "next"), filepath.Join(root, "outer"))
			remove(t, filepath.Join(store, "next"))
		}
	},
	"link within the root": func(t *testing.T, root, store string) func(int) {
		rename(t, store, filepath.Join(root, "node_modules"))
		link(t, "node_modules/v1", filepath.Join(root, "group"))
		return func(n int) { turn(t, fmt.Sprintf("node_modules/v%d", n), filepath.Join(root, "group")) }
	},
	"link into a target": func(t *testing.T, root, store string) func(int) {
		link(t, "../store/v1", filepath.Join(root, "group"))
		return func(n int) { turn(t, fmt.Sprintf("../store/v%d", n), filepath.Join(root, "group")) }
	},
	"link on the way": func(t *testing.T, root, store string) func(int) {
		link(t, "v1", filepath.Join(store, "now"))
		for _, name := range []string{"a", "b", "g"} {
			link(t, filepath.Join(store, "now", name), filepath.Join(root, name))
		}
		return func(n int) { turn(t, fmt.Sprintf("v%d", n), filepath.Join(store, "now")) }
	},
	"link on the way of files": func(t *testing.T, root, store string) func(int) {
		link(t, "v1", filepath.Join(store, "now"))
		for _, name := range []string{"a", "b", "g/c"} {
			mkdir(t, filepath.Join(root, name))
			link(t, filepath.Join(store, "now", name, "SKILL.md"), filepath.Join(root, name, "SKILL.md"))
		}
		return func(n int) { turn(t, fmt.Sprintf("v%d", n), filepath.Join(store, "now")) }
	},
}

// TestReplacedInTheMidstOfALook replaces skills that belong together while they are read.
func TestReplacedInTheMidstOfALook(t *testing.T) {
	for name, prepare := range waysToReplace {
		for before := 1; before <= 3; before++ {
			t.Run(fmt.Sprint(name, " ", before), func(t *testing.T) {
				rules, root, store := storeBeside(t)
				generations(t, store)
				show := prepare(t, root, store)
				l := loader.New(loader.Options{Rules: rules})
				wantOne(t, load(t, l, pannier.Batch{Full: true}))
				show(2)
				opened := 0
				l.OnOpen(func(string) {
					if opened++; opened == before {
						show(3)
					}
				})
				c := load(t, l, pannier.Batch{Full: true})
				if got := wantOne(t, c); got != "generation 3" || len(c.Skills) != 3 || opened < before {
					t.Errorf("served %q of %d skills, %d files opened", got, len(c.Skills), opened)
				}
				if !l.Revisit().IsZero() {
					t.Error("the root is taken for a unstable one")
				}
			})
		}
	}
}

// TestReplacedBeforeALookThatIsToldOfLess looks at one skill of a directory that was replaced, of which no event has told yet.
func TestReplacedBeforeALookThatIsToldOfLess(t *testing.T) {
	for _, name := range []string{"directory", "directory around it"} {
		rules, root, store := storeBeside(t)
		generations(t, store)
		show := waysToReplace[name](t, root, store)
		l := loader.New(loader.Options{Rules: rules})
		first := load(t, l, pannier.Batch{Full: true}).Skills[0]
		show(2)
		c := load(t, l, pannier.Batch{Dirs: []string{filepath.Join(root, first.PathBelowRoot)}})
		if got := wantOne(t, c); got != "generation 2" || len(c.Skills) != 3 {
			t.Errorf("%s: served %q of %d skills", name, got, len(c.Skills))
		}
	}
}

// TestReplacedByOneWithOtherSkills exchanges a group behind its own look and before that at what it holds, so that all that there
// is to learn of is that skills are gone.
func TestReplacedByOneWithOtherSkills(t *testing.T) {
	for grace, want := range map[time.Duration][]string{0: {"first/a", "later/d", "later/e"}, time.Hour: {"first/a", "later/b", "later/c", "later/d", "later/e"}} {
		root := tree(t, "first/a", "later/b", "later/c", "node_modules/new/d", "node_modules/new/e")
		l := loader.New(loader.Options{Rules: rulesFor(root), DeleteGrace: grace})
		l.SetClock(func() time.Time { return time.Now().Add(time.Hour) })
		load(t, l, pannier.Batch{Full: true})
		writeSkill(t, root, "first/a", good("changed, and longer than before"))
		l.OnOpen(func(string) {
			l.OnOpen(nil)
			exchange(t, filepath.Join(root, "later"), filepath.Join(root, "node_modules/new"))
		})
		wantPaths(t, load(t, l, pannier.Batch{Full: true}), want...)
	}
}

// TestLinkTurnedBetweenRoots turns a link that two roots lead through, after the first was looked at.
func TestLinkTurnedBetweenRoots(t *testing.T) {
	rules, root, store := storeBeside(t)
	generations(t, store)
	link(t, "v1", filepath.Join(store, "now"))
	link(t, filepath.Join(store, "now/a"), filepath.Join(root, "a"))
	two := filepath.Join(filepath.Dir(root), "two")
	writeSkill(t, two, "0", good("generation 2"))
	link(t, filepath.Join(store, "now/b"), filepath.Join(two, "b"))
	rules.Roots = append(rules.Roots, pannier.Root{Path: two, Name: "two", Kind: pannier.SourceManaged, LinkTargets: []string{store}})
	l := loader.New(loader.Options{Rules: rules})
	l.OnOpen(func(rel string) {
		if rel == "0/SKILL.md" {
			turn(t, "v2", filepath.Join(store, "now"))
			l.OnOpen(nil)
		}
	})
	if c := load(t, l, pannier.Batch{Full: true}); wantOne(t, c) != "generation 2" || len(c.Skills) != 3 {
		t.Errorf("served %q of %d skills", wantOne(t, c), len(c.Skills))
	}
}

// TestLinkThatNeverHoldsStill turns one each time that something is read: what else has changed is served nevertheless.
func TestLinkThatNeverHoldsStill(t *testing.T) {
	rules, root, store := storeBeside(t, "own")
	generations(t, store)
	show := waysToReplace["link into a target"](t, root, store)
	l := loader.New(loader.Options{Rules: rules})
	load(t, l, pannier.Batch{Full: true})
	writeSkill(t, root, "own", good("another"))
	n := 0
	l.OnOpen(func(string) { n++; show(1 + n%3) })
	c := load(t, l, pannier.Batch{Full: true})
	if own := c.Skills[len(c.Skills)-1]; own.Description != "another" || len(c.Skills) != 4 {
		t.Errorf("served %q of %d skills", own.Description, len(c.Skills))
	}
	if !l.Revisit().IsZero() {
		t.Error("the root is taken for a unstable one")
	}
	l.OnOpen(nil)
	remove(t, filepath.Join(root, "own"))
	if got, want := wantOne(t, load(t, l, pannier.Batch{Dirs: []string{root}})), fmt.Sprintf("generation %d", 1+n%3); got != want {
		t.Errorf("served %q, want %q", got, want)
	}
}

// TestSkillReplacedWhileItIsRead puts a skill without a _meta.json in the place of one with it, in the midst of the reading.
func TestSkillReplacedWhileItIsRead(t *testing.T) {
	root := tree(t, "a", "node_modules/b")
	write(t, filepath.Join(root, "a/_meta.json"), `{"version":"1.0.0"}`)
	writeSkill(t, root, "node_modules/b", good("without a version"))
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	l.OnOpen(func(rel string) {
		if rel == "a/SKILL.md" {
			l.OnOpen(nil)
			exchange(t, filepath.Join(root, "a"), filepath.Join(root, "node_modules/b"))
			remove(t, filepath.Join(root, "node_modules/b"))
		}
	})
	s := only(t, load(t, l, pannier.Batch{Full: true}))
	if s.Description != "without a version" || s.Version != "" || len(s.Problems) > 0 {
		t.Errorf("served %q of version %q with %v", s.Description, s.Version, s.Problems)
	}
}

// TestMetaThatComesWhileItIsRead adds a _meta.json while SKILL.md is read.
func TestMetaThatComesWhileItIsRead(t *testing.T) {
	root := tree(t, "a")
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	l.OnOpen(func(string) {
		l.OnOpen(nil)
		write(t, filepath.Join(root, "a/_meta.json"), `{"version":"1.0.0"}`)
	})
	if s := only(t, load(t, l, pannier.Batch{Full: true})); s.Version != "1.0.0" {
		t.Errorf("served version %q", s.Version)
	}
}

// TestSkillThatGoesWhileItIsRead removes a SKILL.md in the midst of its reading: it is gone, and not one that cannot be read.
func TestSkillThatGoesWhileItIsRead(t *testing.T) {
	for _, name := range []string{"SKILL.md", "skill.md"} {
		root := tree(t, "b")
		file := filepath.Join(root, "a", name)
		mkdir(t, filepath.Dir(file))
		write(t, file, good("d"))
		writeSkill(t, root, "a/below", good("d"))
		write(t, filepath.Join(root, "a/_meta.json"), `{}`)
		l := loader.New(loader.Options{Rules: rulesFor(root)})
		l.OnOpen(func(rel string) {
			switch rel {
			case "a/" + name:
				write(t, file, good("longer")) // so that it is read again
			case "a/_meta.json":
				if err := os.Remove(file); err != nil {
					t.Error(err)
				}
				l.OnOpen(nil)
			}
		})
		wantPaths(t, load(t, l, pannier.Batch{Full: true}), "a/below", "b")
	}
}
