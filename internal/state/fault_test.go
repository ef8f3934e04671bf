package state_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"pannier/internal/state"
)

func TestSecondProcess(t *testing.T) {
	dir := t.TempDir()
	first, _ := other(t, "holder", dir)
	_, err := state.Open(dir)
	if !errors.Is(err, state.ErrLocked) || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v", err)
	}
	if err := errors.Join(first.Process.Kill(), ignore(first.Wait())); err != nil {
		t.Fatal(err)
	}
	open(t, dir)
	if _, err := state.Open(dir); !errors.Is(err, state.ErrLocked) {
		t.Errorf("the same process again: %v", err)
	}
}

func ignore(error) error { return nil }

// Tools for bbolt know nothing of a lock of ours.
func TestLockOfBolt(t *testing.T) {
	dir := t.TempDir()
	db, err := bbolt.Open(filepath.Join(dir, "state.db"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := state.Open(dir); !errors.Is(err, state.ErrLocked) {
		t.Errorf("got %v", err)
	}
}

func TestKill(t *testing.T) {
	dir := t.TempDir()
	for range 3 {
		writer, lines := other(t, "writer", dir)
		said := 0
		for said < 5 && lines.Scan() {
			said, _ = strconv.Atoi(lines.Text())
		}
		_ = writer.Process.Kill()
		for lines.Scan() {
			said, _ = strconv.Atoi(lines.Text())
		}
		_ = writer.Wait()
		s := open(t, dir)
		var got int
		if _, err := s.Get("numbers", "newest", &got); err != nil || got < said || s.Recovered() != "" {
			t.Errorf("got %d, %v, want at least %d; recovered %q", got, err, said, s.Recovered())
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// filled returns the bytes of a database with a few pages in it.
func filled(t testing.TB) []byte {
	dir := t.TempDir()
	s, err := state.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 30 {
		if err := s.Put(fmt.Sprint("bucket", n%3), fmt.Sprint("key", n), strings.Repeat("v", n*100)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestBroken(t *testing.T) {
	whole := filled(t)
	for name, text := range map[string][]byte{
		"text":          []byte("this is no database\n"),
		"one byte":      {1},
		"zeros":         make([]byte, 64<<10),
		"first page":    whole[:4096],
		"half":          whole[:len(whole)/2],
		"odd":           whole[:len(whole)/3+7],
		"garbage pages": append(bytes.Clone(whole[:8192]), bytes.Repeat([]byte{0xa5}, len(whole)-8192)...),
		"zero pages":    append(bytes.Clone(whole[:8192]), make([]byte, len(whole)-8192)...),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "state.db")
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			s := open(t, dir)
			aside := s.Recovered()
			if !strings.HasPrefix(aside, path+".broken-") {
				t.Fatalf("moved to %q", aside)
			}
			if got, err := os.ReadFile(aside); err != nil || (len(text) < 4096 && !bytes.Equal(got, text)) {
				t.Errorf("what was moved aside is not what was there: %v", err)
			}
			put(t, s, "b", "k", 1)
			holds(t, s, "b", "k", 1)
		})
	}
}

// TestBrokenWhileOpen damages the file of a store that is open: every call ends, also after one that bbolt panicked in.
func TestBrokenWhileOpen(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"empty":   func(path string) error { return os.Truncate(path, 0) },
		"garbage": func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte{0xa5}, 64<<10), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s, err := state.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			put(t, s, "b", "k", 1)
			if err := damage(filepath.Join(dir, "state.db")); err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				var got int
				for range 3 {
					_, _ = s.Get("b", "k", &got)
					_ = s.Put("b", "k", 2)
					_ = s.Delete("b", "k")
				}
				if err := s.Put("b", "k", 3); err == nil {
					t.Error("a write in a damaged file succeeds")
				}
				_ = s.Close()
			}()
			select {
			case <-done:
			case <-time.After(10 * time.Second):
				t.Fatal("a call does not end")
			}
		})
	}
}

func TestNoFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state.db")
	for n, begin := range []func() error{
		func() error { return os.Mkdir(path, 0o700) },
		func() error { return syscall.Mkfifo(path, 0o600) },
	} {
		if err := errors.Join(os.RemoveAll(path), begin()); err != nil {
			t.Fatal(err)
		}
		s := open(t, dir)
		put(t, s, "b", "k", 1)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if aside, err := filepath.Glob(path + ".broken-*"); err != nil || len(aside) != n+1 {
			t.Errorf("moved aside: %q, %v", aside, err)
		}
	}
}

// Whatever a disk does to a few bytes, no call may end the process.
func FuzzFlippedBytes(f *testing.F) {
	whole := filled(f)
	for seed := range uint64(40) {
		f.Add(seed, uint8(seed))
	}
	f.Fuzz(func(t *testing.T, seed uint64, flips uint8) {
		text, random := bytes.Clone(whole), rand.New(rand.NewPCG(seed, 1))
		for range int(flips)%8 + 1 {
			text[random.IntN(len(text))] ^= byte(1 + random.IntN(255))
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "state.db"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := state.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		_ = s.Put("bucket0", "key0", strings.Repeat("w", 5000))
		_, _ = s.All("bucket1")
		_ = s.Delete("bucket2", "key2")
		_ = s.Close()
	})
}

func TestDirectoryErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := state.Open(file); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("a file as the directory: %v", err)
	}
	if _, err := state.Open(filepath.Join(file, "below")); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("a directory below a file: %v", err)
	}
}

func TestReadOnlyDirectory(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write into every directory")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	if _, err := state.Open(dir); !errors.Is(err, syscall.EACCES) {
		t.Errorf("got %v", err)
	}
}

func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=512k"); err != nil {
		t.Skipf("a small disk needs root: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	s := open(t, dir)
	put(t, s, "b", "small", "old")
	put(t, s, "b", "big", 1)
	err := s.Put("b", "big", strings.Repeat("x", 1<<20))
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v", err)
	}
	holds(t, s, "b", "big", 1)
	put(t, s, "b", "small", "new")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	holds(t, s, "b", "small", "new")
	holds(t, s, "b", "big", 1)
	if err := s.Close(); err != nil || s.Recovered() != "" {
		t.Errorf("closing: %v; recovered %q", err, s.Recovered())
	}
}

func BenchmarkPut(b *testing.B) {
	s, err := state.Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for b.Loop() {
		if err := s.Put("b", "k", "value"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGet(b *testing.B) {
	s, err := state.Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if err := s.Put("b", "k", "value"); err != nil {
		b.Fatal(err)
	}
	var value string
	for b.Loop() {
		if _, err := s.Get("b", "k", &value); err != nil {
			b.Fatal(err)
		}
	}
}
