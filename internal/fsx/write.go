package fsx

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// Step is a step of [WriteFile].
type Step string

// The steps of [WriteFile], in this order.
const (
	StepWrite   Step = "write"
	StepSync    Step = "sync"
	StepRename  Step = "rename"
	StepSyncDir Step = "sync directory"
)

// WriteOptions say how [WriteFile] replaces a file. The zero value suits a private file.
type WriteOptions struct {
	// Temporary is the path of the new file before the rename; it must be in the same directory. A file that is there is
	// overwritten, so that files of killed processes do not accumulate. Empty means a random name beginning with a dot,
	// which is needed where others can write to the directory.
	Temporary string
	// Prepare is called with the new file, which is empty and has the mode 0600. Nil does nothing.
	Prepare func(*os.File) error
	// Before is called before each step, and an error ends the write. The file is replaced by [StepRename]. Nil does
	// nothing.
	Before func(Step) error
	// SkipDirSync leaves out the sync of the directory: after a power cut the old file may be back.
	SkipDirSync bool
}

// WriteFile replaces a file atomically: a reader sees all of the old content or all of the new, also after a power cut.
// When it fails before the rename, the old file is unchanged and the temporary file is removed.
func WriteFile(name string, content []byte, o WriteOptions) error {
	return writeFile(paths{}, filepath.Split, name, content, o)
}

// WriteFileIn is [WriteFile] for a file below a root.
func WriteFileIn(root *os.Root, name string, content []byte, o WriteOptions) error {
	return writeFile(below{root}, path.Split, name, content, o)
}

// fileSystem has the calls that WriteFile makes.
type fileSystem interface {
	OpenFile(name string, flag int, mode fs.FileMode) (*os.File, error)
	Rename(from, to string) error
	Remove(name string) error
	syncDir(dir string) error
}

type paths struct{}

func (paths) OpenFile(name string, flag int, mode fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag, mode)
}
func (paths) Rename(from, to string) error { return os.Rename(from, to) }
func (paths) Remove(name string) error     { return os.Remove(name) }
func (paths) syncDir(dir string) error     { return SyncDir(dir) }

type below struct{ *os.Root }

func (b below) syncDir(dir string) error { return SyncDirIn(b.Root, dir) }

func writeFile(on fileSystem, split func(string) (dir, file string), name string, content []byte, o WriteOptions) error {
	if o.Before == nil {
		o.Before = func(Step) error { return nil }
	}
	dir, base := split(name)
	flag := os.O_TRUNC
	if o.Temporary == "" {
		o.Temporary, flag = dir+"."+base+"."+rand.Text(), os.O_EXCL
	}
	f, err := on.OpenFile(o.Temporary, os.O_WRONLY|os.O_CREATE|flag|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		if flag == os.O_TRUNC {
			_ = on.Remove(o.Temporary) // the next write succeeds where a symlink or a FIFO was in its place
		}
		return err
	}
	err = errors.Join(fill(f, content, o), f.Close())
	if err == nil {
		err = o.Before(StepRename)
	}
	if err == nil {
		err = on.Rename(o.Temporary, name)
	}
	if err != nil {
		_ = on.Remove(o.Temporary) // frees its blocks where the disk is full
		return err
	}
	if o.SkipDirSync {
		return nil
	}
	if err := o.Before(StepSyncDir); err != nil {
		return err
	}
	return on.syncDir(path.Clean(dir))
}

// fill writes the content and syncs it.
func fill(f *os.File, content []byte, o WriteOptions) error {
	if o.Prepare != nil {
		if err := o.Prepare(f); err != nil {
			return err
		}
	}
	if err := o.Before(StepWrite); err != nil {
		return err
	}
	if _, err := f.Write(content); err != nil {
		return err
	}
	if err := o.Before(StepSync); err != nil {
		return err
	}
	return f.Sync()
}

// KeepOwner returns a [WriteOptions.Prepare] that gives the new file the mode of another and, where this user may, its
// owner.
func KeepOwner(of fs.FileInfo) func(*os.File) error {
	return func(f *os.File) error {
		if owner, ok := of.Sys().(*syscall.Stat_t); ok {
			_ = f.Chown(int(owner.Uid), int(owner.Gid)) // only root may
		}
		return f.Chmod(of.Mode().Perm())
	}
}
