package seqlog_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"pannier/internal/seqlog"
	"pannier/internal/testbench/faults"
)

// content returns the lines of a log, newest first, as it has them and as its files are.
func content(t *testing.T, l *seqlog.Log, dir string) (lines []string, files string) {
	t.Helper()
	for line, err := range seqlog.Newest(dir, l.Segments(), 100) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	for _, path := range faults.Segments(t, dir) {
		files += fmt.Sprint(faults.Number(t, path), ":", string(faults.Read(t, path)), ";")
	}
	return lines, files
}

// TestLog appends, fails, repairs, and removes segments. What a log has is on disk at any time.
func TestLog(t *testing.T) {
	disk, dir := &faults.Disk{}, filepath.Join(t.TempDir(), "log")
	l := seqlog.New(seqlog.Options{Dir: dir, SegmentBytes: 6, Sync: true, Existing: os.O_EXCL, Create: disk.Open}, nil, false)
	fail := func(set func(bool)) func() error {
		return func() error {
			set(true)
			err := l.Append(4, 4, []byte("four\n"))
			set(false)
			if err == nil {
				return errors.New("a failing disk takes a line")
			}
			return nil
		}
	}
	for _, step := range []struct {
		name  string
		do    func() error
		lines []string
		files string
	}{
		{"append", func() error { return errors.Join(l.Append(1, 2, []byte("a\nb\n")), l.Append(3, 3, []byte("c\n"))) }, []string{"c", "b", "a"}, "1:a\nb\nc\n;"},
		{"create fails", fail(disk.Create.Store), []string{"c", "b", "a"}, "1:a\nb\nc\n;"},
		{"write fails", fail(disk.Write.Store), []string{"c", "b", "a"}, "1:a\nb\nc\n;4:;"},
		{"sync fails", fail(disk.Sync.Store), []string{"c", "b", "a"}, "1:a\nb\nc\n;4:;"},
		{"write and truncate fail", fail(func(on bool) { disk.Write.Store(on); disk.Truncate.Store(on) }), []string{"c", "b", "a"}, "1:a\nb\nc\n;4:fo;"},
		{"long line", func() error { return l.Append(4, 4, []byte("fourfour\n")) }, []string{"fourfour", "c", "b", "a"}, "1:a\nb\nc\n;4:fourfour\n;"},
		{"undo", func() error { return l.Undo(9) }, []string{"c", "b", "a"}, "1:a\nb\nc\n;4:;"},
		{"sealed", func() error { l.Seal(); return l.Append(5, 5, []byte("e\n")) }, []string{"e", "c", "b", "a"}, "1:a\nb\nc\n;4:;5:e\n;"},
		{"gap", func() error { return l.Append(9, 9, []byte("i\n")) }, []string{"i", "e", "c", "b", "a"}, "1:a\nb\nc\n;4:;5:e\n;9:i\n;"},
		{"forget", func() error { l.Forget(4); return nil }, []string{"i", "e", "c", "b", "a"}, "1:a\nb\nc\n;4:;5:e\n;9:i\n;"},
		{"drop", func() error { return l.Drop(2) }, []string{"i"}, "4:;9:i\n;"},
		{"drop all", func() error { return l.Drop(1) }, nil, "4:;"},
		{"occupied", func() error {
			if err := l.Append(4, 4, []byte("d\n")); !errors.Is(err, syscall.EEXIST) {
				return fmt.Errorf("append to a file of others: %w", err)
			}
			return nil
		}, nil, "4:;"},
		{"again", func() error { return l.Append(10, 10, []byte("j\n")) }, []string{"j"}, "4:;10:j\n;"},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if lines, files := content(t, l, dir); !slices.Equal(lines, step.lines) || files != step.files {
			t.Fatalf("%s: %q in %q, want %q in %q", step.name, lines, files, step.lines, step.files)
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
