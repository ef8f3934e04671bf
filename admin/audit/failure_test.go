package audit_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"pannier/admin/audit"
	"pannier/internal/testbench/faults"
)

func TestFailingDisk(t *testing.T) {
	for name, test := range map[string]struct {
		faults func(*faults.Disk) []*atomic.Bool
		cause  error
		// left is how many lines a process that is killed meanwhile may leave beside the confirmed ones.
		left int
	}{
		"write":              {func(s *faults.Disk) []*atomic.Bool { return []*atomic.Bool{&s.Write} }, syscall.ENOSPC, 0},
		"write and truncate": {func(s *faults.Disk) []*atomic.Bool { return []*atomic.Bool{&s.Write, &s.Truncate} }, syscall.EIO, 0},
		"sync":               {func(s *faults.Disk) []*atomic.Bool { return []*atomic.Bool{&s.Sync} }, syscall.EIO, 0},
		"sync and truncate":  {func(s *faults.Disk) []*atomic.Bool { return []*atomic.Bool{&s.Sync, &s.Truncate} }, syscall.EIO, 1},
	} {
		t.Run(name, func(t *testing.T) {
			disk, dir := &faults.Disk{}, t.TempDir()
			l, err := audit.OpenWith(audit.Options{Dir: dir, MaxBytes: 2 << 10}, disk.Open)
			if err != nil {
				t.Fatal(err)
			}
			add(t, l, 1, 3)
			for _, f := range test.faults(disk) {
				f.Store(true)
			}
			for range 3 {
				fails(t, l, test.cause)
				has(t, l, 1, 3)
				survives(t, dir, 3+test.left)
			}
			for _, f := range test.faults(disk) {
				f.Store(false)
			}
			add(t, l, 4, 30)
			has(t, l, 1, 30)
			verified(t, dir, 30)
			closes(t, l)
		})
	}
}

// survives opens a copy of the directory, as a process would after one that was killed.
func survives(t *testing.T, dir string, want int) {
	t.Helper()
	other := faults.Copy(t, dir)
	verified(t, other, want)
	l := open(t, audit.Options{Dir: other})
	has(t, l, 1, uint64(want))
	add(t, l, uint64(want)+1, uint64(want)+1)
	verified(t, other, want+1)
	closes(t, l)
}

func TestFailingRotation(t *testing.T) {
	disk, dir := &faults.Disk{}, t.TempDir()
	l, err := audit.OpenWith(audit.Options{Dir: dir, MaxBytes: 10}, disk.Open)
	if err != nil {
		t.Fatal(err)
	}
	add(t, l, 1, 1)
	disk.Create.Store(true)
	fails(t, l, syscall.ENOSPC)
	disk.Create.Store(false)
	disk.Write.Store(true)
	fails(t, l, syscall.ENOSPC)
	survives(t, dir, 1) // with an empty file
	disk.Write.Store(false)
	add(t, l, 2, 5)
	verified(t, dir, 5)
	closes(t, l)
}

func TestTornTail(t *testing.T) {
	dir := t.TempDir()
	l := open(t, audit.Options{Dir: dir})
	add(t, l, 1, 2)
	head := faults.Read(t, dir+".head") // the line that was torn had not been confirmed
	add(t, l, 3, 3)
	closes(t, l)
	path := faults.Segments(t, dir)[0]
	text := faults.Read(t, path)
	two := bytes.LastIndexByte(text[:len(text)-1], '\n') + 1
	zeros := append(make([]byte, len(text)-two-10), text[len(text)-10:]...)
	tails := [][]byte{zeros, make([]byte, 5000), bytes.Repeat([]byte("x"), audit.MaxLine+70_000)}
	for end := two + 1; end < len(text); end += 1 + len(text)/40 {
		tails = append(tails, text[two:end])
	}
	tails = append(tails, text[two:len(text)-1]) // all but the line feed
	for _, tail := range tails {
		faults.Write(t, path, append(bytes.Clone(text[:two]), tail...))
		faults.Write(t, dir+".head", head)
		var said bytes.Buffer
		l := open(t, audit.Options{Dir: dir, Logger: hclog.New(&hclog.LoggerOptions{Output: &said})})
		if got := faults.Read(t, path); !bytes.Equal(got, text[:two]) || strings.Count(said.String(), "[WARN]") != 1 {
			t.Fatalf("a tail of %d bytes: left %d of %d bytes, log %q", len(tail), len(got), two, said.String())
		}
		has(t, l, 1, 2)
		add(t, l, 3, 3)
		verified(t, dir, 3)
		closes(t, l)
	}
	faults.Write(t, path, text[:40])
	if err := os.Remove(dir + ".head"); err != nil {
		t.Fatal(err)
	}
	l = open(t, audit.Options{Dir: dir})
	add(t, l, 1, 2)
	verified(t, dir, 2)
}

