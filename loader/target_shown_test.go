package loader_test

import (
	"os"
	"path/filepath"
	"testing"

	"pannier"
	"pannier/loader"
)

// TestTargetOfALinkedSkill names the directory that a skill is a symlink to, also after the symlink was retargeted to the same files.
func TestTargetOfALinkedSkill(t *testing.T) {
	root := tree(t)
	writeSkill(t, root, ".store/a", "---\nname: a\ndescription: what it does\n---\nbody\n")
	link := filepath.Join(root, "a")
	if err := os.Symlink(".store/a", link); err != nil {
		t.Fatal(err)
	}
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	s := only(t, load(t, l, pannier.Batch{Full: true}))
	if want := filepath.Join(root, ".store/a"); filepath.Join(filepath.Dir(root), s.Target) != want && s.Target != want {
		t.Errorf("target %q of %s, want %q", s.Target, s.Path, want)
	}
	if err := os.Rename(filepath.Join(root, ".store/a"), filepath.Join(root, ".store/b")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(".store/b", link); err != nil {
		t.Fatal(err)
	}
	now := only(t, load(t, l, pannier.Batch{Full: true}))
	if filepath.Base(now.Target) != "b" || now.Sum == s.Sum {
		t.Errorf("target %q after the symlink was retargeted, sum changed %t", now.Target, now.Sum != s.Sum)
	}
}
