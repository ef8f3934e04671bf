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

	"pannier"
	"pannier/loader"
)

func TestRead(t *testing.T) {
	tests := []struct{ name, text, front, body string }{
		{"typed and in order", "---\nversion: 1.0\ndescription: d\nx: [1, true, ~, \"2\"]\n---\nbody\n", `{"version":1,"description":"d","x":[1,true,null,"2"]}`, "body\n"},
		{"CR LF", "---\r\ndescription: |\r\n  a\r\n  b\r\n---\r\nbody\r\n", `{"description":"a\nb\n"}`, "body\r\n"},
		{"byte order mark", "\ufeff---\ndescription: d\n---\nbody", `{"description":"d"}`, "body"},
		{"no body", "---\ndescription: d\n---", `{"description":"d"}`, ""},
		{"dashes in the body", "---\ndescription: d\n---\na\n---\nb", `{"description":"d"}`, "a\n---\nb"},
		{"repeated key", "---\na: 1\ndescription: d\na: 2\n---\nb", `{"description":"d","a":2}`, "b"},
		{"large", good("d") + strings.Repeat("0123456789\n", 20_000), `{"name":"N","description":"d"}`, "body\n" + strings.Repeat("0123456789\n", 20_000)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			writeSkill(t, root, "a", tt.text)
			l := loader.New(loader.Options{Rules: rulesFor(root)})
			doc, err := l.Read(t.Context(), only(t, load(t, l, pannier.Batch{Full: true})))
			if err != nil || string(doc.Frontmatter) != tt.front || doc.Body != tt.body || len(doc.Warnings) > 0 {
				t.Errorf("%s\n%.100q\n%v, error %v", doc.Frontmatter, doc.Body, doc.Warnings, err)
			}
		})
	}
	root := t.TempDir()
	writeSkill(t, root, "a", "---\ndescription: d\n---\na\xffb")
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	doc, err := l.Read(t.Context(), only(t, load(t, l, pannier.Batch{Full: true})))
	if err != nil || doc.Body != "a\ufffdb" || len(doc.Warnings) != 1 {
		t.Errorf("%q, %v, error %v", doc.Body, doc.Warnings, err)
	}
}

func TestReadIsFromTheDigest(t *testing.T) {
	changes := map[string]func(t *testing.T, root string){
		"edited":           func(t *testing.T, root string) { write(t, root+"/a/SKILL.md", good("e")) },
		"grown":            func(t *testing.T, root string) { write(t, root+"/a/SKILL.md", good("d")+strings.Repeat("x", 2<<20)) },
		"removed":          func(t *testing.T, root string) { remove(t, root+"/a/SKILL.md") },
		"folder removed":   func(t *testing.T, root string) { remove(t, root+"/a") },
		"folder is a file": func(t *testing.T, root string) { remove(t, root+"/a"); write(t, root+"/a", "x") },
		"root removed":     func(t *testing.T, root string) { remove(t, root) },
		"root is a file":   func(t *testing.T, root string) { remove(t, root); write(t, root, "x") },
		"a directory":      func(t *testing.T, root string) { remove(t, root+"/a/SKILL.md"); mkdir(t, root+"/a/SKILL.md") },
		"a link out": func(t *testing.T, root string) {
			remove(t, root+"/a/SKILL.md")
			link(t, "/etc/hostname", root+"/a/SKILL.md")
		},
		"a link to itself": func(t *testing.T, root string) {
			remove(t, root+"/a/SKILL.md")
			link(t, "SKILL.md", root+"/a/SKILL.md")
		},
		"folder is a link": func(t *testing.T, root string) { remove(t, root+"/a"); link(t, "/etc", root+"/a") },
		"replaced by rename": func(t *testing.T, root string) {
			write(t, root+"/new", good("e"))
			rename(t, root+"/new", root+"/a/SKILL.md")
		},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			root := tree(t, "a")
			l := loader.New(loader.Options{Rules: rulesFor(root)})
			s := only(t, load(t, l, pannier.Batch{Full: true}))
			change(t, root)
			if doc, err := l.Read(t.Context(), s); !errors.Is(err, pannier.ErrChanged) || doc.Body != "" {
				t.Errorf("%q, error %v", doc.Body, err)
			}
		})
	}
}

func TestReadOfWhatIsNotServable(t *testing.T) {
	root := tree(t, "a")
	writeSkill(t, root, "b", broken)
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	load(t, l, pannier.Batch{Full: true})
	writeSkill(t, root, "a", broken)
	for _, s := range load(t, l, pannier.Batch{Full: true}).Skills {
		if _, err := l.Read(t.Context(), s); !errors.Is(err, pannier.ErrNotServable) {
			t.Errorf("%s: error %v", s.Path, err)
		}
	}
}

