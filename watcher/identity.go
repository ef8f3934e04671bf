package watcher

import (
	"errors"
	"io"
	"io/fs"
	"os"
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

// replaced reports whether something else is at the path of a directory than what is watched, or nothing. Where that cannot be
// told it is not.
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
	dir, err := os.Open(path)
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
