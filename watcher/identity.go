package watcher

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"

	"pannier"
	"pannier/internal/fsx"
)

// identify returns the identity of the directory at path. A link is not a directory.
func identify(path string) (fsx.FileID, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return fsx.FileID{}, err
	}
	return idOf(path, info)
}

// identity is what identify returned.
type identity struct {
	id  fsx.FileID
	err error
}

func identityOf(path string) (at identity) {
	at.id, at.err = identify(path)
	return at
}

// replaced reports whether something else is at the path of a directory than what is watched, or nothing. If that is
// unknown it is not.
func (d *watch) replaced() bool {
	now, err := identify(d.path)
	return err == nil && now != d.id || err != nil && gone(err)
}

func idOf(path string, info fs.FileInfo) (fsx.FileID, error) {
	if !info.IsDir() {
		return fsx.FileID{}, &fs.PathError{Op: "watch", Path: path, Err: syscall.ENOTDIR}
	}
	return fsx.StampOf(info).FileID, nil
}

// listing is what of the entries of a directory decides where to go on.
type listing struct {
	holdsSkill bool
	dirs       []string
	links      map[string]struct{}
}

// list reads a directory in portions, so that one with a million files costs little memory, and stats none of them.
func list(path string) (listing, error) {
	var l listing
	dir, err := fsx.OpenDir(path)
	if err != nil {
		return l, err
	}
	defer dir.Close()
	for {
		entries, err := dir.ReadDir(256)
		for _, e := range entries {
			switch {
			case e.IsDir():
				l.dirs = append(l.dirs, e.Name())
				continue
			case e.Type() == fs.ModeSymlink:
				put(&l.links, e.Name())
			}
			l.holdsSkill = l.holdsSkill || pannier.IsSkillFile(e.Name())
		}
		if errors.Is(err, io.EOF) {
			return l, nil
		}
		if err != nil {
			return l, err
		}
	}
}

// isSkillFile reports whether what is at a path makes the directory that holds it a skill, going by its name.
func isSkillFile(path string) bool {
	found, err := fsx.Lstat(path)
	return err == nil && !found.IsDir()
}

// worthSharing is how many calls to the disk pay for more than one goroutine.
const worthSharing = 64

// inParallel calls do with each number below n, on all processors where there are many. The caller's goroutine waits, so do
// may read what that one writes.
func inParallel(n int, do func(i int)) {
	if n < worthSharing {
		for i := range n {
			do(i)
		}
		return
	}
	var (
		next    atomic.Int64
		workers sync.WaitGroup
	)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				do(int(i))
			}
		})
	}
	workers.Wait()
}
