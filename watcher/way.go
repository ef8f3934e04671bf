package watcher

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"pannier/internal/fsx"
)

// maxLinks bounds the links on one way, as the kernel does.
const maxLinks = 40

// way is how a path leads to a directory, link by link.
type way struct {
	// real is the path without links of the directory that the path leads to, and id what is there. real is empty where
	// it leads nowhere; err says why if that is not just because nothing is there.
	real string
	id   fsx.FileID
	err  error
	// file is the path without links of what the path leads to where that is no directory.
	file string
	// entries are all that lies on the way, whether it is there or not: where one changes, the way may.
	entries []string
	// anchors are the directories to watch besides real to learn of that: each that holds a link on the way, and the one
	// in which the way ends too early.
	anchors []string
}

func (w way) same(other way) bool {
	return w.real == other.real && w.id == other.id && (w.err == nil) == (other.err == nil) &&
		slices.Equal(w.entries, other.entries) && slices.Equal(w.anchors, other.anchors)
}

// step is what lies at one entry of a way.
type step struct {
	id     fsx.FileID // of a directory
	link   bool
	target string // of a link
	err    error  // why it is no directory
}

// finder goes along ways and looks at each entry once, so that ways that have most of themselves in common cost little
// more than one. What it saw holds for a moment only, so it is used for no longer than that.
type finder map[string]step

func (f finder) look(entry string) step {
	s, known := f[entry]
	if !known {
		s = lookAt(entry)
		f[entry] = s
	}
	return s
}

func lookAt(entry string) (s step) {
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

// findWay goes along an absolute path.
func findWay(path string) way { return make(finder).find(path) }

func (f finder) find(path string) way {
	rest := split(path)
	w := way{real: "/", entries: make([]string, 0, len(rest))}
	for links := 0; len(rest) > 0; {
		entry := filepath.Join(w.real, rest[0])
		rest = rest[1:]
		if entry == w.real || filepath.Dir(w.real) == entry { // "." and ".." come from links only
			w.real = entry
			continue
		}
		w.entries = append(w.entries, entry)
		s := f.look(entry)
		if s.err != nil {
			if len(rest) == 0 && errors.Is(s.err, syscall.ENOTDIR) {
				w.file = entry
			}
			return w.end(s.err)
		}
		if !s.link {
			w.real = entry
			continue
		}
		if links++; links > maxLinks {
			return w.end(&os.PathError{Op: "follow", Path: path, Err: syscall.ELOOP})
		}
		w.turn(s.target, &rest)
	}
	return w.arrive(f.look(w.real))
}

// turn follows a link in w.real.
func (w *way) turn(target string, rest *[]string) {
	w.anchors = append(w.anchors, w.real)
	if filepath.IsAbs(target) {
		w.real = "/"
	}
	*rest = append(split(target), *rest...)
}

// end returns the way that leads no further than to w.real.
func (w way) end(err error) way {
	if !gone(err) {
		w.err = err
	}
	w.anchors = append(w.anchors, w.real)
	w.real = ""
	return w
}

func (w way) arrive(at step) way {
	if at.err != nil {
		w.err, w.real = at.err, ""
		return w
	}
	w.id = at.id
	return w
}

// split returns the elements of a path, without empty ones.
func split(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == filepath.Separator })
}

// under returns the part of path below dir, with its leading separator, or nothing for dir itself.
func under(dir, path string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, strings.TrimSuffix(dir, "/"))
	return rest, ok && (rest == "" || rest[0] == '/')
}
