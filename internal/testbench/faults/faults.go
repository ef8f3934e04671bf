// Package faults has disks that fail, and what tests of a segmented log need besides.
package faults

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"pannier/internal/seqlog"
)

// Disk fails where it is told to. A write that fails leaves half of itself.
type Disk struct {
	Create, Write, Truncate, Sync atomic.Bool
	// BeforeSync is called before each sync; nil does nothing.
	BeforeSync func()
}

// Open creates a segment on the disk.
func (d *Disk) Open(path string, existing int) (seqlog.File, error) {
	if d.Create.Load() {
		return nil, syscall.ENOSPC
	}
	f, err := seqlog.CreateFile(path, existing)
	return file{f, d}, err
}

type file struct {
	seqlog.File
	disk *Disk
}

func (f file) WriteAt(b []byte, at int64) (int, error) {
	if !f.disk.Write.Load() {
		return f.File.WriteAt(b, at)
	}
	n, _ := f.File.WriteAt(b[:len(b)/2], at)
	return n, syscall.ENOSPC
}

func (f file) Truncate(size int64) error {
	if f.disk.Truncate.Load() {
		return syscall.EIO
	}
	return f.File.Truncate(size)
}

func (f file) Sync() error {
	if f.disk.BeforeSync != nil {
		f.disk.BeforeSync()
	}
	if f.disk.Sync.Load() {
		return syscall.EIO
	}
	return f.File.Sync()
}

// Mount mounts a file system of 64 KiB on a directory.
func Mount(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("a file system of its own needs root: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// Remount changes the flags of what [Mount] mounted.
func Remount(t *testing.T, dir string, flags uintptr) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|flags, "size=64k"); err != nil {
		t.Fatal(err)
	}
}

// Fill leaves no space on a file system until free is called.
func Fill(t *testing.T, dir string) (free func()) {
	t.Helper()
	ballast := filepath.Join(dir, "ballast")
	f, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	_ = f.Close()
	return func() {
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
	}
}

// Kill runs the test binary with a variable in its environment, which must have it append lines and print their
// numbers, and kills it after count lines that follow the number last. It returns the last number that was printed.
func Kill(t *testing.T, variable string, last, count uint64) uint64 {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), variable)
	out, err := cmd.StdoutPipe()
	if err = errors.Join(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	begin := last
	for lines := bufio.NewScanner(out); lines.Scan(); {
		seq, err := strconv.ParseUint(lines.Text(), 10, 64)
		if err != nil || seq != last+1 {
			t.Fatalf("the process appended %q after %d", lines.Text(), last)
		}
		if last = seq; last == begin+count {
			_ = cmd.Process.Kill()
		}
	}
	_ = cmd.Wait()
	if last < begin+count {
		t.Fatalf("the process appended %d lines, want %d", last-begin, count)
	}
	return last
}

// Segments returns the paths of the segments of a directory, oldest first.
func Segments(t testing.TB, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(paths)
	return paths
}

// Number returns the number in the name of a segment.
func Number(t testing.TB, path string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(strings.TrimSuffix(filepath.Base(path), ".jsonl"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Read returns the content of a file.
func Read(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Write replaces the content of a file.
func Write(t testing.TB, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Copy returns a copy of a directory, as another process would find it if this one was killed.
func Copy(t testing.TB, dir string) string {
	t.Helper()
	other := t.TempDir()
	if err := os.CopyFS(other, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return other
}
