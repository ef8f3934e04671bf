package fsx_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"pannier/internal/fsx"
)

// TestPlace follows links out of a directory into those that it may lead to, and nowhere else.
func TestPlace(t *testing.T) {
	base := t.TempDir()
	in := func(name string) string { return filepath.Join(base, name) }
	var errs []error
	for _, dir := range []string{"place/sub", "one/deep", "one-more", "two", "secret"} {
		errs = append(errs, os.MkdirAll(in(dir), 0o755), os.WriteFile(in(dir+"/file"), []byte(dir), 0o644))
	}
	for name, target := range map[string]string{
		"place/in": "sub", "place/abs": in("one/deep"), "place/rel": "../one", "place/hop": in("hop"), "hop": "one",
		"place/prefix": "../one-more", "place/out": "../secret", "place/none": "../one/none", "place/nowhere": "../nowhere", "place/loop": "loop",
		"one/on": "../two", "one/off": "../secret", "one/within": "deep", "place/back": in("place/sub"), "place/alias": "../alias/file",
		"alias": "two", "place/fifo": "../two/fifo",
	} {
		errs = append(errs, os.Symlink(target, in(name)))
	}
	if err := errors.Join(append(errs, syscall.Mkfifo(in("two/fifo"), 0o600))...); err != nil {
		t.Fatal(err)
	}
	p := fsx.Place{Path: in("place"), Targets: []string{in("gone"), in("one"), in("alias")}}
	for name, want := range map[string]string{
		"sub/file": "place/sub", "in/file": "place/sub", "abs/file": "one/deep", "rel/deep/file": "one/deep", "hop/deep/file": "one/deep",
		"rel/on/file": "two", "rel/within/file": "one/deep", "alias": "two",
	} {
		f, err := p.File(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text, err := io.ReadAll(f)
		f.Close()
		if err != nil || string(text) != want {
			t.Errorf("%s: %q, %v, want %q", name, text, err, want)
		}
		if info, err := p.Stat(name); err != nil || info.Size() != int64(len(want)) {
			t.Errorf("stat %s: %v", name, err)
		}
	}
	for _, name := range []string{"prefix/file", "out/file", "rel/off/file", "back/file", "rel/../secret/file", "../secret/file"} {
		if _, err := p.File(name); !fsx.EscapesRoot(err) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := (fsx.Place{Path: p.Path}).File(name); !fsx.EscapesRoot(err) {
			t.Errorf("%s without targets: %v", name, err)
		}
	}
	for name, want := range map[string]error{"none": fs.ErrNotExist, "nowhere": fs.ErrNotExist, "sub/none": fs.ErrNotExist, "fifo/x": syscall.ENOTDIR} {
		if _, err := p.Dir(name); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if dir, err := p.Dir("rel/on"); err != nil {
		t.Error(err)
	} else {
		dir.Close()
	}
	if f, err := p.File("fifo"); err != nil {
		t.Error(err) // the reader sees what it is
	} else {
		f.Close()
	}
	if _, err := p.Stat("loop"); err == nil || fsx.EscapesRoot(err) {
		t.Errorf("loop: %v", err)
	}
}
