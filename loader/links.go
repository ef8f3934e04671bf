package loader

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"pannier"
)

// statIn returns the stat of what a path leads to within the root.
func (s *scan) statIn(rel string) (fileStat, error) {
	info, err := s.root.Stat(rel)
	if err != nil {
		return fileStat{}, err
	}
	return fromSys(info.Sys().(*unixStat)), nil
}

// realPath returns the path, without links, of what a path below the root leads to. Where the root itself is reached by
// links, what lies in it keeps the name that the root has.
func (s *scan) realPath(rel string) string {
	root := s.tree.root.Path
	real, err := filepath.EvalSymlinks(filepath.Join(root, rel))
	if err != nil {
		return ""
	}
	if realRoot, err := filepath.EvalSymlinks(root); err == nil {
		if rest, ok := below(realRoot, real); ok {
			return filepath.Join(root, rest)
		}
	}
	return real
}

// followLinks returns the children of a directory, those that links lead to included. Where a link leads can change
// without the directory that it is in, so they are followed at every look.
func (s *scan) followLinks(n *node, children []*node) []*node {
	children = slices.DeleteFunc(slices.Clone(children), func(c *node) bool { return c.linked })
	var lost []string
	var why error
	for _, e := range n.links {
		rel := n.at(e.name)
		leads, err := s.leadsToDir(rel)
		switch {
		case leads:
			child := s.childFor(n, e, true)
			if real := s.realPath(rel); real != child.real {
				child.real, child.moved = real, true
			}
			children = append(children, child)
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			lost, why = append(lost, rel), cmp.Or(why, err)
			if known := n.child(e.name); known != nil && known.linked && errors.Is(err, fs.ErrPermission) {
				children = append(children, known) // it may still be there
			}
		}
	}
	if lost != nil {
		n.problems = append(n.problems, s.linkProblem(lost, why))
	}
	return children
}

// linkProblem tells of links that can not be followed. err is what keeps the first from it.
func (s *scan) linkProblem(lost []string, err error) pannier.Problem {
	message := "the link can not be followed: " + cause(err)
	if more := len(lost) - 1; more > 0 {
		message += fmt.Sprintf("; nor can %d more in this directory", more)
	}
	return pannier.Problem{
		Code: "root.link_outside", Severity: pannier.SeverityWarning, Path: path.Join(s.tree.root.Name, lost[0]), Message: message,
		Hint: "links are followed where they are relative and stay within their root; mend the link, or copy the skill into the root",
	}
}

// leadsToDir reports whether a link leads to a directory within the root, other than one that the link lies in itself.
func (s *scan) leadsToDir(rel string) (bool, error) {
	target, err := s.root.Stat(rel)
	if err != nil || !target.IsDir() {
		return false, err
	}
	for dir := path.Dir(rel); ; dir = path.Dir(dir) {
		if above, err := s.root.Stat(dir); err != nil || os.SameFile(above, target) {
			return false, nil
		}
		if dir == "." {
			return true, nil
		}
	}
}
