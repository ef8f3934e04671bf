package watcher

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// maxLinks bounds the links on one way, as the kernel does.
const maxLinks = 40

// way is how a path leads to a directory, link by link.
type way struct {
	// real is the path without links of the directory that the path leads to, and id what is there. real is empty where
	// it leads nowhere; err says why if that is not just because nothing is there.
	real string
	id   fileID
	err  error
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

// findWay goes along an absolute path.
func findWay(path string) way {
	w := way{real: "/"}
	rest := split(path)
	for links := 0; len(rest) > 0; {
		entry := filepath.Join(w.real, rest[0])
		rest = rest[1:]
		if entry == w.real || filepath.Dir(w.real) == entry { // "." and ".." come from links only
			w.real = entry
			continue
		}
		w.entries = append(w.entries, entry)
		info, err := os.Lstat(entry)
		switch {
		case err != nil:
			return w.end(err)
		case info.Mode().Type() == os.ModeSymlink:
			if links++; links > maxLinks {
				return w.end(&os.PathError{Op: "follow", Path: path, Err: syscall.ELOOP})
			}
			if err := w.turn(entry, &rest); err != nil {
				return w.end(err)
			}
		case !info.IsDir():
			return w.end(nil)
		default:
			w.real = entry
		}
	}
	return w.arrive()
}

// turn follows the link at entry.
func (w *way) turn(entry string, rest *[]string) error {
	target, err := os.Readlink(entry)
	if err != nil {
		return err
	}
	w.anchors = append(w.anchors, w.real)
	if filepath.IsAbs(target) {
		w.real = "/"
	}
	*rest = append(split(target), *rest...)
	return nil
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

func (w way) arrive() way {
	id, err := identify(w.real)
	if err != nil {
		w.err, w.real = err, ""
		return w
	}
	w.id = id
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
