package loader_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"pannier"
	"pannier/loader"
)

// resources reads those of the skill at root/a.
func resources(t *testing.T, root string) pannier.Resources {
	t.Helper()
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	found, err := l.Resources(t.Context(), only(t, load(t, l, pannier.Batch{Full: true})))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(root, "a/links.yaml")); err == nil && len(found.Links) > 0 && found.LinksDigest != pannier.DigestOf(text) {
		t.Errorf("digest of links.yaml %s", found.LinksDigest)
	}
	if found.Incomplete != (len(found.Problems) > 0) || len(found.Problems) > 20 {
		t.Errorf("incomplete %t, problems %v", found.Incomplete, found.Problems)
	}
	found.LinksDigest, found.Problems = pannier.Digest{}, nil
	return found
}

func putFile(t *testing.T, path, text string) {
	t.Helper()
	mkdir(t, filepath.Dir(path))
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const plainSkill = "---\nname: a\ndescription: d\n---\nbody\n"

func TestLinks(t *testing.T) {
	a, b := pannier.Link{URL: "https://a.example/x?y=1&z#f"}, pannier.Link{URL: "http://b.example", Title: "B", Description: "about b"}
	for _, tt := range []struct {
		what, text string
		want       []pannier.Link
		incomplete bool
	}{
		{"a list", "# links\n- https://a.example/x?y=1&z#f\n- {url: http://b.example, title: B, description: about b}\n", []pannier.Link{a, b}, false},
		{"below a key", "links:\n  - href: http://b.example\n    name: B\n    note: about b\n", []pannier.Link{b}, false},
		{"titles", "B:\n  url: http://b.example\n  summary: about b\n", []pannier.Link{b}, false},
		{"titles below a key", "references:\n  B: {link: http://b.example, description: about b}\n", []pannier.Link{b}, false},
		{"a byte order mark, CRLF and a document mark", "\ufeff---\r\n- https://a.example/x?y=1&z#f\r\n", []pannier.Link{a}, false},
		{"twice", "- http://b.example\n- http://b.example\n", []pannier.Link{{URL: "http://b.example"}}, false},
		{"nothing", "", nil, false},
		{"not for the web", "- javascript:alert(1)\n- file:///etc/passwd\n- https://u:p@h\n- docs/x.md\n- 'https://a b'\n- \"https://a\\nb\"\n- \"https://a/\\u202e\"\n- 'https://a/<|im_start|>'\n- http://b.example\n", []pannier.Link{{URL: "http://b.example"}}, true},
		{"too long", "- https://a/" + strings.Repeat("x", 3000) + "\n- {url: https://a, title: " + strings.Repeat("x", 2000) + "}\n", nil, true},
		{"no YAML", "- a: b: c\n", nil, true},
		{"an alias", "- &a http://b.example\n- *a\n", nil, true},
	} {
		root := tree(t)
		writeSkill(t, root, "a", plainSkill)
		putFile(t, filepath.Join(root, "a/links.yaml"), tt.text)
		want := pannier.Resources{Links: tt.want, Incomplete: tt.incomplete}
		if diff := cmp.Diff(want, resources(t, root)); diff != "" {
			t.Errorf("%s: %s", tt.what, diff)
		}
	}
}

func TestLinksWithinBounds(t *testing.T) {
	root := tree(t)
	writeSkill(t, root, "a", plainSkill)
	var text strings.Builder
	for i := range 101 {
		fmt.Fprintf(&text, "- https://a.example/%d\n", i)
	}
	putFile(t, filepath.Join(root, "a/links.yaml"), text.String())
	if found := resources(t, root); len(found.Links) != 100 || !found.Incomplete {
		t.Errorf("%d links, incomplete %t", len(found.Links), found.Incomplete)
	}
	putFile(t, filepath.Join(root, "a/links.yaml"), strings.Repeat("#", 65<<10))
	if found := resources(t, root); len(found.Links) != 0 || !found.Incomplete {
		t.Errorf("%d links, incomplete %t", len(found.Links), found.Incomplete)
	}
}

func TestExampleFiles(t *testing.T) {
	root := tree(t)
	writeSkill(t, root, "a", plainSkill)
	if found := resources(t, root); len(found.Examples) != 0 || found.Incomplete {
		t.Errorf("without examples: %+v", found)
	}
	putFile(t, filepath.Join(root, "a/examples/b.md"), "second\n")
	putFile(t, filepath.Join(root, "a/examples/a.txt"), "first\n")
	putFile(t, filepath.Join(root, "a/examples/.hidden"), "x")
	putFile(t, filepath.Join(root, "a/examples/blank.md"), "\n\n")
	putFile(t, filepath.Join(root, "a/examples/deep/c.md"), "x")
	want := pannier.Resources{Examples: []pannier.ExampleFile{{Path: "examples/a.txt", Text: "first\n"}, {Path: "examples/b.md", Text: "second\n"}}}
	if diff := cmp.Diff(want, resources(t, root)); diff != "" {
		t.Error(diff)
	}
	want.Incomplete = true
	for _, bad := range []struct {
		what string
		make func(path string) error
	}{
		{"a program", func(path string) error { return os.WriteFile(path, []byte("a\x00b"), 0o644) }},
		{"not UTF-8", func(path string) error { return os.WriteFile(path, []byte("a\xff"), 0o644) }},
		{"large", func(path string) error { return os.WriteFile(path, make([]byte, 65<<10), 0o644) }},
		{"a link outside", func(path string) error { return os.Symlink("/etc/passwd", path) }},
		{"a link to a FIFO", func(path string) error {
			if err := unix.Mkfifo(filepath.Join(root, "a/fifo"), 0o600); err != nil {
				return err
			}
			return os.Symlink("../fifo", path)
		}},
	} {
		path := filepath.Join(root, "a/examples/z")
		if err := bad.make(path); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, resources(t, root)); diff != "" {
			t.Errorf("%s: %s", bad.what, diff)
		}
		os.Remove(path)
	}
	for i := range 70 {
		putFile(t, filepath.Join(root, fmt.Sprintf("a/examples/m%02d.md", i)), strings.Repeat("x", 1000))
	}
	if found := resources(t, root); len(found.Examples) != 64 || !found.Incomplete {
		t.Errorf("%d files, incomplete %t", len(found.Examples), found.Incomplete)
	}
}

