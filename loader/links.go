package loader

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"

	"pannier"
	"pannier/internal/fsx"
)

// PlaceOf returns a root with the directories that its links may lead into.
func PlaceOf(root pannier.Root) fsx.Place {
	return fsx.Place{Path: root.Path, Targets: root.LinkTargets}
}

// mayLeadOut reports whether an error of the root says that a path leads out of it, and links may.
func (s *treeScan) mayLeadOut(err error) bool {
	return len(s.tree.root.LinkTargets) > 0 && fsx.EscapesRoot(err)
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

// inRoot reports whether a path lies in the root, by either of its names.
func (s *treeScan) inRoot(abs string) bool {
	_, named := below(s.tree.root.Path, abs)
	_, within := below(s.real, abs)
	return named || within
}

// statTarget tells of what is at the end of the way of a link. It goes no way again where that lies in a target: what is opened
// below the target is in it, whatever link was changed meanwhile.
func (s *treeScan) statTarget(rel, real string) (fs.FileInfo, error) {
	if target, rel := s.target(real); target != nil {
		return target.Stat(rel)
	}
	return s.statBeneath(rel)
}

// statBeneath tells of what a path leads to, within the root or in a target of its links.
func (s *treeScan) statBeneath(rel string) (fs.FileInfo, error) {
	info, err := s.root.Stat(rel)
	if s.mayLeadOut(err) {
		return s.place.Stat(rel)
	}
	return info, err
}

// statIn returns the stat of what a path leads to, as statBeneath does.
func (s *treeScan) statIn(rel string) (fsx.Stamp, error) {
	info, err := s.statBeneath(rel)
	if err != nil {
		return fsx.Stamp{}, err
	}
	return fsx.StampOf(info), nil
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
		n.addProblem(s.linkProblem(lost, why))
	}
	return children
}

// linkProblem tells of links that cannot be followed. err is what keeps the first from it.
func (s *treeScan) linkProblem(lost []string, err error) pannier.Problem {
	message := "the link cannot be followed: " + fsx.Cause(err).Error()
	if more := len(lost) - 1; more > 0 {
		message += fmt.Sprintf("; nor can %d more in this directory", more)
	}
	return pannier.Problem{
		Code: "root.link_outside", Severity: pannier.SeverityWarning, Path: path.Join(s.tree.root.Name, lost[0]), Message: message,
		Hint: "links are followed where they are relative and stay within their root; fix the link, copy the skill into the root, or name the directory under link_targets of the root",
	}
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
