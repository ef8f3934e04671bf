package loader_test

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/loader"
)

// withFiles returns a loader that knows one skill, with its directory.
func withFiles(t *testing.T) (*loader.Loader, *pannier.Skill, string) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "skills")
	writeSkill(t, root, "pdf", "---\nname: pdf\ndescription: d\n---\nbody\n")
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	return l, only(t, load(t, l, pannier.Batch{Full: true})), filepath.Join(root, "pdf")
}

func put(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestOpen gives the bytes of files of all sizes, with their digest.
func TestOpen(t *testing.T) {
	l, s, dir := withFiles(t)
	large := make([]byte, 600<<10+7)
	for i := range large {
		large[i] = byte(rand.Uint32())
	}
	for name, want := range map[string][]byte{
		"empty": {}, "refs/a.md": []byte("text\r\n\xff"), "data.bin": large, "chunk": large[:256<<10], "a b/ü?%2e.txt": []byte("x"), ".gitignore": []byte("h"),
	} {
		put(t, filepath.Join(dir, name), want)
		f, err := l.Open(t.Context(), s, name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got bytes.Buffer
		n, err := f.WriteTo(&got)
		if err != nil || n != int64(len(want)) || f.Size() != n || !bytes.Equal(got.Bytes(), want) || f.Digest() != pannier.DigestOf(want) {
			t.Errorf("%s: %d bytes, size %d, %s, %v", name, n, f.Size(), f.Digest(), err)
		}
		f.Close()
	}
}

// TestOpenRefuses opens what is not a regular file within the skill directory.
func TestOpenRefuses(t *testing.T) {
	l, s, dir := withFiles(t)
	put(t, filepath.Join(dir, "refs/a.md"), []byte("a"))
	put(t, filepath.Join(dir, "node_modules/m.js"), []byte("m"))
	put(t, filepath.Join(dir, ".git/config"), []byte("secret"))
	put(t, filepath.Join(filepath.Dir(dir), "beside.md"), []byte("b"))
	for name, target := range map[string]string{
		"out": "../beside.md", "absolute": filepath.Join(dir, "refs/a.md"), "passwd": "/etc/passwd", "up": "..", "loop": "loop", "gone": "nowhere", "in": "refs/a.md", "self": ".", "refs/top": "..", "refs/back": "../refs/a.md",
	} {
		must(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	must(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o644))
	large, err := os.Create(filepath.Join(dir, "large"))
	must(t, err)
	must(t, large.Truncate(loader.MaxFileBytes+1))
	must(t, large.Close())
	for name, want := range map[string]pannier.FileFault{
		"": pannier.FileIsDirectory, ".": pannier.FileIsDirectory, "refs": pannier.FileIsDirectory, "refs/": pannier.FileIsDirectory,
		"..": pannier.FileOutside, "../beside.md": pannier.FileOutside, "refs/../../beside.md": pannier.FileOutside, "/etc/passwd": pannier.FileOutside, "refs//a.md": pannier.FileOutside,
		"out": pannier.FileOutside, "absolute": pannier.FileOutside, "passwd": pannier.FileOutside, "up/beside.md": pannier.FileOutside, "loop": pannier.FileOutside,
		"gone": pannier.FileMissing, "none": pannier.FileMissing, "refs/a.md/b": pannier.FileMissing, "nul\x00": pannier.FileMissing, strings.Repeat("n", 300): pannier.FileMissing,
		"node_modules/m.js": pannier.FileSkipped, ".git/config": pannier.FileSkipped, "refs/.x/y": pannier.FileSkipped,
		"self": pannier.FileIsDirectory, "refs/top": pannier.FileIsDirectory, "self/.git/config": pannier.FileSkipped,
		"fifo": pannier.FileSpecial, "large": pannier.FileTooLarge, "in": "", "refs/back": "",
	} {
		f, err := l.Open(t.Context(), s, name)
		if err == nil {
			f.Close()
		}
		fault := pannier.FileFault("")
		if e, ok := errors.AsType[*pannier.FileError](err); ok {
			fault = e.Fault
		}
		if fault != want || (err == nil) != (want == "") {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
}

// TestOpenFollowsToWhatIsServed refuses what the rules do not serve, whatever links lead to it, and serves a volume of Kubernetes.
func TestOpenFollowsToWhatIsServed(t *testing.T) {
	base := t.TempDir()
	root, target := filepath.Join(base, "skills"), filepath.Join(base, "shared")
	writeSkill(t, root, "pdf", "---\nname: pdf\ndescription: d\n---\nbody\n")
	dir := filepath.Join(root, "pdf")
	put(t, filepath.Join(target, ".git/config"), []byte("secret"))
	put(t, filepath.Join(target, "meta.json"), []byte("{}"))
	for _, name := range []string{
		".git/config", ".env", ".netrc", ".env.example", "sub/.env", "sub/.gitignore", "sub/plain.md", "node_modules/m.js",
		"..2026_11/a.md", "..2026_11/refs/b.md", "..2026_11/.git/config", "..2026_11/.env",
	} {
		put(t, filepath.Join(dir, name), []byte("text"))
	}
	for name, to := range map[string]string{
		"config": ".git/config", "twice": "config", "vcs": ".git", "sub/up": "../.git/config", "nested": "sub/up", "env": ".env", ".gitkeep": ".env",
		"module": "node_modules/m.js", "plain.md": "sub/plain.md", "ignore": ".gitkeep-not", "ok": "sub/.gitignore",
		"..data": "..2026_11", "a.md": "..data/a.md", "refs": "..data/refs", "data-config": "..data/.git/config", "data-env": "..data/.env",
	} {
		must(t, os.Symlink(to, filepath.Join(dir, name)))
	}
	must(t, os.Symlink(filepath.Join(target, ".git/config"), filepath.Join(dir, "_meta.json")))
	rules := rulesFor(root)
	rules.Roots[0].LinkTargets = []string{target}
	l := loader.New(loader.Options{Rules: rules})
	s := only(t, load(t, l, pannier.Batch{Full: true}))
	wants := map[string]pannier.FileFault{
		".git/config": pannier.FileSkipped, "config": pannier.FileSkipped, "twice": pannier.FileSkipped, "vcs/config": pannier.FileSkipped,
		"sub/up": pannier.FileSkipped, "nested": pannier.FileSkipped, "module": pannier.FileSkipped, "data-config": pannier.FileSkipped,
		".env": pannier.FileSkipped, "env": pannier.FileSkipped, ".gitkeep": pannier.FileSkipped, ".netrc": pannier.FileSkipped,
		"sub/.env": pannier.FileSkipped, "data-env": pannier.FileSkipped, "..data/a.md": pannier.FileSkipped, "_meta.json": pannier.FileSkipped,
		".env.example": "", "sub/.gitignore": "", "ok": "", "plain.md": "", "a.md": "", "refs/b.md": "", "SKILL.md": "", "sub/plain.md": "",
	}
	paths := map[string]string{"ok": "sub/.gitignore", "a.md": "..2026_11/a.md", "refs/b.md": "..2026_11/refs/b.md", "plain.md": "sub/plain.md"}
	for name, want := range wants {
		f, err := l.Open(t.Context(), s, name)
		if err == nil {
			if at := cmp.Or(paths[name], name); f.Path() != at {
				t.Errorf("%s lies at %q, want %q", name, f.Path(), at)
			}
			f.Close()
		}
		fault := pannier.FileFault("")
		if e, ok := errors.AsType[*pannier.FileError](err); ok {
			fault = e.Fault
		}
		if fault != want || (err == nil) != (want == "") {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
	files, _, err := l.Files(t.Context(), s)
	must(t, err)
	for _, f := range files {
		if want, known := wants[f.Path]; !known || want != "" {
			t.Errorf("%s is listed", f.Path)
		}
	}
	if len(files) != 7 { // all that are served but refs/b.md, because links to directories are not entered
		t.Errorf("listed %+v", files)
	}
}

// TestOpenRefusesForeignHardLinks of a file whose owner is not that of the skill directory.
func TestOpenRefusesForeignHardLinks(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file to another user")
	}
	l, s, dir := withFiles(t)
	for name, uid := range map[string]int{"foreign": 65533, "own": 0, "alone": 65533} {
		put(t, filepath.Join(dir, name), []byte("text"))
		must(t, os.Chown(filepath.Join(dir, name), uid, -1))
		if name != "alone" {
			must(t, os.Link(filepath.Join(dir, name), filepath.Join(filepath.Dir(dir), name)))
		}
		f, err := l.Open(t.Context(), s, name)
		if err == nil {
			f.Close()
		}
		e, ok := errors.AsType[*pannier.FileError](err)
		if refused := ok && e.Fault == pannier.FileForeign; refused != (name == "foreign") || err != nil && !refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOpenComparesWithTheSnapshot: what it has a digest of is served as that, or not at all.
func TestOpenComparesWithTheSnapshot(t *testing.T) {
	l, s, dir := withFiles(t)
	f, err := l.Open(t.Context(), s, "SKILL.md")
	must(t, err)
	if f.Digest() != s.Digest {
		t.Errorf("%s, want %s", f.Digest(), s.Digest)
	}
	f.Close()
	held := *s
	held.LastGood = true
	if _, err := l.Open(t.Context(), &held, "SKILL.md"); !errors.Is(err, pannier.ErrNotServable) {
		t.Errorf("held: %v", err)
	}
	put(t, filepath.Join(dir, "SKILL.md"), []byte("---\nname: pdf\ndescription: other\n---\n"))
	if _, err := l.Open(t.Context(), s, "SKILL.md"); !errors.Is(err, pannier.ErrChanged) {
		t.Errorf("edited: %v", err)
	}
	must(t, os.RemoveAll(dir))
	for _, name := range []string{"SKILL.md", "other.md"} {
		if _, err := l.Open(t.Context(), s, name); !errors.Is(err, pannier.ErrChanged) {
			t.Errorf("%s of a skill that is gone: %v", name, err)
		}
	}
}

// TestOpenNoticesWhatChanges between the digest and the last byte, however large the file is.
func TestOpenNoticesWhatChanges(t *testing.T) {
	l, s, dir := withFiles(t)
	for name, size := range map[string]int{"small": 10, "large": 1 << 20} {
		for what, change := range map[string]func(string) error{
			"overwritten": func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte("y"), size), 0o644) },
			"cut":         func(path string) error { return os.Truncate(path, int64(size-1)) },
		} {
			path := filepath.Join(dir, name)
			put(t, path, bytes.Repeat([]byte("x"), size))
			f, err := l.Open(t.Context(), s, name)
			must(t, err)
			must(t, change(path))
			n, err := f.WriteTo(io.Discard)
			if !errors.Is(err, pannier.ErrChanged) || n >= int64(size) || size == 10 && n > 0 {
				t.Errorf("%s, %s: %d bytes, %v", name, what, n, err)
			}
			f.Close()
		}
		path := filepath.Join(dir, name)
		put(t, path, bytes.Repeat([]byte("x"), size))
		f, err := l.Open(t.Context(), s, name)
		must(t, err)
		put(t, path+"new", []byte("z"))
		must(t, os.Rename(path+"new", path))
		if n, err := f.WriteTo(io.Discard); err != nil || n != int64(size) {
			t.Errorf("%s, replaced by another file: %d bytes, %v", name, n, err)
		}
		f.Close()
	}
}

// TestOpenMetaThatIsALink: a _meta.json that discovery has read by a link is served by it too, and no other file is.
func TestOpenMetaThatIsALink(t *testing.T) {
	rules, root, store := storeBeside(t, "in", "target", "out", "dangling")
	put(t, filepath.Join(root, "shared.json"), []byte(`{"version":"1.2.3"}`))
	put(t, filepath.Join(store, "shared.json"), []byte(`{"version":"4.5.6"}`))
	put(t, filepath.Join(filepath.Dir(root), "secret.json"), []byte(`{"version":"7.8.9"}`))
	link(t, "../shared.json", filepath.Join(root, "in/_meta.json"))
	link(t, "../shared.json", filepath.Join(root, "in/notes.json"))
	link(t, store+"/shared.json", filepath.Join(root, "target/_meta.json"))
	link(t, "../../secret.json", filepath.Join(root, "out/_meta.json"))
	link(t, store+"/none.json", filepath.Join(root, "dangling/_meta.json"))
	l := loader.New(loader.Options{Rules: rules})
	skills := load(t, l, pannier.Batch{Full: true}).Skills
	for i, want := range []pannier.FileFault{pannier.FileOutside, "", pannier.FileOutside, ""} { // dangling, in, out, target
		f, err := l.Open(t.Context(), skills[i], "_meta.json")
		if err == nil {
			if f.Digest() != skills[i].MetaFileDigest {
				t.Errorf("%s: %s, want %s", skills[i].Path, f.Digest(), skills[i].MetaFileDigest)
			}
			f.Close()
		}
		wantFault(t, skills[i].Path, err, want)
	}
	_, err := l.Open(t.Context(), skills[1], "notes.json")
	wantFault(t, "notes.json", err, pannier.FileOutside)
	link(t, "../../secret.json", filepath.Join(root, "in/turned"))
	rename(t, filepath.Join(root, "in/turned"), filepath.Join(root, "in/_meta.json"))
	if _, err := l.Open(t.Context(), skills[1], "_meta.json"); !errors.Is(err, pannier.ErrChanged) {
		t.Errorf("turned: %v", err)
	}
}

func wantFault(t *testing.T, what string, err error, want pannier.FileFault) {
	t.Helper()
	fault := pannier.FileFault("")
	if e, ok := errors.AsType[*pannier.FileError](err); ok {
		fault = e.Fault
	}
	if fault != want || (err == nil) != (want == "") {
		t.Errorf("%s: %v, want %q", what, err, want)
	}
}
