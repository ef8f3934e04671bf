package watcher

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"pannier/internal/fsx"
)

// symlinkChain is how a path leads to a directory, symlink by symlink.
type symlinkChain struct {
	// real is the path without links of the directory that the path leads to, and id what is there. real is empty where
	// it leads nowhere; err says why if that is not just because nothing is there.
	real string
	id   fsx.FileID
	err  error
	// file is the path without links of what the path leads to where that is not a directory.
	file string
	// entries are the paths on the chain, existing or not: if one changes, the chain may.
	entries []string
	// anchors are the directories to watch besides real to notice that: each that holds a symlink of the chain, and the one
	// in which the chain ends too early.
	anchors []string
}

func (c symlinkChain) same(other symlinkChain) bool {
	return c.real == other.real && c.id == other.id && (c.err == nil) == (other.err == nil) &&
		slices.Equal(c.entries, other.entries) && slices.Equal(c.anchors, other.anchors)
}

// step is what lies at one entry of a chain.
type step struct {
	id     fsx.FileID // of a directory
	link   bool
	target string // of a link
	err    error  // why it is not a directory
}

// chainFinder follows chains and stats each entry once, so that chains with a common beginning cost little
// more than one. What it saw holds for a moment only, so it is used for no longer than that.
type chainFinder map[string]step

func (f chainFinder) stat(entry string) step {
	s, known := f[entry]
	if !known {
		s = statPath(entry)
		f[entry] = s
	}
	return s
}

func statPath(entry string) (s step) {
	info, err := os.Lstat(entry)
	switch {
	case err != nil:
		s.err = err
	case info.Mode().Type() == os.ModeSymlink:
		s.link = true
		s.target, s.err = os.Readlink(entry)
	default:
		s.id, s.err = idOf(entry, info)
	}
	return s
}

// findChain goes along an absolute path.
func findChain(path string) symlinkChain { return make(chainFinder).find(path) }

func (f chainFinder) find(path string) symlinkChain {
	c := symlinkChain{entries: make([]string, 0, strings.Count(path, "/"))}
	var rest string
	var err error
	c.real, rest, err = fsx.FollowPath("/", path, fsx.LinkRules{Readlink: func(dir, name string) (string, error) {
		entry := filepath.Join(dir, name)
		c.entries = append(c.entries, entry)
		s := f.stat(entry)
		switch {
		case s.err != nil:
			return "", s.err
		case !s.link:
			return "", unix.EINVAL
		}
		c.anchors = append(c.anchors, dir)
		return s.target, nil
	}})
	switch {
	case err == nil:
		return c.arrive(f.stat(c.real))
	case err == unix.ELOOP:
		err = &os.PathError{Op: "follow", Path: path, Err: err}
	case rest == "" && errors.Is(err, unix.ENOTDIR):
		c.file = c.entries[len(c.entries)-1]
	}
	return c.end(err)
}

// end returns the chain that leads no further than to c.real.
func (c symlinkChain) end(err error) symlinkChain {
	if !gone(err) {
		c.err = err
	}
	c.anchors = append(c.anchors, c.real)
	c.real = ""
	return c
}

func (c symlinkChain) arrive(at step) symlinkChain {
	if at.err != nil {
		c.err, c.real = at.err, ""
		return c
	}
	c.id = at.id
	return c
}

// under returns the part of path below dir, with its leading separator, or nothing for dir itself.
func under(dir, path string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, strings.TrimSuffix(dir, "/"))
	return rest, ok && (rest == "" || rest[0] == '/')
}