func TestFiles(t *testing.T) {
	root := tree(t, "s")
	dir := filepath.Join(root, "s")
	for _, name := range []string{"scripts/run.sh", "scripts.txt", "a/b/c.md", "_meta.json", ".clawhubignore", ".git/config", ".env", "a/.npmrc", "node_modules/x/y.js"} {
		mkdir(t, filepath.Dir(filepath.Join(dir, name)))
		write(t, filepath.Join(dir, name), "text")
	}
	if err := os.Chmod(filepath.Join(dir, "scripts/run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	mkdir(t, filepath.Join(root, "shared/deep"))
	write(t, filepath.Join(root, "shared/deep/asset.txt"), "shared")
	link(t, "../shared/deep", filepath.Join(dir, "linked"))
	link(t, "../shared/deep/asset.txt", filepath.Join(dir, "asset.txt"))
	link(t, "../../outside", filepath.Join(dir, "out"))
	link(t, "nowhere", filepath.Join(dir, "dangling"))
	write(t, filepath.Join(root, "../outside"), "secret")
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	s := load(t, l, pannier.Batch{Full: true}).Skills[0]
	got, truncated, err := l.Files(t.Context(), s)
	want := []pannier.File{
		{Path: ".clawhubignore", Size: 4},
		{Path: "SKILL.md", Size: int64(len(good("d")))},
		{Path: "_meta.json", Size: 4},
		{Path: "a/b/c.md", Size: 4},
		{Path: "asset.txt", Size: 6},
		{Path: "scripts.txt", Size: 4},
		{Path: "scripts/run.sh", Size: 4, Executable: true},
	}
	if diff := cmp.Diff(want, got); diff != "" || truncated || err != nil {
		t.Errorf("want -, got +:\n%s\ntruncated %t, error %v", diff, truncated, err)
	}
	remove(t, dir)
	if _, _, err := l.Files(t.Context(), s); err == nil {
		t.Error("a skill that is gone has files")
	}
}

func TestFilesBounds(t *testing.T) {
	root := tree(t, "many", "exact", "deep")
	for i := range loader.MaxFiles {
		write(t, fmt.Sprintf("%s/many/f%04d", root, i), "")
		if i > 0 {
			write(t, fmt.Sprintf("%s/exact/f%04d", root, i), "")
		}
	}
	deep := filepath.Join(root, "deep", strings.Repeat("d/", 9))
	mkdir(t, deep)
	write(t, filepath.Join(deep, "too-deep"), "")
	write(t, filepath.Join(filepath.Dir(deep), "deepest"), "")
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	c := load(t, l, pannier.Batch{Full: true})
	for i, tt := range []struct {
		files     int
		truncated bool
	}{{2, true}, {loader.MaxFiles, false}, {loader.MaxFiles, true}} {
		files, truncated, err := l.Files(t.Context(), c.Skills[i])
		if len(files) != tt.files || truncated != tt.truncated || err != nil {
			t.Errorf("%s: %d files, truncated %t, error %v", c.Skills[i].Path, len(files), truncated, err)
		}
		if !slices.IsSortedFunc(files, func(a, b pannier.File) int { return strings.Compare(a.Path, b.Path) }) {
			t.Errorf("%s: not in order", c.Skills[i].Path)
		}
	}
}

// TestFilesWork lists skills with ever more files, and counts what is allocated: no more of a directory is read than is shown.
func TestFilesWork(t *testing.T) {
	root := tree(t, "a", "b")
	for i := range 6 * loader.MaxFiles {
		write(t, fmt.Sprintf("%s/b/%04d", root, i), "")
		if i <= loader.MaxFiles {
			write(t, fmt.Sprintf("%s/a/%04d", root, i), "")
		}
	}
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	var allocated []float64
	for _, s := range load(t, l, pannier.Batch{Full: true}).Skills {
		allocated = append(allocated, testing.AllocsPerRun(1, func() {
			files, truncated, err := l.Files(t.Context(), s)
			if len(files) != loader.MaxFiles || !truncated || err != nil || !slices.ContainsFunc(files, func(f pannier.File) bool { return f.Path == "SKILL.md" }) {
				t.Errorf("%d files, truncated %t, error %v", len(files), truncated, err)
			}
		}))
	}
	if allocated[1] > 1.5*allocated[0] {
		t.Errorf("%v allocations", allocated)
	}
}
