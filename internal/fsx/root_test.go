package fsx_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"pannier/internal/fsx"
)

// TestOpen opens directories, by links within the parent too, and nothing else, and does not wait.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	err := errors.Join(os.MkdirAll(in("sub/deep"), 0o755), os.WriteFile(in("sub/deep/file"), []byte("x"), 0o644), syscall.Mkfifo(in("fifo"), 0o600),
		os.Symlink("sub", in("link")), os.Symlink("fifo", in("to-fifo")), os.Symlink("/", in("out")))
	if err != nil {
		t.Fatal(err)
	}
	top, err := fsx.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer top.Close()
	for name, want := range map[string]error{
		"sub": nil, "sub/deep": nil, "link": nil, "link/deep": nil,
		"fifo": syscall.ENOTDIR, "to-fifo": syscall.ENOTDIR, "sub/deep/file": syscall.ENOTDIR, "absent": fs.ErrNotExist,
	} {
		for how, open := range map[string]func() (*os.Root, error){
			"by its path": func() (*os.Root, error) { return fsx.OpenRoot(in(name)) },
			"in a parent": func() (*os.Root, error) { return fsx.OpenRootIn(top, name) },
		} {
			root, err := open()
			if !errors.Is(err, want) || (root == nil) != (want != nil) {
				t.Errorf("%s %s: %v, %v", name, how, root, err)
			}
			if root == nil {
				continue
			}
			here, err := root.Stat(".")
			there, err2 := os.Stat(in(name))
			if err := errors.Join(err, err2, root.Close()); err != nil || !os.SameFile(here, there) {
				t.Errorf("%s %s: another directory, %v", name, how, err)
			}
		}
	}
	if root, err := fsx.OpenRootIn(top, "out"); err == nil {
		root.Close()
		t.Error("a link leads out of the parent")
	}
}
