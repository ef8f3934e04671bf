package loader

import (
	"path"
	"slices"
	"strings"

	"pannier"
	"pannier/internal/fsx"
)

// Again says which directories a census stats, beside those that it does not know: all, or a root that is one of Dirs, and what is
// one of Dirs or below it.
type Again struct {
	Dirs []string // absolute and clean
	All  bool
}

// below returns the same for paths below a root.
func (a Again) below(root string) Again {
	rels := Again{All: a.All}
	for _, dir := range a.Dirs {
		if rel, ok := below(root, dir); ok {
			rels.Dirs = append(rels.Dirs, rel)
		} else if _, above := below(dir, root); above {
			rels.All = true
		}
	}
	return rels
}

// reread has a directory and all that is known below it read again. One that came or went is added to or taken from the directory that
// it lies in, whose mark is then that of an earlier stat, so that a census of all reads it again.
func (w *censusWalk) reread(d *censusNode, rel string) {
	if rel == "" {
		d.mark = 0
		return
	}
	at := ""
	for name := range strings.SplitSeq(rel, "/") {
		at = path.Join(at, name)
		if child := d.child(name); child != nil && at != rel {
			d = child
			continue
		}
		st, err := fsx.LstatAt(w.fd, at)
		i, known := d.search(name)
		switch isDir := err == nil && st.IsDir(); {
		case isDir && known:
			d.children[i].forget()
		case isDir:
			d.children = slices.Insert(d.children, i, &censusNode{name: name})
		case known:
			d.children = slices.Delete(d.children, i, i+1)
		}
		if pannier.IsSkillFile(name) {
			d.mark = 0
		}
		return
	}
}

// forget has the directory and all that is known below it read again.
func (d *censusNode) forget() {
	d.mark = 0
	for _, c := range d.children {
		c.forget()
	}
}