// A newest file without a line is left by a crash during rotation.
func TestEmptyNewest(t *testing.T) {
	for _, text := range []string{"", `{"seq":`} {
		dir, paths := many(t, 30)
		last := paths[len(paths)-1]
		faults.Write(t, last, []byte(text))
		if err := os.Remove(dir + ".head"); err != nil {
			t.Fatal(err)
		}
		l := open(t, audit.Options{Dir: dir})
		before := seqs(t, l, "", 1)[0]
		add(t, l, before+1, before+3)
		verified(t, dir, int(before)+3)
		closes(t, l)
	}
}

// Whoever has the directory can do what they want with it; the log goes on, and Verify sees it.
func TestFilesChangedBehindItsBack(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, dir, path string){
		"removed": func(t *testing.T, _, path string) { _ = os.Remove(path) },
		"gone":    func(t *testing.T, dir, _ string) { _ = os.RemoveAll(dir) },
		"emptied": func(t *testing.T, _, path string) { _ = os.Truncate(path, 0) },
		"replaced": func(t *testing.T, _, path string) {
			text := faults.Read(t, path)
			_ = os.Remove(path)
			faults.Write(t, path, text)
		},
		"shortened": func(t *testing.T, _, path string) { _ = os.Truncate(path, 300) },
		"continued": func(t *testing.T, _, path string) { faults.Write(t, path, append(faults.Read(t, path), "{}\n"...)) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "audit")
			l := open(t, audit.Options{Dir: dir})
			add(t, l, 1, 5)
			change(t, dir, faults.Segments(t, dir)[0])
			next := uint64(7) // after the entry that records the break
			if name == "replaced" {
				next = 6
			}
			add(t, l, next, 8)
			if got := seqs(t, l, "", 3); got[0] != 8 || got[2] != 6 {
				t.Errorf("got %d", got)
			}
			closes(t, l)
			l = open(t, audit.Options{Dir: dir})
			add(t, l, 9, 9)
			if said := l.Broken() != ""; said != (name != "replaced") {
				t.Errorf("broken: %q", l.Broken())
			}
			report, err := audit.Verify(dir, nil)
			_, broken := errors.AsType[*audit.BreakError](err)
			switch name {
			case "replaced": // by the same text
				verified(t, dir, 9)
			default:
				if !broken {
					t.Errorf("%+v, %v", report, err)
				}
			}
		})
	}
}

// TestFIFOInPlaceOfTheNewestFile replaces the file of a log that is open, before the first entry: appending fails, and
// waits for no reader.
func TestFIFOInPlaceOfTheNewestFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	l := open(t, audit.Options{Dir: dir})
	add(t, l, 1, 2)
	closes(t, l)
	l = open(t, audit.Options{Dir: dir})
	path := faults.Segments(t, dir)[0]
	if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := l.Append(entry(3))
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil {
			t.Error("appending to a FIFO succeeds")
		}
	case <-time.After(10 * time.Second):
		t.Fatal("appending waits for a reader of the FIFO")
	}
}

func TestDiskFull(t *testing.T) {
	top := faults.Mount(t)
	dir := filepath.Join(top, "audit")
	l := open(t, audit.Options{Dir: dir})
	add(t, l, 1, 5)
	free := faults.Fill(t, top)
	last := uint64(5)
	for {
		e, err := l.Append(entry(0))
		if err != nil {
			break
		}
		last = e.Seq
	}
	for range 3 {
		fails(t, l, syscall.ENOSPC)
	}
	has(t, l, 1, last)
	verified(t, dir, int(last))
	free()
	add(t, l, last+1, last+2)
	verified(t, dir, int(last)+2)
	closes(t, l)
}

func TestReadOnly(t *testing.T) {
	top := faults.Mount(t)
	dir := filepath.Join(top, "audit")
	l := open(t, audit.Options{Dir: dir})
	add(t, l, 1, 2)
	closes(t, l)
	path := faults.Segments(t, dir)[0]
	text := faults.Read(t, path)
	faults.Write(t, path, append(text, "torn"...))
	faults.Remount(t, top, syscall.MS_RDONLY)
	l = open(t, audit.Options{Dir: dir})
	has(t, l, 1, 2)
	fails(t, l, syscall.EROFS)
	faults.Remount(t, top, 0)
	add(t, l, 3, 3)
	verified(t, dir, 3)
	closes(t, l)
	faults.Remount(t, top, syscall.MS_RDONLY)
	l = open(t, audit.Options{Dir: filepath.Join(top, "other")})
	fails(t, l, syscall.EROFS)
}
