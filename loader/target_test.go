package loader_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pannier"
	"pannier/loader"
)

// storeBeside returns rules for a root whose links may lead into a directory beside it, and both directories.
func storeBeside(t *testing.T, dirs ...string) (rules pannier.DiscoveryRules, root, store string) {
	t.Helper()
	root = tree(t, dirs...)
	store = filepath.Join(filepath.Dir(root), "store")
	rules = rulesFor(root)
	rules.Roots[0].LinkTargets = []string{store}
	return rules, root, store
}

func TestLinksIntoTargets(t *testing.T) {
	rules, root, store := storeBeside(t, "a", "file")
	out := filepath.Dir(root)
	writeSkill(t, store, "abs", good("abs"))
	writeSkill(t, store, "rel", good("rel"))
	writeSkill(t, store, "group/x", good("x"))
	writeSkill(t, store, "tooled/tools/deep", good("deep"))
	writeSkill(t, out, "secret", good("secret"))
	writeSkill(t, out, "store-not", good("its name only begins like the target's"))
	write(t, filepath.Join(store, "one.md"), good("one"))
	write(t, filepath.Join(store, "rel/notes.md"), "notes")
	link(t, filepath.Join(store, "abs"), filepath.Join(root, "abs"))
	link(t, "../store/rel", filepath.Join(root, "rel"))
	link(t, "../store/group", filepath.Join(root, "group"))
	link(t, filepath.Join(out, "hop"), filepath.Join(root, "hop")) // by a link that lies outside
	link(t, "store/abs", filepath.Join(out, "hop"))
	remove(t, filepath.Join(root, "file/SKILL.md"))
	link(t, filepath.Join(store, "one.md"), filepath.Join(root, "file/SKILL.md"))
	link(t, filepath.Join(out, "secret"), filepath.Join(store, "group/leak")) // the target's own links may leave it no more
	link(t, "../secret", filepath.Join(root, "outside"))
	link(t, "../store-not", filepath.Join(root, "prefix"))
	link(t, "..", filepath.Join(root, "up"))
	link(t, "../store/nothing", filepath.Join(root, "dangling"))

	l := loader.New(loader.Options{Rules: rules})
	for range 2 {
		c := load(t, l, pannier.Batch{Full: true})
		wantPaths(t, c, "a", "abs", "file", "group/x", "hop", "rel")
		wantCodes(t, c.Problems, "root.link_outside", "root.link_outside")
		if p := c.Problems[0]; p.Path != "skills/outside" || !strings.Contains(p.Message, "2 more") || !strings.Contains(p.Hint, "link_targets") {
			t.Errorf("told %v", p)
		}
		wantWatch(t, c, out+"/hop", root, root+"/a", root+"/file", store, store+"/abs", store+"/group", store+"/group/x", store+"/nothing", store+"/one.md", store+"/rel")
	}
	c := load(t, l, pannier.Batch{Full: true})
	for _, s := range c.Skills {
		if s.Broken {
			t.Errorf("%s: %v", s.Path, s.Problems)
		}
		if _, err := l.Read(t.Context(), s); err != nil {
			t.Error(err)
		}
		if _, err := l.Inspect(t.Context(), s); err != nil {
			t.Error(err)
		}
		f, err := l.Open(t.Context(), s, "SKILL.md")
		if err != nil {
			t.Error(err)
			continue
		}
		f.Close()
	}
	files, _, err := l.Files(t.Context(), c.Skills[5])
	if err != nil || len(files) != 2 || files[1].Path != "notes.md" {
		t.Errorf("files %v, error %v", files, err)
	}
	if f, err := l.Open(t.Context(), c.Skills[5], "notes.md"); err != nil || f.Size() != 5 {
		t.Errorf("notes.md: %v", err)
	} else {
		f.Close()
	}
}

// TestTargetChanges looks only where the watch set says, while what the links lead to comes, changes, and goes elsewhere.
func TestTargetChanges(t *testing.T) {
	rules, root, store := storeBeside(t)
	link(t, store+"/cur/a", filepath.Join(root, "a"))
	mkdir(t, filepath.Join(root, "file"))
	link(t, store+"/cur/one.md", filepath.Join(root, "file/SKILL.md"))
	l := loader.New(loader.Options{Rules: rules})
	c := load(t, l, pannier.Batch{Full: true})
	wantPaths(t, c, "file")
	wantWatch(t, c, root, root+"/file", store) // the store is not there yet: that it comes is watched
	for _, version := range []string{"v1", "v2"} {
		writeSkill(t, store, version+"/a", good(version))
		write(t, filepath.Join(store, version, "one.md"), good(version))
		turn(t, version, filepath.Join(store, "cur"))
		c = load(t, l, pannier.Batch{Dirs: []string{store}})
		wantPaths(t, c, "a", "file")
		for _, s := range c.Skills {
			if s.Broken || s.LastGood || s.Description != version {
				t.Errorf("%s: %q in %s", s.Path, s.Description, version)
			}
		}
		wantWatch(t, c, root, root+"/file", store, store+"/"+version, store+"/"+version+"/a", store+"/"+version+"/one.md")
	}
	writeSkill(t, store, "v2/a", good("v3"))
	if s := load(t, l, pannier.Batch{Dirs: []string{store + "/v2/a"}}).Skills[0]; s.Description != "v3" {
		t.Errorf("%q", s.Description)
	}
	writeSkill(t, filepath.Dir(root), "secret/a", good("secret"))
	turn(t, "../secret", filepath.Join(store, "cur"))
	c = load(t, l, pannier.Batch{Dirs: []string{store}})
	wantPaths(t, c, "file")
	if s := c.Skills[0]; !s.LastGood || s.Description != "v2" {
		t.Errorf("%+v", s)
	}
}

