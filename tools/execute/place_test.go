package execute

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// deepTree makes directories inside of each other that cannot be listed.
func deepTree(t *testing.T, dir string, depth int) {
	t.Helper()
	fd, err := unix.Open(dir, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	for range depth {
		if err != nil {
			t.Fatal(err)
		}
		if err = unix.Mkdirat(fd, "d", 0o700); err != nil {
			t.Fatal(err)
		}
		var next int
		next, err = unix.Openat(fd, "d", unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err == nil {
			err = unix.Fchmod(fd, 0o300)
		}
		unix.Close(fd)
		fd = next
	}
	unix.Close(fd)
}

// TestRemoveTree removes what a tool can leave: a tree of any depth that forbids to be listed, and links, which are not followed.
func TestRemoveTree(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	outside, dir := filepath.Join(base, "outside"), filepath.Join(base, "dir")
	for _, sub := range []string{outside, dir, filepath.Join(dir, "a"), filepath.Join(dir, "a", "b")} {
		if err := os.Mkdir(sub, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(sub, "file"), nil, 0o400); err != nil {
			t.Fatal(err)
		}
	}
	for _, link := range []string{"a/to", "a/b/to"} {
		if err := os.Symlink(outside, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	deepTree(t, filepath.Join(dir, "a", "b"), 1100)
	if err := os.Chmod(filepath.Join(dir, "a"), 0o500); err != nil {
		t.Fatal(err)
	}
	removeTree(dir)
	if left, err := os.ReadDir(base); err != nil || len(left) != 1 {
		t.Errorf("left %v, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(outside, "file")); err != nil {
		t.Error(err)
	}
}

// TestStalePlace is removed by the next process.
func TestStalePlace(t *testing.T) {
	parent := t.TempDir()
	killed, err := newPlace(parent, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	deepTree(t, killed.path("calls"), 20)
	killed.lock.Close()
	next, err := newPlace(parent, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) != 1 || left[0].Name() != filepath.Base(next.dir) {
		t.Errorf("left %v, %v", left, err)
	}
	next.remove()
	if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}
