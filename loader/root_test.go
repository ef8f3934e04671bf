package loader_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/loader"
)

func TestRootComesAndGoes(t *testing.T) {
	root := filepath.Join(t.TempDir(), "skills")
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	around := pannier.Batch{Dirs: []string{filepath.Dir(root)}}
	c := load(t, l, pannier.Batch{Full: true})
	wantPaths(t, c)
	wantCodes(t, c.Problems, "root.missing")
	if diff := cmp.Diff([]string{root}, c.Watch.Dirs); diff != "" {
		t.Errorf("a missing root wants watching too: %s", diff)
	}

	writeSkill(t, root, "a", good("one"))
	c = load(t, l, around)
	wantPaths(t, c, "a")
	wantCodes(t, c.Problems)

	remove(t, root)
	c = load(t, l, around)
	wantPaths(t, c)
	wantCodes(t, c.Problems, "root.missing")

	write(t, root, "a file")
	c = load(t, l, around)
	wantPaths(t, c)
	wantCodes(t, c.Problems, "root.not_directory")

	remove(t, root)
	writeSkill(t, root, "a", good("two"))
	if s := only(t, load(t, l, around)); s.Description != "two" {
		t.Errorf("description %q", s.Description)
	}
	remove(t, root)
	write(t, root, "a file")
	wantPaths(t, load(t, l, around))
}

func TestRootRemovedAndMadeAgainAtOnce(t *testing.T) {
	root := tree(t, "a", "b/c")
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	load(t, l, pannier.Batch{Full: true})
	remove(t, root)
	writeSkill(t, root, "a", good("new"))
	c := load(t, l, pannier.Batch{Dirs: []string{filepath.Dir(root), root, filepath.Join(root, "a"), filepath.Join(root, "b")}})
	if s := only(t, c); s.Description != "new" {
		t.Errorf("description %q", s.Description)
	}
}

func TestRootReplacedByRename(t *testing.T) {
	root := tree(t, "a", "g/b")
	next := tree(t, "a", "g/b", "c")
	writeSkill(t, next, "a", good("new"))
	writeSkill(t, next, "g/b", good("new"))
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	load(t, l, pannier.Batch{Full: true})
	rename(t, root, root+".old")
	rename(t, next, root)
	c := load(t, l, pannier.Batch{Dirs: []string{filepath.Dir(root)}})
	wantPaths(t, c, "a", "c", "g/b")
	if c.Skills[0].Description != "new" || c.Skills[2].Description != "new" {
		t.Error("skills of the old root are served")
	}

	// The same directory, changed while it was elsewhere.
	rename(t, root, root+".away")
	writeSkill(t, root+".away", "g/b", good("changed"))
	rename(t, root+".away", root)
	c = load(t, l, pannier.Batch{Dirs: []string{filepath.Dir(root)}})
	if c.Skills[2].Description != "changed" {
		t.Errorf("description %q", c.Skills[2].Description)
	}
}

func TestRootIsALink(t *testing.T) {
	one, two := tree(t, "a"), tree(t, "a", "b")
	root := filepath.Join(t.TempDir(), "skills")
	link(t, one, root)
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	wantPaths(t, load(t, l, pannier.Batch{Full: true}), "a")
	remove(t, root)
	link(t, two, root)
	c := load(t, l, pannier.Batch{Dirs: []string{filepath.Dir(root)}})
	wantPaths(t, c, "a", "b")
	wantWatch(t, c, root, filepath.Join(root, "a"), filepath.Join(root, "b"))
}

// TestRootsThatAreOneDirectory turns the link of the second of two roots to the first one and away from it.
func TestRootsThatAreOneDirectory(t *testing.T) {
	one, two := tree(t, "a", "g/b"), tree(t, "c")
	root := filepath.Join(t.TempDir(), "skills")
	link(t, one, root)
	rules := rulesFor(one)
	rules.Roots = append(rules.Roots, pannier.Root{Path: root, Name: "skills", Kind: pannier.SourceExtra})
	l := loader.New(loader.Options{Rules: rules, DeleteGrace: time.Hour})
	turn := func(target string) pannier.Catalog {
		remove(t, root)
		link(t, target, root)
		return load(t, l, pannier.Batch{Dirs: []string{filepath.Dir(root)}})
	}
	same := func(c pannier.Catalog) {
		t.Helper()
		wantPaths(t, c, "a", "g/b")
		wantCodes(t, c.Problems, "root.same")
		if p := c.Problems[0]; p.Path != "skills" || p.Severity != pannier.SeverityError || !strings.Contains(p.Message, rules.Roots[0].Name) || len(c.Locks) != 2 {
			t.Errorf("%+v, locks %v", p, c.Locks)
		}
	}
	same(load(t, l, pannier.Batch{Full: true}))
	c := turn(two)
	wantPaths(t, c, "a", "g/b", "c")
	wantCodes(t, c.Problems)
	same(turn(one))
	remove(t, one)
	wantCodes(t, load(t, l, pannier.Batch{Full: true}).Problems, "root.missing", "root.missing")
}

func wantWatch(t *testing.T, c pannier.Catalog, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, c.Watch.Dirs); diff != "" {
		t.Errorf("watch: want -, got +:\n%s", diff)
	}
}

func TestSeveralRoots(t *testing.T) {
	one, two := tree(t, "a", "b"), tree(t, "a")
	rules := rulesFor(one)
	rules.Roots = append(rules.Roots, pannier.Root{Path: two, Name: two, Kind: pannier.SourceExtra})
	l := loader.New(loader.Options{Rules: rules})
	c := load(t, l, pannier.Batch{Seq: 7, Full: true})
	wantPaths(t, c, "a", "b", "a")
	if s := c.Skills[2]; s.RootIndex != 1 || s.Root != two || s.Path != two+"/a" || s.SourceKind != pannier.SourceExtra || s.Implicit || c.Seq != 7 {
		t.Errorf("%+v in catalog %d", s, c.Seq)
	}
	writeSkill(t, two, "c", good("d"))
	wantPaths(t, load(t, l, pannier.Batch{Dirs: []string{two}}), "a", "b", "a", "c")
	remove(t, one)
	c = load(t, l, pannier.Batch{Dirs: []string{filepath.Dir(one)}})
	wantPaths(t, c, "a", "c")
	wantCodes(t, c.Problems, "root.missing")
}

func TestWatchVersionMovesWithDirs(t *testing.T) {
	root := tree(t, "a", "b/c")
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	first := load(t, l, pannier.Batch{Full: true}).Watch
	writeSkill(t, root, "a", good("other"))
	if same := load(t, l, pannier.Batch{Full: true}).Watch; same.Version != first.Version {
		t.Errorf("version %d after %d, and the directories are the same", same.Version, first.Version)
	}
	writeSkill(t, root, "d", good("d"))
	more := load(t, l, pannier.Batch{Dirs: []string{root}}).Watch
	if more.Version == first.Version || len(more.Dirs) != len(first.Dirs)+1 {
		t.Errorf("version %d, %q", more.Version, more.Dirs)
	}
}
