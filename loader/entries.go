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

// markEntry asks for a scan of one entry of a known directory, whether the entry is known or not, so that a skill that comes or goes
// does not cost a list of all. The stamp of the directory stays that of its last list, so the next full scan lists it.
func (t *tree) markEntry(n *node, name string) {
	switch names := t.entries[n]; {
	case n.marked || slices.Contains(names, name):
	case !n.takesEntries(name, t.rules.MaxDepth) || len(names) == maxEntries:
		n.marked = true
	default:
		if t.entries == nil {
			t.entries = map[*node][]string{}
		}
		t.entries[n] = append(names, name)
	}
}

// takesEntries reports whether an entry may be added to or removed from what is known of a directory: its entries were read, and
// only the directories among them count.
func (n *node) takesEntries(name string, maxDepth int) bool {
	return !n.due() && n.record == nil && !n.shallow && n.list().listed != (fsx.Stamp{}) && n.depth < maxDepth &&
		n.toolSet == nil && name != toolsDir && !n.holdsScripts() && n.list().otherCase == "" && !pannier.IsSkillFile(name)
}

// scanEntries scans the entries that were marked. Where one is not a directory, the directory that it lies in is listed.
func (s *treeScan) scanEntries() {
	for n, names := range s.tree.entries {
		for _, name := range names {
			if !n.marked {
				s.scanEntry(n, name)
			}
		}
	}
	clear(s.tree.entries)
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
