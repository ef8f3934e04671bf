package loader_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"pannier"
	"pannier/loader"
	"pannier/loader/profile"
)

// TestAudit compares what an audit and an inspection say of the same skill, and what reading its resources says.
func TestAudit(t *testing.T) {
	for name, make := range map[string]func(root, dir string) error{
		"nothing else":        func(string, string) error { return nil },
		"links that are none": func(_, dir string) error { return os.WriteFile(dir+"/links.yaml", []byte("- no address\n"), 0o644) },
		"links are a FIFO":    func(_, dir string) error { return unix.Mkfifo(dir+"/links.yaml", 0o600) },
		"links lead nowhere":  func(_, dir string) error { return os.Symlink("nowhere", dir+"/links.yaml") },
		"links lead out":      func(_, dir string) error { return os.Symlink("/etc/passwd", dir+"/links.yaml") },
		"examples are a file": func(_, dir string) error { return os.WriteFile(dir+"/examples", nil, 0o644) },
		"examples are a link": func(root, dir string) error {
			return errors.Join(os.MkdirAll(root+"/more/examples", 0o755), unix.Mkfifo(root+"/more/examples/f", 0o600), os.Symlink("../more/examples", dir+"/examples"))
		},
		"a FIFO among examples": func(_, dir string) error {
			return errors.Join(os.Mkdir(dir+"/examples", 0o755), unix.Mkfifo(dir+"/examples/f", 0o600))
		},
		"the text is elsewhere": func(root, dir string) error {
			return errors.Join(os.Rename(dir+"/SKILL.md", root+"/text"), os.Symlink("../text", dir+"/SKILL.md"))
		},
		"more than is listed": func(_, dir string) error {
			var errs []error
			for i := range loader.MaxFiles + 1 {
				errs = append(errs, os.WriteFile(filepath.Join(dir, "f"+string(rune('\u4e00'+i))), nil, 0o644))
			}
			return errors.Join(append(errs, os.WriteFile(dir+"/links.yaml", []byte("- no address\n"), 0o644))...)
		},
	} {
		root := tree(t, "a")
		if err := make(root, filepath.Join(root, "a")); err != nil {
			t.Fatal(err)
		}
		l := loader.New(loader.Options{Rules: rulesFor(root)})
		s := only(t, load(t, l, pannier.Batch{Full: true}))
		inspected, err := l.Inspect(t.Context(), s)
		audited, err2 := l.Audit(t.Context(), s, []string{profile.NameMolecule})
		resources, err3 := l.Resources(t.Context(), s)
		text, err4 := os.ReadFile(filepath.Join(root, "a/SKILL.md"))
		if err := errors.Join(err, err2, err3, err4); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if string(audited.Text) != string(text) || len(audited.Conformance) != 1 {
			t.Errorf("%s: %+v", name, audited)
		}
		if diff := cmp.Diff(inspected.Conformance[profile.NameMolecule], audited.Conformance[profile.NameMolecule]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		slices.SortStableFunc(audited.Problems, pannier.CompareProblems)
		if diff := cmp.Diff(inspected.Problems, audited.Problems); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		ofResources := slices.DeleteFunc(audited.Problems, func(p pannier.Problem) bool {
			return p.Code != pannier.CodeLinks && p.Code != pannier.CodeExamples
		})
		if diff := cmp.Diff(resources.Problems, ofResources); diff != "" && len(resources.Problems)+len(ofResources) > 0 {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
