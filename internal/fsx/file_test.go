package fsx

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func writeTestFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestReadRegular(t *testing.T) {
	dir := t.TempDir()
	file, fifo, link := filepath.Join(dir, "file"), filepath.Join(dir, "fifo"), filepath.Join(dir, "link")
	writeTestFile(t, file, "12345")
	if err := errors.Join(unix.Mkfifo(fifo, 0o600), os.Symlink("file", link)); err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[int64]string{9: "12345", 5: "12345", 3: "1234"} {
		text, info, err := ReadRegular(link, 0, limit)
		if err != nil || string(text) != want || info.Size() != 5 {
			t.Errorf("limit %d: %q, %v, want %q", limit, text, err, want)
		}
	}
	for path, want := range map[string]error{fifo: ErrNotRegular, dir: ErrNotRegular, link: unix.ELOOP, file + "x": fs.ErrNotExist} {
		if _, _, err := ReadRegular(path, unix.O_NOFOLLOW, 9); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
}

func TestSyncDir(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := errors.Join(SyncDir(dir), SyncDirIn(root, ".")); err != nil {
		t.Error(err)
	}
	if err := SyncDir("/proc"); err != nil {
		t.Errorf("a file system that cannot sync: %v", err)
	}
	if err := SyncDir(filepath.Join(dir, "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing directory: %v", err)
	}
}

func TestTryLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	writeTestFile(t, path, "")
	var files [2]*os.File
	for i := range files {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files[i] = f
	}
	for i, want := range []bool{true, false} {
		if held, err := TryLock(files[i]); held != want || err != nil {
			t.Errorf("lock %d: %v, %v", i, held, err)
		}
	}
	Unlock(files[0])
	if held, err := TryLock(files[1]); !held || err != nil {
		t.Errorf("after the unlock: %v, %v", held, err)
	}
	if err := Lock(files[1]); err != nil {
		t.Errorf("lock again: %v", err)
	}
	if _, err := TryLock(files[0]); err == nil {
		t.Error("a closed file was locked")
	}
}
