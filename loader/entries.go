package loader

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/internal/fsx"
)

// maxEntries is how many entries of one directory are scanned one by one. Where there are more, the directory is listed.
const maxEntries = 64

// takesEntries reports whether an entry may be added to or removed from what is known of a directory: its entries were read, and
// only the directories among them count.
func (n *node) takesEntries(name string, maxDepth int) bool {
	return !n.due() && n.record == nil && !n.shallow && n.list().listed != (fsx.Stamp{}) && n.depth < maxDepth &&
		n.toolSet == nil && name != toolsDir && !n.holdsScripts() && n.list().otherCase == "" && !pannier.IsSkillFile(name)
}

func (s *treeScan) scanEntry(n *node, name string) {
	st, err := fsx.LstatAt(s.fd, n.at(name))
	at, known := n.search(name)
	switch {
	case err == nil && st.IsDir() && known && n.list().children[at].ino == st.Ino:
		return
	case err == nil && st.IsDir() && known:
		n.list().children[at].ino = st.Ino
		n.list().children[at].markAll()
	case err == nil && st.IsDir():
		child := s.childFor(n, dirent{name: name, ino: st.Ino, kind: unix.DT_DIR}, false)
		n.edit().children = slices.Insert(n.list().children, at, child)
		s.tree.moved = true
	case errors.Is(err, fs.ErrNotExist) && known:
		n.edit().children = slices.Delete(n.list().children, at, at+1)
		s.tree.moved = true
	case errors.Is(err, fs.ErrNotExist):
		return
	default:
		n.marked = true
		return
	}
	r := s.reader(0)
	r.fresh = append(r.fresh, n)
}

// search returns where a child of that name is, or belongs.
func (n *node) search(name string) (at int, known bool) {
	return slices.BinarySearchFunc(n.list().children, name, func(c *node, name string) int { return strings.Compare(c.name, name) })
}
