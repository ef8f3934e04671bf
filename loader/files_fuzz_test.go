package loader_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pannier"
	"pannier/loader"
)

// FuzzOpen opens nothing that lies outside of the skill directory, whatever the path is.
func FuzzOpen(f *testing.F) {
	root := filepath.Join(f.TempDir(), "skills")
	writeSkill(f, root, "pdf", "---\nname: pdf\ndescription: d\n---\n")
	writeSkill(f, root, "other", "---\nname: other\ndescription: d\n---\nsecret\n")
	dir := filepath.Join(root, "pdf")
	for name, target := range map[string]string{"in": "SKILL.md", "out": "../other/SKILL.md", "up": "..", "self": "."} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			f.Fatal(err)
		}
	}
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	var s *pannier.Skill
	for _, found := range load(f, l, pannier.Batch{Full: true}).Skills {
		if found.PathBelowRoot == "pdf" {
			s = found
		}
	}
	for _, name := range []string{"SKILL.md", "in", "out", "up/other/SKILL.md", "self/in", "self/up/other/SKILL.md", "../other/SKILL.md", "/etc/passwd", "a\x00", ".", ""} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		file, err := l.Open(t.Context(), s, name)
		if err != nil {
			return
		}
		defer file.Close()
		var text bytes.Buffer
		if _, err := file.WriteTo(&text); err != nil || strings.Contains(text.String(), "secret") || file.Digest() != s.Digest {
			t.Errorf("%q gives %q (%v)", name, &text, err)
		}
	})
}