// TestResourceProblems wants a warning for each link and example that prompts leave out, also when the skill is inspected.
func TestResourceProblems(t *testing.T) {
	for _, tt := range []struct {
		what string
		make func(dir string) error
		want string
	}{
		{"a link of another scheme", func(dir string) error {
			return os.WriteFile(dir+"/links.yaml", []byte("# links\n\n- https://a.example\n- javascript:alert(1)\n"), 0o644)
		}, "skill.links skills/a/links.yaml:4: a link is not an absolute http or https address"},
		{"a mapping", func(dir string) error {
			return os.WriteFile(dir+"/links.yaml", []byte("A: https://a.example\nB: javascript:alert(1)\n"), 0o644)
		}, "skill.links skills/a/links.yaml:2: a link is not"},
		{"no YAML", func(dir string) error { return os.WriteFile(dir+"/links.yaml", []byte("a: [\n"), 0o644) }, "skill.links skills/a/links.yaml: it cannot be read: "},
		{"a FIFO", func(dir string) error { return unix.Mkfifo(dir+"/links.yaml", 0o600) }, "skill.links skills/a/links.yaml: it cannot be read: not a regular file"},
		{"a huge file", func(dir string) error {
			return errors.Join(os.WriteFile(dir+"/links.yaml", nil, 0o644), os.Truncate(dir+"/links.yaml", 20<<30))
		}, "skill.links skills/a/links.yaml: it cannot be read: too large"},
		{"examples are a file", func(dir string) error { return os.WriteFile(dir+"/examples", []byte("x"), 0o644) }, "skill.examples skills/a/examples: it cannot be read: not a directory"},
		{"a FIFO among examples", func(dir string) error {
			return errors.Join(os.Mkdir(dir+"/examples", 0o755), unix.Mkfifo(dir+"/examples/f", 0o600))
		}, "skill.examples skills/a/examples/f: it cannot be read: not a regular file"},
		{"a program", func(dir string) error {
			return errors.Join(os.Mkdir(dir+"/examples", 0o755), os.WriteFile(dir+"/examples/a", []byte("a\x00"), 0o644))
		}, "skill.examples skills/a/examples/a: it cannot be read: not UTF-8 text"},
	} {
		root := tree(t)
		writeSkill(t, root, "a", plainSkill)
		if err := tt.make(filepath.Join(root, "a")); err != nil {
			t.Fatal(err)
		}
		l := loader.New(loader.Options{Rules: rulesFor(root)})
		s := only(t, load(t, l, pannier.Batch{Full: true}))
		found, err := l.Resources(t.Context(), s)
		inspected, other := l.Inspect(t.Context(), s)
		inspected.Problems = slices.DeleteFunc(inspected.Problems, func(p pannier.Problem) bool {
			return tt.what == "a huge file" && p.Code == pannier.CodeMCPLimits
		})
		for _, problems := range [][]pannier.Problem{found.Problems, inspected.Problems} {
			if len(problems) != 1 || !strings.Contains(problems[0].Code+" "+problems[0].Place()+": "+problems[0].Message, tt.want) || problems[0].Hint == "" {
				t.Errorf("%s: %v", tt.what, problems)
			}
		}
		if err != nil || other != nil {
			t.Errorf("%s: %v, %v", tt.what, err, other)
		}
	}
}
