package loader

import (
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"pannier/internal/fsx"
)

// errOutside ends a path that leads out of the root, where symlinks may not.
var errOutside = errors.New("outside of the root")

// symlinkChain is how a path below the root leads on, symlink by symlink. Paths in it are absolute, by the name that the root has.
type symlinkChain struct {
	// real is the path without links of what is at its end, empty if nothing is there, or nothing within the root.
	real string
	// dirs are the paths to watch to notice that the chain leads elsewhere: each directory that holds a link of the chain. If
	// nothing is at the end, they include the directory in which the chain ends, and the missing path in it. A directory that lies
	// neither in the root nor in a target is not watched, because other programs may write to it all the time; the path of the
	// single entry is, which the watcher treats like a missing directory.
	dirs []string
	// outside are the paths of the links on it that lie there, and strays says that what is at its end does so too.
	outside []string
	strays  bool
	// links are those of the chain, with their targets.
	links []followedLink
}

// findChain follows a path below the root. It does not leave the root, unless links of the root may: a target outside
// is the end.
func (s *treeScan) findChain(rel string) (w symlinkChain) {
	s.followLink(rel, &w)
	for _, link := range w.outside {
		if w.strays { // the target is outside of what pannier may watch
			link = path.Dir(link)
		}
		w.pass(link)
	}
	return w
}

// followLink records the entries of the chain.
func (s *treeScan) followLink(rel string, w *symlinkChain) {
	at, _, err := fsx.FollowPath("", rel, fsx.LinkRules{
		Readlink: func(dir, name string) (string, error) {
			target, isLink, err := s.readLink(path.Join(dir, name))
			switch {
			case errors.Is(err, errNotDir):
				s.passEnd(w, s.above(dir), path.Base(dir))
			case err != nil:
				s.passEnd(w, dir, name)
			case !isLink:
				return "", unix.EINVAL
			default:
				s.passLink(w, dir, name)
				w.links = append(w.links, followedLink{link: filepath.Join(s.abs(dir), name), target: target})
			}
			return target, err
		},
		Parent: func(dir string) (string, error) {
			if dir == "" && s.real == "" {
				return "", errOutside
			}
			return s.above(dir), nil
		},
		Absolute: func() (string, error) {
			if s.real == "" {
				return "", errOutside
			}
			return "/", nil
		},
	})
	if err != nil {
		return
	}
	if w.strays = !s.follows(at); !w.strays {
		w.real = s.abs(at)
	}
}

// passLink records a link.
func (s *treeScan) passLink(w *symlinkChain, dir, name string) {
	if s.follows(dir) {
		w.pass(s.abs(dir))
		return
	}
	w.outside = append(w.outside, path.Join(dir, name))
}

// passEnd records the entry at which a chain ends because nothing is there, or something that is not a directory.
func (s *treeScan) passEnd(w *symlinkChain, dir, name string) {
	if s.follows(dir) {
		w.pass(s.abs(dir))
	}
	w.pass(path.Join(s.abs(dir), name))
}

// above returns the directory that holds an entry of a chain.
func (s *treeScan) above(at string) string {
	switch {
	case path.IsAbs(at):
		return path.Dir(at)
	case at == "":
		return path.Dir(s.real)
	}
	dir, _ := path.Split(at)
	return strings.TrimSuffix(dir, "/")
}

// follows reports whether a chain may end there.
func (s *treeScan) follows(at string) bool {
	if !path.IsAbs(at) || s.inRoot(at) {
		return true
	}
	_, _, held := s.place.TargetOf(at)
	return held
}

// pass records a directory.
func (c *symlinkChain) pass(dir string) {
	if !slices.Contains(c.dirs, dir) {
		c.dirs = append(c.dirs, dir)
	}
}

// readLink returns the target of a link. Another kind of file is not an error.
func (s *treeScan) readLink(rel string) (target string, isLink bool, err error) {
	var buf [unix.PathMax]byte
	size, err := unix.Readlinkat(s.fd, rel, buf[:])
	if err == unix.EINVAL {
		return "", false, nil
	}
	return string(buf[:max(0, size)]), err == nil, err
}

// abs returns the absolute path of an entry of a chain.
func (s *treeScan) abs(at string) string {
	if path.IsAbs(at) {
		return at
	}
	return filepath.Join(s.tree.root.Path, at)
}

// passFile records the file at the end, and its directory. In a directory that the watcher knows from the rules only some
// names count, and this file may have any.
func (c *symlinkChain) passFile() {
	if c.real != "" {
		c.pass(filepath.Dir(c.real))
		c.pass(c.real)
	}
}

// appendFileChain appends the directories in which a change can make something else of a file that is a link.
func (r *reader) appendFileChain(dirs []string, rel string) []string {
	w := r.scan.findChain(rel)
	w.passFile()
	r.pass(w)
	return append(dirs, w.dirs...)
}

// inRoot reports whether a path lies in the root, by either of its names.
func (s *treeScan) inRoot(abs string) bool {
	_, named := below(s.tree.root.Path, abs)
	_, within := below(s.real, abs)
	return named || within
}
