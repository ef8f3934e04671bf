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
	// dirs are the directories in which a change can make the way lead elsewhere: each that holds a link on it, and, where
	// nothing is at its end, the one in which it ends.
	dirs []string
}

// findWay goes along a path below the root. It does not leave the root: what a link says of elsewhere is the end.
func (s *scan) findWay(rel string) (w way) {
	at, rest, links := "", rel, 0 // at is what of the way is behind, without links
	for rest != "" {
		var name string
		switch name, rest, _ = strings.Cut(rest, "/"); name {
		case "", ".":
			continue
		case "..":
			if at == "" {
				return w
			}
			at = upTo(at)
			continue
		}
		target, isLink, err := s.readLink(path.Join(at, name))
		switch {
		case errors.Is(err, errNotDir):
			w.pass(s.abs(upTo(at)))
			return w
		case err != nil:
			w.pass(s.abs(at))
			return w
		case !isLink:
			at = path.Join(at, name)
			continue
		}
		w.pass(s.abs(at))
		if links++; links > maxLinks || path.IsAbs(target) {
			return w
		}
		rest = target + "/" + rest
	}
	w.real = s.abs(at)
	return w
}

// pass notes a directory.
func (w *way) pass(dir string) {
	if !slices.Contains(w.dirs, dir) {
		w.dirs = append(w.dirs, dir)
	}
}

// readLink returns what a link says. Of what is there and no link it says nothing.
func (s *scan) readLink(rel string) (target string, isLink bool, err error) {
	buf := make([]byte, unix.PathMax)
	size, err := unix.Readlinkat(s.fd, rel, buf)
	if err == unix.EINVAL {
		return "", false, nil
	}
	return string(buf[:max(0, size)]), err == nil, err
}

// abs returns the path of what lies in the root.
func (s *scan) abs(rel string) string { return filepath.Join(s.tree.root.Path, rel) }

// upTo returns the directory that holds an entry, both below the root, which is "".
func upTo(rel string) string {
	dir, _ := path.Split(rel)
	return strings.TrimSuffix(dir, "/")
}

// passFile notes the directory of the file that is at the end.
func (w *way) passFile() {
	if w.real != "" {
		w.pass(filepath.Dir(w.real))
	}
}

// isRead reports whether what is in a file of that name counts, or that it is there.
func isRead(name string) bool {
	return name == pannier.MetaFile || pannier.IsSkillFile(name) || isScript(name)
}

// appendFileWay appends the directories in which a change can make something else of a file that is a link.
func (s *scan) appendFileWay(dirs []string, rel string) []string {
	w := s.findWay(rel)
	w.passFile()
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
