package fsx

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// writers are the two ways to replace the file "file" of a directory.
var writers = map[string]func(dir string, text string, o WriteOptions) error{
	"path": func(dir, text string, o WriteOptions) error {
		if o.Temporary != "" {
			o.Temporary = filepath.Join(dir, o.Temporary)
		}
		return WriteFile(filepath.Join(dir, "file"), []byte(text), o)
	},
	"root": func(dir, text string, o WriteOptions) error {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return err
		}
		defer root.Close()
		return WriteFileIn(root, "file", []byte(text), o)
	},
}

// checkDir fails unless a directory has the one file "file" with this text.
func checkDir(t *testing.T, dir, want string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "file"))
	if err != nil || string(text) != want {
		t.Errorf("the file has %q, %v, want %q", text, err, want)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("the directory has %v", left)
	}
}

func TestWriteFile(t *testing.T) {
	for name, write := range writers {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, o := range []WriteOptions{{}, {Temporary: "file.new"}, {SkipDirSync: true}} {
				for _, text := range []string{"long one", "two", ""} {
					if err := write(dir, text, o); err != nil {
						t.Fatal(err)
					}
					checkDir(t, dir, text)
				}
			}
			info, err := os.Stat(filepath.Join(dir, "file"))
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
		})
	}
}

func TestWriteFileFails(t *testing.T) {
	for name, write := range writers {
		for _, last := range []Step{StepWrite, StepSync, StepRename, StepSyncDir} {
			t.Run(name+" "+string(last), func(t *testing.T) {
				dir, failed := t.TempDir(), errors.New("failed")
				writeTestFile(t, filepath.Join(dir, "file"), "old")
				var steps []Step
				err := write(dir, "new", WriteOptions{Before: func(s Step) error {
					if steps = append(steps, s); s == last {
						return failed
					}
					return nil
				}})
				want := "old"
				if last == StepSyncDir {
					want = "new"
				}
				checkDir(t, dir, want)
				if all := []Step{StepWrite, StepSync, StepRename, StepSyncDir}; !errors.Is(err, failed) || !slices.Equal(steps, all[:len(steps)]) {
					t.Errorf("%v after %v", err, steps)
				}
			})
		}
	}
}

// TestWriteFileFollowsNothing puts something else in the place of the temporary file: the write fails, and the next
// succeeds.
func TestWriteFileFollowsNothing(t *testing.T) {
	for name, place := range map[string]func(string) error{
		"symlink":   func(at string) error { return os.Symlink("/proc/self/mem", at) },
		"fifo":      func(at string) error { return unix.Mkfifo(at, 0o600) },
		"directory": func(at string) error { return os.Mkdir(at, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := place(filepath.Join(dir, "file.new")); err != nil {
				t.Fatal(err)
			}
			if err := writers["path"](dir, "text", WriteOptions{Temporary: "file.new"}); err == nil {
				t.Error("written through it")
			}
			if err := writers["path"](dir, "text", WriteOptions{Temporary: "file.new"}); err != nil {
				t.Error(err)
			}
			checkDir(t, dir, "text")
		})
	}
}

func TestKeepOwner(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	writeTestFile(t, path, "old")
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := writers["path"](dir, "new", WriteOptions{Prepare: KeepOwner(before)}); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(path); err != nil || after.Mode() != before.Mode() {
		t.Errorf("mode %v, %v", after.Mode(), err)
	}
}
