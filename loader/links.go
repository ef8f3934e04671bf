package loader

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"pannier"
	"pannier/internal/fsx"
)

// PlaceOf returns a root with the directories that its links may lead into.
func PlaceOf(root pannier.Root) fsx.Place {
	return fsx.Place{Path: root.Path, Targets: root.LinkTargets}
}

// target opens the target that holds an entry of a chain, once for each scan. It returns nil where that is none, or
// lies within the root.
func (s *treeScan) target(real string) (target *os.Root, rel string) {
	if real == "" || s.real == "" || s.inRoot(real) {
		return nil, ""
	}
	at, rel, ok := s.place.TargetOf(real)
	if !ok {
		return nil, ""
	}
	s.targetsMu.Lock()
	defer s.targetsMu.Unlock()
	if s.targets[at] == nil {
		root, err := fsx.OpenRoot(at)
		if err != nil {
			return nil, ""
		}
		if s.targets == nil {
			s.targets = make(map[string]*os.Root)
		}
		s.targets[at] = root
	}
	return s.targets[at], rel
}

// statTarget tells of what is at the end of the way of a link. It goes no way again where that lies in a target: what is opened
// below the target is in it, whatever link was changed meanwhile.
func (s *treeScan) statTarget(rel, real string) (fs.FileInfo, error) {
	if target, rel := s.target(real); target != nil {
		return target.Stat(rel)
	}
	return s.statBeneath(rel)
}

// followLinks returns the children of a directory, those that links lead to included. Where a link leads can change
// without the directory that it is in, so they are followed at every scan.
func (s *treeScan) followLinks(n *node, children []*node, r *reader) []*node {
	children = slices.DeleteFunc(slices.Clone(children), func(c *node) bool { return c.linked })
	var lost, chainDirs []string
	var why error
	for _, e := range n.list().links {
		rel := n.at(e.name)
		w := s.findChain(rel)
		r.pass(w)
		leads, err := s.leadsToDir(rel, w.real)
		switch {
		case leads:
			child := s.childFor(n, e, true)
			if w.real != child.real {
				child.real, child.moved = w.real, true
				child.own.proven = false // the skill says where the link leads
			}
			children = append(children, child)
		case err == nil && (e.name == pannier.MetaFile || pannier.IsSkillFile(e.name) || isScript(e.name)):
			w.passFile()
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			lost, why = append(lost, rel), cmp.Or(why, err)
			if known := n.child(e.name); known != nil && known.linked && errors.Is(err, fs.ErrPermission) {
				children = append(children, known) // it may still be there
			}
		}
		chainDirs = append(chainDirs, w.dirs...)
	}
	n.setChainDirs(chainDirs)
	if lost != nil {
		message := "the link cannot be followed: " + fsx.Cause(why).Error()
		if more := len(lost) - 1; more > 0 {
			message += fmt.Sprintf("; nor can %d more in this directory", more)
		}
		n.addProblem(pannier.Problem{
			Code: "root.link_outside", Severity: pannier.SeverityWarning, Path: path.Join(s.tree.root.Name, lost[0]), Message: message,
			Hint: "links are followed where they are relative and stay within their root; fix the link, copy the skill into the root, or name the directory under link_targets of the root",
		})
	}
	return children
}

// leadsToDir reports whether a link leads to a directory within the root or a target of links, other than one that the link or
// the root lies in itself. real is where its way ends.
func (s *treeScan) leadsToDir(rel, real string) (bool, error) {
	target, err := s.statTarget(rel, real)
	if err != nil || !target.IsDir() {
		return false, err
	}
	if _, holdsRoot := below(real, s.real); holdsRoot && real != "" {
		return false, nil
	}
	for dir := path.Dir(rel); ; dir = path.Dir(dir) {
		if above, err := s.statBeneath(dir); err != nil || os.SameFile(above, target) {
			return false, nil
		}
		if dir == "." {
			return true, nil
		}
	}
}

// childFor returns the node for an entry that is a directory or leads to one. What is known of a directory that was
// replaced by another of the same name is scanned again, to its leaves.
func (s *treeScan) childFor(n *node, e dirent, linked bool) *node {
	if known := n.child(e.name); known != nil && known.linked == linked {
		if known.ino != e.ino {
			known.ino = e.ino
			known.markAll()
		}
		return known
	}
	abs := strings.TrimSuffix(n.abs, "/") + "/" + e.name
	name := abs[len(abs)-len(e.name):]
	rel := name
	if n.rel != "" {
		rel = abs[len(abs)-len(n.rel)-1-len(name):]
	}
	return &node{
		parent: n, name: name, rel: rel, abs: abs, ino: e.ino, depth: n.depth + 1,
		linked: linked, shifting: linked || n.shifting, shallow: s.tree.rules.Skips(e.name),
	}
}
