package loader_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pannier"
	"pannier/loader"
)

func TestLinksWithinTheRoot(t *testing.T) {
	root := tree(t, "real/a", "g/b")
	link(t, "real/a", filepath.Join(root, "alias"))   // to a skill
	link(t, "../g", filepath.Join(root, "real/more")) // to a directory of skills
	link(t, "alias", filepath.Join(root, "twice"))    // to a link
	mkdir(t, filepath.Join(root, "file"))             // SKILL.md and _meta.json that are links
	link(t, "../shared.md", filepath.Join(root, "file/SKILL.md"))
	link(t, "../shared.json", filepath.Join(root, "file/_meta.json"))
	write(t, filepath.Join(root, "shared.md"), good("shared"))
	write(t, filepath.Join(root, "shared.json"), `{"slug":"s"}`)
	c := full(t, root)
	wantPaths(t, c, "alias", "file", "g/b", "real/a", "real/more/b", "twice")
	wantCodes(t, c.Problems)
	if s := c.Skills[1]; s.Broken || s.Description != "shared" || s.Slug != "s" {
		t.Errorf("%+v", s)
	}
	wantWatch(t, c, root, root+"/file", root+"/g", root+"/g/b", root+"/real", root+"/real/a", root+"/shared.json", root+"/shared.md")
}

func TestLinksOutOfTheRoot(t *testing.T) {
	root := tree(t, "a")
	writeSkill(t, filepath.Dir(root), "outside", good("secret"))
	link(t, "../outside", filepath.Join(root, "z"))
	link(t, filepath.Join(root, "a"), filepath.Join(root, "y"))
	link(t, "nowhere", filepath.Join(root, "dangling"))
	link(t, "loop", filepath.Join(root, "loop"))
	link(t, ".", filepath.Join(root, "self"))
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	for _, b := range []pannier.Batch{{Full: true}, {Full: true}, {Dirs: []string{filepath.Join(root, "a")}}} {
		c := load(t, l, b)
		wantPaths(t, c, "a")
		wantCodes(t, c.Problems, "root.link_outside")
		if p := c.Problems[0]; p.Path != "skills/loop" || !strings.Contains(p.Message, "2 more") {
			t.Errorf("told %v", p)
		}
	}
}

func TestLoopingLinksEnd(t *testing.T) {
	root := tree(t, "x/a", "y/b")
	link(t, "..", filepath.Join(root, "x/up"))
	link(t, "../y", filepath.Join(root, "x/y"))
	link(t, "../x", filepath.Join(root, "y/x"))
	wantPaths(t, full(t, root), "x/a", "x/y/b", "y/b", "y/x/a")
}

func TestLinkTargetChanges(t *testing.T) {
	root := tree(t)
	link(t, ".store/cur/a", filepath.Join(root, "a"))
	link(t, ".store/cur/group", filepath.Join(root, "group"))
	mkdir(t, filepath.Join(root, "file"))
	link(t, "../.store/cur/one.md", filepath.Join(root, "file/SKILL.md"))
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	store := filepath.Join(root, ".store")
	batch := func() pannier.Batch { return pannier.Batch{Dirs: []string{store}} }
	c := load(t, l, pannier.Batch{Full: true})
	wantPaths(t, c, "file") // what it leads to is not there yet, and then comes far away from the link

	for _, version := range []string{"v1", "v2"} {
		writeSkill(t, store, version+"/a", good(version))
		writeSkill(t, store, version+"/group/b", good(version))
		write(t, filepath.Join(store, version, "one.md"), good(version))
		link(t, version, filepath.Join(store, "next"))
		rename(t, filepath.Join(store, "next"), filepath.Join(store, "cur"))
		c = load(t, l, batch())
		wantPaths(t, c, "a", "file", "group/b")
		for _, s := range c.Skills {
			if s.Broken || s.LastGood || s.Description != version {
				t.Errorf("%s: %q in %s", s.Path, s.Description, version)
			}
		}
		in := filepath.Join(store, version)
		wantWatch(t, c, root, store, in, in+"/a", in+"/group", in+"/group/b", in+"/one.md", root+"/file")
	}
	writeSkill(t, store, "v2/group/c", good("v2"))
	wantPaths(t, load(t, l, pannier.Batch{Dirs: []string{filepath.Join(store, "v2/group")}}), "a", "file", "group/b", "group/c")
	writeSkill(t, store, "v2/group/d", good("v2"))
	wantPaths(t, load(t, l, pannier.Batch{Full: true}), "a", "file", "group/b", "group/c", "group/d")

	remove(t, filepath.Join(store, "cur"))
	link(t, "../../outside", filepath.Join(store, "cur"))
	writeSkill(t, filepath.Dir(root), "outside/a", good("secret"))
	c = load(t, l, batch())
	wantPaths(t, c, "file")
	if s := c.Skills[0]; !s.LastGood || s.Description != "v2" {
		t.Errorf("%+v", s)
	}
}

