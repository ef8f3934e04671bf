package loader

import (
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"pannier"
)

// maxLinks bounds the links on one way, as the kernel does.
const maxLinks = 40

// way is how a path below the root leads on, link by link. Paths in it are absolute, by the name that the root has.
type way struct {
	// real is the path without links of what is at its end, empty where nothing is, or nothing within the root.
	real string
	// dirs are what to watch to learn that the way leads elsewhere: each directory that holds a link on it, and, where nothing is
	// at its end, the one in which it ends, and what is missing there. Outside of where a way may end, where anybody may write at any time, it is not that
	// directory but the path of the entry, which the watcher takes for a directory that is missing, or that a link leads to.
	dirs []string
	// outside are the paths of the links on it that lie there, and strays says that what is at its end does so too.
	outside []string
	strays  bool
	// links are those that it leads through, with what they say.
	links []turning
}

// findWay goes along a path below the root. It does not leave the root, unless links of the root may: what a link says of
// elsewhere is the end.
func (s *scan) findWay(rel string) (w way) {
	s.goAlong(rel, &w)
	for _, link := range w.outside {
		if w.strays { // to watch where it leads would be to watch what is nobody's business here
			link = path.Dir(link)
		}
		w.pass(link)
	}
	return w
}

// goAlong notes what is on the way.
func (s *scan) goAlong(rel string, w *way) {
	at, rest, links := "", rel, 0 // at is what of the way is behind, without links; absolute outside of the root
	for rest != "" {
		var name string
		switch name, rest, _ = strings.Cut(rest, "/"); name {
		case "", ".":
			continue
		case "..":
			if at == "" && s.real == "" {
				return
			}
			at = s.above(at)
			continue
		}
		target, isLink, err := s.readLink(path.Join(at, name))
		switch {
		case errors.Is(err, errNotDir):
			s.passEnd(w, s.above(at), path.Base(at))
			return
		case err != nil:
			s.passEnd(w, at, name)
			return
		case !isLink:
			at = path.Join(at, name)
			continue
		}
		s.passLink(w, at, name)
		w.links = append(w.links, turning{link: filepath.Join(s.abs(at), name), target: target})
		if links++; links > maxLinks || path.IsAbs(target) && s.real == "" {
			return
		}
		if path.IsAbs(target) {
			at = "/"
		}
		rest = target + "/" + rest
	}
	if w.strays = !s.follows(at); !w.strays {
		w.real = s.abs(at)
	}
}

// passLink notes a link.
func (s *scan) passLink(w *way, dir, name string) {
	if s.follows(dir) {
		w.pass(s.abs(dir))
		return
	}
	w.outside = append(w.outside, path.Join(dir, name))
}

// passEnd notes the entry at which a way ends because there is nothing, or nothing to go on through.
func (s *scan) passEnd(w *way, dir, name string) {
	if s.follows(dir) {
		w.pass(s.abs(dir))
	}
	w.pass(path.Join(s.abs(dir), name))
}

// above returns the directory that holds what a way has come to.
func (s *scan) above(at string) string {
	switch {
	case path.IsAbs(at):
		return path.Dir(at)
	case at == "":
		return path.Dir(s.real)
	}
	return upTo(at)
}

// follows reports whether a way may end there.
func (s *scan) follows(at string) bool {
	if !path.IsAbs(at) || s.inRoot(at) {
		return true
	}
	_, _, held := s.place.TargetOf(at)
	return held
}

// pass notes a directory.
func (w *way) pass(dir string) {
	if !slices.Contains(w.dirs, dir) {
		w.dirs = append(w.dirs, dir)
	}
}

// readLink returns what a link says. Of what is there and no link it says nothing.
func (s *scan) readLink(rel string) (target string, isLink bool, err error) {
	var buf [unix.PathMax]byte
	size, err := unix.Readlinkat(s.fd, rel, buf[:])
	if err == unix.EINVAL {
		return "", false, nil
	}
	return string(buf[:max(0, size)]), err == nil, err
}

// abs returns the path of what a way has come to.
func (s *scan) abs(at string) string {
	if path.IsAbs(at) {
		return at
	}
	return filepath.Join(s.tree.root.Path, at)
}

// upTo returns the directory that holds an entry, both below the root, which is "".
func upTo(rel string) string {
	dir, _ := path.Split(rel)
	return strings.TrimSuffix(dir, "/")
}

// passFile notes the file that is at the end, and its directory. In a directory that the watcher knows from the rules only some
// names count, and this file may have any.
func (w *way) passFile() {
	if w.real != "" {
		w.pass(filepath.Dir(w.real))
		w.pass(w.real)
	}
}

// isRead reports whether what is in a file of that name counts, or that it is there.
func isRead(name string) bool {
	return name == pannier.MetaFile || pannier.IsSkillFile(name) || isScript(name)
}

// appendFileWay appends the directories in which a change can make something else of a file that is a link.
func (r *reader) appendFileWay(dirs []string, rel string) []string {
	w := r.scan.findWay(rel)
	w.passFile()
	r.pass(w)
	return append(dirs, w.dirs...)
}

// setWays takes over the directories on the ways of all links in the directory that count.
func (n *node) setWays(dirs []string) {
	slices.Sort(dirs)
	dirs = slices.DeleteFunc(slices.Compact(dirs), func(dir string) bool { return dir == n.abs }) // it is watched anyway
	if !slices.Equal(dirs, n.ways) {
		n.ways, n.moved = slices.Clip(dirs), true
	}
}
