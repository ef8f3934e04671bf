package loader_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/loader"
)

// changedAt returns when the inode of a file was last changed, which no call can set.
func changedAt(t *testing.T, path string) unix.Timespec {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		t.Fatal(err)
	}
	return st.Ctim
}

// TestOldFileWithRestoredTimes has size, mtime and inode as they were, long after the file was young.
func TestOldFileWithRestoredTimes(t *testing.T) {
	root := tree(t, "a")
	path := filepath.Join(root, "a/SKILL.md")
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	l.SetClock(func() time.Time { return time.Now().Add(time.Hour) })
	old := only(t, load(t, l, pannier.Batch{Full: true})).Description
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for before := changedAt(t, path); changedAt(t, path) == before; { // the clock of the file system is coarse
		write(t, path, good(old[:len(old)-1]+"!"))
		if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
	}
	if s := only(t, load(t, l, pannier.Batch{Full: true})); s.Description == old {
		t.Errorf("description %q", s.Description)
	}
}
