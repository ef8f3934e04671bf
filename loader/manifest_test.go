package loader_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pannier"
	"pannier/loader"
)

func manifest(t *testing.T, l *loader.Loader, s *pannier.Skill) pannier.Manifest {
	t.Helper()
	m, err := l.Manifest(t.Context(), s)
	must(t, err)
	return m
}

// listing returns the files of a manifest as one text.
func listing(m pannier.Manifest) string {
	var b strings.Builder
	for _, f := range m.Files {
		fmt.Fprintf(&b, "%s %d %s\n", f.Path, f.Size, f.Digest)
	}
	return b.String()
}

// listingOf returns what the manifest of files must say.
func listingOf(files ...string) string {
	var b strings.Builder
	for i := 0; i < len(files); i += 2 {
		fmt.Fprintf(&b, "%s %d %s\n", files[i], len(files[i+1]), pannier.DigestOf([]byte(files[i+1])))
	}
	return b.String()
}

// TestNamedDotFiles: a dot file that the text names by its path is a file of the skill, a private one or one of a skipped directory never.
func TestNamedDotFiles(t *testing.T) {
	l, _, dir := withFiles(t)
	text := "---\nname: pdf\ndescription: d\n---\nCopy `resources/.zshrc`, [.vimrc](./.vimrc) and .tool.yml. See .env, .env.local, .git, .DS_Store, " +
		".hidden/x.md, ~/.bashrc, other/.bashrc and .inputrc.bak.\n"
	put(t, filepath.Join(dir, "SKILL.md"), []byte(text))
	named := []string{".tool.yml", ".vimrc", "resources/.zshrc"}
	others := []string{".env", ".env.local", ".git", ".DS_Store", ".hidden/x.md", ".bashrc", ".inputrc", ".zshrc", "resources/.vimrc"}
	for _, name := range append(slices.Clone(named), others...) {
		put(t, filepath.Join(dir, name), []byte(name))
	}
	must(t, os.Symlink("resources/.zshrc", filepath.Join(dir, "linked")))
	must(t, os.Symlink(".inputrc", filepath.Join(dir, "unnamed")))
	s := only(t, load(t, l, pannier.Batch{Full: true}))
	want := listingOf(".tool.yml", ".tool.yml", ".vimrc", ".vimrc", "SKILL.md", text, "linked", "resources/.zshrc", "resources/.zshrc", "resources/.zshrc")
	if got := listing(manifest(t, l, s)); got != want {
		t.Errorf("got %s; want %s", got, want)
	}
	files, _, err := l.Files(t.Context(), s)
	must(t, err)
	var listed []string
	for _, f := range files {
		listed = append(listed, f.Path)
	}
	if got := strings.Join(listed, " "); got != ".tool.yml .vimrc SKILL.md linked resources/.zshrc" {
		t.Errorf("files %s", got)
	}
	for _, name := range append(named, "linked") {
		file, err := l.Open(t.Context(), s, name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		file.Close()
	}
	for _, name := range append(others, "unnamed") {
		var refused *pannier.FileError
		if file, err := l.Open(t.Context(), s, name); !errors.As(err, &refused) || refused.Fault != pannier.FileSkipped {
			t.Errorf("%s: %v", name, err)
			if err == nil {
				file.Close()
			}
		}
	}
	put(t, filepath.Join(dir, "SKILL.md"), []byte(manifestSkill))
	if file, err := l.Open(t.Context(), s, ".vimrc"); err == nil {
		file.Close()
		t.Error("a dot file is served by a text that has changed")
	}
}

const manifestSkill = "---\nname: pdf\ndescription: d\n---\nbody\n"

func TestManifest(t *testing.T) {
	l, s, dir := withFiles(t)
	for name, text := range map[string]string{
		"refs/a.md": "a", "refs/deep/er/b": "", "inner/SKILL.md": "---\nname: inner\n---\n", "x": "\xff\x00", "no UTF-8 \xff": "n", ".env": "secret",
		".git/config": "g", "node_modules/m.js": "m", ".gitignore": "i", "refs/.hidden/c": "c",
	} {
		put(t, filepath.Join(dir, name), []byte(text))
	}
	put(t, filepath.Join(filepath.Dir(dir), "beside.md"), []byte("b"))
	for name, target := range map[string]string{"in": "refs/a.md", "out": "../beside.md", "up": "..", "gone": "nowhere", "passwd": "/etc/passwd", "secret": ".env"} {
		must(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	m := manifest(t, l, s)
	want := listingOf(".gitignore", "i", "SKILL.md", manifestSkill, "in", "a", "inner/SKILL.md", "---\nname: inner\n---\n",
		"refs/a.md", "a", "refs/deep/er/b", "", "x", "\xff\x00")
	if got := listing(m); got != want || m.Dynamic {
		t.Errorf("got %s, dynamic %v; want %s", got, m.Dynamic, want)
	}
	if got := string(m.Frontmatter); got != `{"name":"pdf","description":"d"}` {
		t.Errorf("frontmatter %s", got)
	}
	info, err := os.Stat(filepath.Join(dir, "SKILL.md"))
	must(t, err)
	if !m.Files[1].Modified.Equal(info.ModTime()) {
		t.Errorf("modified %v, want %v", m.Files[1].Modified, info.ModTime())
	}
	for _, f := range m.Files {
		file, err := l.Open(t.Context(), s, f.Path)
		if err != nil {
			t.Errorf("%q is in the manifest and not served: %v", f.Path, err)
			continue
		}
		file.Close()
	}
}

// TestManifestFollowsTheDisk changes files behind a manifest that is known, and compares what it says next.
func TestManifestFollowsTheDisk(t *testing.T) {
	l, s, dir := withFiles(t)
	put(t, filepath.Join(dir, "a"), []byte("1"))
	put(t, filepath.Join(dir, "b/c"), []byte("2"))
	first := manifest(t, l, s)
	steps := []struct {
		name string
		do   func()
		want string
	}{
		{"nothing", func() {}, listingOf("SKILL.md", manifestSkill, "a", "1", "b/c", "2")},
		{"same size, same time", func() {
			info, err := os.Stat(filepath.Join(dir, "a"))
			must(t, err)
			put(t, filepath.Join(dir, "a"), []byte("3"))
			must(t, os.Chtimes(filepath.Join(dir, "a"), time.Time{}, info.ModTime()))
		}, listingOf("SKILL.md", manifestSkill, "a", "3", "b/c", "2")},
		{"a file more", func() { put(t, filepath.Join(dir, "b/d"), nil) }, listingOf("SKILL.md", manifestSkill, "a", "3", "b/c", "2", "b/d", "")},
		{"renamed", func() { must(t, os.Rename(filepath.Join(dir, "b"), filepath.Join(dir, "e"))) }, listingOf("SKILL.md", manifestSkill, "a", "3", "e/c", "2", "e/d", "")},
		{"a file less", func() { must(t, os.Remove(filepath.Join(dir, "a"))) }, listingOf("SKILL.md", manifestSkill, "e/c", "2", "e/d", "")},
		{"a link in its place", func() { must(t, os.Symlink("e/c", filepath.Join(dir, "a"))) }, listingOf("SKILL.md", manifestSkill, "a", "2", "e/c", "2", "e/d", "")},
		{"what the link leads to", func() { put(t, filepath.Join(dir, "e/c"), []byte("22")) }, listingOf("SKILL.md", manifestSkill, "a", "22", "e/c", "22", "e/d", "")},
	}
	before := first
	for _, step := range steps {
		step.do()
		m := manifest(t, l, s)
		if got := listing(m); got != step.want {
			t.Errorf("%s: got\n%swant\n%s", step.name, got, step.want)
		}
		if same := m.Digest == before.Digest; same != (step.name == "nothing") {
			t.Errorf("%s: the digest of the manifest is the same: %v", step.name, same)
		}
		before = m
	}
}

// TestManifestOfAnotherText does not serve a SKILL.md that the catalog does not know.
func TestManifestOfAnotherText(t *testing.T) {
	l, s, dir := withFiles(t)
	manifest(t, l, s)
	put(t, filepath.Join(dir, "SKILL.md"), []byte("---\nname: pdf\ndescription: e\n---\nbody\n"))
	if _, err := l.Manifest(t.Context(), s); !errors.Is(err, pannier.ErrChanged) {
		t.Errorf("error %v, want %v", err, pannier.ErrChanged)
	}
	if _, err := l.RecentManifest(t.Context(), s, time.Hour); err != nil {
		t.Errorf("the recent manifest: %v", err)
	}
	s = only(t, load(t, l, pannier.Batch{Full: true}))
	m, err := l.RecentManifest(t.Context(), s, time.Hour)
	must(t, err)
	if got := string(m.Frontmatter); got != `{"name":"pdf","description":"e"}` {
		t.Errorf("frontmatter %s", got)
	}
	must(t, os.RemoveAll(dir))
	if _, err := l.Manifest(t.Context(), s); !errors.Is(err, pannier.ErrChanged) {
		t.Errorf("error %v, want %v", err, pannier.ErrChanged)
	}
}

func TestManifestOfUnusableSkills(t *testing.T) {
	l, s, _ := withFiles(t)
	for name, change := range map[string]func(*pannier.Skill){
		"broken": func(s *pannier.Skill) { s.Broken = true }, "last good": func(s *pannier.Skill) { s.LastGood = true },
		"deleting": func(s *pannier.Skill) { s.Deleting = true }, "tools": func(s *pannier.Skill) { s.ToolsOnly = true },
	} {
		other := *s
		change(&other)
		if _, err := l.Manifest(t.Context(), &other); !errors.Is(err, pannier.ErrNotServable) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Manifest(ctx, s); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

// TestManifestBounds has skills at the bounds of a manifest and past them.
func TestManifestBounds(t *testing.T) {
	for name, tt := range map[string]struct {
		files   int
		size    int64
		deep    bool
		dynamic bool
	}{
		"as many files as may be":  {files: pannier.MaxManifestFiles - 1},
		"a file too many":          {files: pannier.MaxManifestFiles, dynamic: true},
		"more than are listed":     {files: loader.MaxFiles + 10, dynamic: true},
		"as many bytes as may be":  {files: 1, size: pannier.MaxManifestBytes - int64(len(manifestSkill))},
		"a byte too many":          {files: 1, size: pannier.MaxManifestBytes - int64(len(manifestSkill)) + 1, dynamic: true},
		"deeper than files may be": {files: 1, deep: true, dynamic: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, s, dir := withFiles(t)
			for i := range tt.files {
				file := filepath.Join(dir, fmt.Sprintf("f%d", i))
				if tt.deep {
					file = filepath.Join(dir, strings.Repeat("d/", 20), "f")
				}
				put(t, file, nil)
				must(t, os.Truncate(file, tt.size))
			}
			m := manifest(t, l, s)
			want := tt.files + 1
			if tt.dynamic {
				want = 1
			}
			if m.Dynamic != tt.dynamic || len(m.Files) != want || m.Frontmatter == nil {
				t.Errorf("dynamic %v with %d files, want %v with %d", m.Dynamic, len(m.Files), tt.dynamic, want)
			}
			in, err := l.Inspect(t.Context(), s)
			must(t, err)
			reported := false
			for _, p := range in.Problems {
				reported = reported || p.Code == pannier.CodeMCPLimits
			}
			if reported != tt.dynamic {
				t.Errorf("the problem is reported: %v, want %v", reported, tt.dynamic)
			}
			if tt.dynamic && !tt.deep { // and back
				for i := range tt.files {
					must(t, os.Remove(filepath.Join(dir, fmt.Sprintf("f%d", i))))
				}
				if m := manifest(t, l, s); m.Dynamic || len(m.Files) != 1 {
					t.Errorf("dynamic %v with %d files, once they are gone", m.Dynamic, len(m.Files))
				}
			}
		})
	}
}

// TestManifestGrowsDynamic makes a skill too large behind a manifest that is known.
func TestManifestGrowsDynamic(t *testing.T) {
	l, s, dir := withFiles(t)
	put(t, filepath.Join(dir, "f"), nil)
	manifest(t, l, s)
	must(t, os.Truncate(filepath.Join(dir, "f"), pannier.MaxManifestBytes))
	if m := manifest(t, l, s); !m.Dynamic {
		t.Error("not dynamic")
	}
}

// TestManifestReadsOnlyWhatChanged counts the files that are opened.
func TestManifestReadsOnlyWhatChanged(t *testing.T) {
	l, s, dir := withFiles(t)
	old := time.Now().Add(-time.Hour)
	for i := range 20 {
		file := filepath.Join(dir, fmt.Sprintf("f%d", i))
		put(t, file, []byte("text"))
		must(t, os.Chtimes(file, old, old))
	}
	manifest(t, l, s)
	if got := l.ManifestReads(); got != 21 {
		t.Errorf("%d files were read at first, want 21", got)
	}
	// The change times are young, so equal stats prove nothing yet.
	manifest(t, l, s)
	if got := l.ManifestReads(); got != 42 {
		t.Errorf("%d files were read within the racy window, want 42", got)
	}
	l.AgeManifests(s, time.Minute)
	manifest(t, l, s)
	if got := l.ManifestReads(); got != 42 {
		t.Errorf("%d files were read although nothing changed, want 42", got)
	}
	put(t, filepath.Join(dir, "f3"), []byte("other"))
	manifest(t, l, s)
	if got := l.ManifestReads(); got != 43 {
		t.Errorf("%d files were read after one changed, want 43", got)
	}
}

// TestManifestIsOfOneState replaces a directory by renames, while manifests of it are made by several at once: none may mix two
// states.
func TestManifestIsOfOneState(t *testing.T) {
	l, s, dir := withFiles(t)
	version := func(n int) string {
		to := filepath.Join(filepath.Dir(filepath.Dir(dir)), fmt.Sprintf("v%d", n))
		put(t, filepath.Join(to, "SKILL.md"), []byte(manifestSkill))
		for i := range 8 {
			put(t, filepath.Join(to, fmt.Sprintf("refs/f%d", i)), []byte(strings.Repeat("x", n%7)+fmt.Sprint(n)))
		}
		return to
	}
	must(t, os.RemoveAll(dir))
	must(t, os.Rename(version(0), dir))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	var readers sync.WaitGroup
	made := make([]int, 3)
	for i := range made {
		readers.Go(func() {
			for ctx.Err() == nil {
				m, err := l.Manifest(t.Context(), s)
				if errors.Is(err, pannier.ErrChanged) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				made[i]++
				for _, f := range m.Files[1:] {
					if f.Digest != m.Files[1].Digest || len(m.Files) != 9 {
						t.Errorf("the files are of two states:\n%s", listing(m))
						return
					}
				}
			}
		})
	}
	for n := 1; ctx.Err() == nil; n++ {
		next, last := version(n), filepath.Join(filepath.Dir(filepath.Dir(dir)), fmt.Sprintf("old%d", n))
		must(t, os.Rename(dir, last))
		must(t, os.Rename(next, dir))
		time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
	}
	readers.Wait()
	for _, n := range made {
		if n == 0 {
			t.Errorf("manifests made: %v", made)
		}
	}
}

// TestManifestsAreShared lets many callers ask for the manifest of one skill at once.
func TestManifestsAreShared(t *testing.T) {
	l, s, dir := withFiles(t)
	for i := range 50 {
		put(t, filepath.Join(dir, fmt.Sprintf("f%d", i)), make([]byte, 100<<10))
	}
	var callers sync.WaitGroup
	for range 40 {
		callers.Go(func() {
			if m, err := l.RecentManifest(t.Context(), s, time.Hour); err != nil || len(m.Files) != 51 {
				t.Errorf("%d files, %v", len(m.Files), err)
			}
		})
	}
	callers.Wait()
	if got := l.ManifestReads(); got != 51 {
		t.Errorf("%d files were read, want 51", got)
	}
	// A caller whose work fails leaves it to those that waited.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	put(t, filepath.Join(dir, "f0"), nil)
	for _, c := range []context.Context{ctx, t.Context()} {
		if _, err := l.RecentManifest(c, s, 1); err != nil && c.Err() == nil {
			t.Error(err)
		}
	}
}

// TestManifestCacheIsBounded asks for more manifests than are kept.
func TestManifestCacheIsBounded(t *testing.T) {
	l, s, _ := withFiles(t)
	size := 0
	for i := range 50 {
		size = l.PutManifest(fmt.Sprint(s.Path, i), 1<<20)
	}
	if size > 32<<20 || size < 16<<20 {
		t.Errorf("%d bytes are kept", size)
	}
}

// BenchmarkManifests makes the manifests of 1,000 skills with three files each.
func BenchmarkManifests(b *testing.B) {
	root := b.TempDir()
	old := time.Now().Add(-time.Hour)
	for i := range 1000 {
		dir := filepath.Join(root, fmt.Sprintf("s%d", i))
		if err := os.MkdirAll(filepath.Join(dir, "refs"), 0o755); err != nil {
			b.Fatal(err)
		}
		for name, text := range map[string]string{"SKILL.md": fmt.Sprintf("---\nname: s%d\ndescription: d\n---\nbody\n", i), "refs/a.md": "a", "refs/b.md": "b"} {
			file := filepath.Join(dir, name)
			if err := errors.Join(os.WriteFile(file, []byte(text), 0o644), os.Chtimes(file, old, old)); err != nil {
				b.Fatal(err)
			}
		}
	}
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	catalog, err := l.Load(b.Context(), pannier.Batch{Full: true})
	if err != nil {
		b.Fatal(err)
	}
	all := func(b *testing.B, maxAge time.Duration) {
		for _, s := range catalog.Skills {
			if _, err := l.RecentManifest(b.Context(), s, maxAge); err != nil {
				b.Fatal(err)
			}
		}
	}
	all(b, 0)
	for _, s := range catalog.Skills {
		l.AgeManifests(s, time.Minute)
	}
	b.Run("recent", func(b *testing.B) {
		for b.Loop() {
			all(b, time.Hour)
		}
	})
	b.Run("compared", func(b *testing.B) {
		for b.Loop() {
			all(b, 0)
		}
	})
}