// publish puts a new version into a directory as kubelet does for a ConfigMap.
func publish(t *testing.T, dir, version string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, version, name)
		mkdir(t, filepath.Dir(path))
		write(t, path, text)
	}
	link(t, version, filepath.Join(dir, "..data_tmp"))
	old, _ := os.Readlink(filepath.Join(dir, "..data"))
	rename(t, filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data"))
	for name := range files {
		top, _, _ := strings.Cut(name, "/")
		if _, err := os.Lstat(filepath.Join(dir, top)); err != nil {
			link(t, "..data/"+top, filepath.Join(dir, top))
		}
	}
	if old != "" {
		remove(t, filepath.Join(dir, old))
	}
}

func TestConfigMapOfOneSkill(t *testing.T) {
	root := tree(t, "other")
	dir := filepath.Join(root, "pdf")
	publish(t, dir, "..2026_1", map[string]string{"SKILL.md": good("one"), "_meta.json": `{"slug":"one"}`})
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	c := load(t, l, pannier.Batch{Full: true})
	wantPaths(t, c, "other", "pdf")
	wantWatch(t, c, root, root+"/other", dir, dir+"/..2026_1", dir+"/..2026_1/SKILL.md", dir+"/..2026_1/_meta.json")
	publish(t, dir, "..2026_2", map[string]string{"SKILL.md": good("two"), "_meta.json": `{"slug":"two"}`})
	c = load(t, l, pannier.Batch{Dirs: []string{dir}})
	wantPaths(t, c, "other", "pdf")
	wantWatch(t, c, root, root+"/other", dir, dir+"/..2026_2", dir+"/..2026_2/SKILL.md", dir+"/..2026_2/_meta.json")
	if s := c.Skills[1]; s.Description != "two" || s.Slug != "two" {
		t.Errorf("%q, %q", s.Description, s.Slug)
	}
	files, _, err := l.Files(t.Context(), c.Skills[1])
	if err != nil || len(files) != 2 || files[0].Path != "SKILL.md" || files[1].Path != "_meta.json" {
		t.Errorf("files %v, error %v", files, err)
	}
}

func TestConfigMapOfARoot(t *testing.T) {
	root := tree(t)
	publish(t, root, "..2026_1", map[string]string{"a/SKILL.md": good("one"), "g/b/SKILL.md": good("one")})
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	wantPaths(t, load(t, l, pannier.Batch{Full: true}), "a", "g/b")
	publish(t, root, "..2026_2", map[string]string{"a/SKILL.md": good("two"), "g/b/SKILL.md": good("two"), "c/SKILL.md": good("two")})
	c := load(t, l, pannier.Batch{Dirs: []string{root}})
	wantPaths(t, c, "a", "c", "g/b")
	wantCodes(t, c.Problems)
	for _, s := range c.Skills {
		if s.Description != "two" {
			t.Errorf("%s: %q", s.Path, s.Description)
		}
	}
}