// TestVolumeInATarget swaps a volume that links lead to, in the midst of a look at it.
func TestVolumeInATarget(t *testing.T) {
	rules, root, store := storeBeside(t)
	mkdir(t, store)
	version := func(v string) {
		publish(t, store, "..2026_"+v, map[string]string{
			"a/SKILL.md": good(v), "a/_meta.json": `{"version":"` + v + `"}`, "b/SKILL.md": good(v),
		})
	}
	version("1")
	link(t, "../store/a", filepath.Join(root, "a"))
	link(t, store+"/b", filepath.Join(root, "b"))
	l := loader.New(loader.Options{Rules: rules})
	next, swaps := 2, 0
	l.OnOpen(func(string) {
		if swaps < 2 {
			swaps++
			version(string(rune('0' + next)))
			next++
		}
	})
	c := load(t, l, pannier.Batch{Full: true})
	wantPaths(t, c, "a", "b")
	if a, b := c.Skills[0], c.Skills[1]; a.Description != "3" || a.Version != "3" || b.Description != "3" {
		t.Errorf("%q %q, %q", a.Description, a.Version, b.Description)
	}
	wantWatch(t, c, root, store, store+"/..2026_3/a", store+"/..2026_3/b")
}

// TestTargetThatIsALink has a root and a target whose paths lead through links.
func TestTargetThatIsALink(t *testing.T) {
	base := t.TempDir()
	writeSkill(t, base, "real/root/a", good("a"))
	writeSkill(t, base, "real/store/b", good("b"))
	link(t, "real/root", filepath.Join(base, "skills"))
	link(t, "real/store", filepath.Join(base, "store"))
	link(t, "../store/b", filepath.Join(base, "real/root/b")) // where the kernel goes from the real root
	rules := rulesFor(filepath.Join(base, "skills"))
	rules.Roots[0].LinkTargets = []string{filepath.Join(base, "none"), filepath.Join(base, "store")}
	c := load(t, loader.New(loader.Options{Rules: rules}), pannier.Batch{Full: true})
	wantPaths(t, c, "a", "b")
	real, err := filepath.EvalSymlinks(base)
	if err != nil {
		t.Fatal(err)
	}
	wantWatch(t, c, real+"/real/store/b", base+"/skills", base+"/skills/a")
	if err := os.Remove(filepath.Join(base, "store")); err != nil {
		t.Fatal(err)
	}
	c = load(t, loader.New(loader.Options{Rules: rules}), pannier.Batch{Full: true})
	wantPaths(t, c, "a")
	wantCodes(t, c.Problems, "root.link_outside")
}

// TestLinksToWhatNoTargetHolds watches no directory outside for them: anybody may write there at any time. What lies outside is
// watched by the entry, so that a link that comes there, or is turned, is noticed.
func TestLinksToWhatNoTargetHolds(t *testing.T) {
	rules, root, store := storeBeside(t, "a")
	writeSkill(t, store, "x", good("x"))
	out := filepath.Join(filepath.Dir(root), "outside")
	mkdir(t, out)
	write(t, filepath.Join(out, "file"), "text")
	mkdir(t, filepath.Join(root, "f"))
	link(t, filepath.Join(out, "none"), filepath.Join(root, "stale"))
	link(t, out, filepath.Join(root, "there"))
	link(t, "../outside/none/deep/er", filepath.Join(root, "deep"))
	link(t, out+"/file/below", filepath.Join(root, "through"))
	link(t, out+"/none.md", filepath.Join(root, "f/SKILL.md"))
	link(t, "../store/not-yet", filepath.Join(out, "soon"))
	link(t, out+"/soon", filepath.Join(root, "soon"))
	l := loader.New(loader.Options{Rules: rules})
	c := load(t, l, pannier.Batch{Full: true})
	wantPaths(t, c, "a", "f")
	wantWatch(t, c, out+"/file", out+"/none", out+"/none.md", out+"/soon", root, root+"/a", root+"/f", store, store+"/not-yet")
	link(t, store+"/x", filepath.Join(out, "none"))
	link(t, store+"/x/SKILL.md", filepath.Join(out, "none.md"))
	c = load(t, l, pannier.Batch{Dirs: []string{out + "/none", out + "/none.md"}})
	wantPaths(t, c, "a", "f", "stale")
	if f := c.Skills[1]; f.Broken || f.Description != "x" {
		t.Errorf("%+v", f)
	}
	wantWatch(t, c, out+"/file", out+"/none", out+"/none.md", out+"/soon", root, root+"/a", root+"/f", store, store+"/not-yet", store+"/x", store+"/x/SKILL.md", store+"/x/deep")
}
