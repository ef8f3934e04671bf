package fsx

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestStamp takes the stamp of a file in each way: all are equal, and another content has another one.
func TestStamp(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	writeTestFile(t, path, "one")
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	want := StampOf(info)
	byPath, err1 := Lstat(path)
	byDir, err2 := LstatAt(int(d.Fd()), "file")
	byFile, err3 := Fstat(int(f.Fd()))
	if err := errors.Join(err1, err2, err3); err != nil || byPath != want || byDir != want || byFile != want || !want.IsRegular() {
		t.Errorf("%+v, %+v, %+v, want %+v, %v", byPath, byDir, byFile, want, err)
	}
	writeTestFile(t, path, "more")
	if now, err := Lstat(path); err != nil || now == want || now.FileID != want.FileID {
		t.Errorf("after a write %+v, %v", now, err)
	}
	if _, err := Lstat(path + "x"); err != unix.ENOENT {
		t.Errorf("missing file: %v", err)
	}
}

func TestStampKind(t *testing.T) {
	dir := t.TempDir()
	fifo, link := filepath.Join(dir, "fifo"), filepath.Join(dir, "link")
	if err := errors.Join(unix.Mkfifo(fifo, 0o600), os.Symlink("/absent", link)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{dir: "a directory", fifo: "a FIFO", link: "a link", "/dev/null": "a device"} {
		if s, err := Lstat(path); err != nil || s.KindName() != want || s.IsDir() != (path == dir) || s.IsSymlink() != (path == link) {
			t.Errorf("%s is %s, %v", path, s.KindName(), err)
		}
	}
}

func TestWithinRacyWindow(t *testing.T) {
	at := time.Unix(1000, 0)
	old := at.Add(-time.Hour).UnixNano()
	for age, want := range map[time.Duration]bool{RacyWindow + 1: false, RacyWindow: true, 0: true, -time.Hour: true} {
		changed := at.Add(-age).UnixNano()
		for _, s := range []Stamp{{MTime: changed, CTime: old}, {MTime: old, CTime: changed}} {
			if s.WithinRacyWindow(at) != want {
				t.Errorf("changed %v before, %+v: %v", age, s, !want)
			}
		}
	}
}
