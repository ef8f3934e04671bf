package loader

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pannier"
)

var errNotDir = unix.ENOTDIR

// node is what is known of one directory below a root, the root itself included.
type node struct {
	name string
	rel  string // below the root, with slashes; "" is the root
	abs  string
	ino  uint64 // as its parent has it
	// linked directories are reached through a link. shallow ones are those that discovery skips: they count only where
	// they hold a SKILL.md themselves.
	linked, shallow bool

	known  bool // somebody has looked
	marked bool // look again
	moved  bool // the last look changed which directories there are below

	listed    fileStat // of the directory when its entries were read
	listedAt  time.Time
	otherCase string  // a SKILL.md by another case of its name
	children  []*node // by name in bytes

	skill   *found // of a directory that is a skill; it has no children then
	problem *pannier.Problem
}

// child returns the child of that name, or nil.
func (n *node) child(name string) *node {
	i, ok := slices.BinarySearchFunc(n.children, name, func(c *node, name string) int { return strings.Compare(c.name, name) })
	if !ok {
		return nil
	}
	return n.children[i]
}

// markAll asks for a look at the directory and everything that is known below it.
func (n *node) markAll() {
	n.marked = true
	for _, c := range n.children {
		c.markAll()
	}
}

// adopt replaces the children.
func (n *node) adopt(children []*node) {
	slices.SortFunc(children, func(a, b *node) int { return cmp.Compare(a.name, b.name) })
	if !slices.Equal(children, n.children) {
		n.moved = true
	}
	n.children = children
}

// become makes the directory a skill with that SKILL.md.
func (n *node) become(file string) {
	if n.children != nil {
		n.children, n.moved = nil, true
	}
	if file == pannier.SkillFile {
		n.listed = fileStat{} // the entries are not kept up to date any more
	}
	if n.skill == nil || n.skill.file != file {
		n.moved = n.moved || n.shallow
		n.skill = &found{file: file}
	}
}

// unbecome makes the directory one that is no skill.
func (n *node) unbecome() {
	n.moved = n.moved || n.skill != nil && (n.shallow || n.skill.target != "")
	n.skill = nil
}

// reset forgets everything about the directory but its name.
func (n *node) reset() {
	*n = node{
		name: n.name, rel: n.rel, abs: n.abs, ino: n.ino, linked: n.linked, shallow: n.shallow,
		moved: n.moved || n.children != nil || n.skill != nil,
	}
}

func (n *node) appendSkills(skills []*pannier.Skill) []*pannier.Skill {
	if n.skill != nil && n.skill.skill != nil {
		return append(skills, n.skill.skill)
	}
	for _, c := range n.children {
		skills = c.appendSkills(skills)
	}
	return skills
}

func (n *node) appendProblems(problems []pannier.Problem) []pannier.Problem {
	if n.problem != nil {
		problems = append(problems, *n.problem)
	}
	for _, c := range n.children {
		problems = c.appendProblems(problems)
	}
	return problems
}

// appendDirs appends the directories below n that want watching. Of the skipped ones that is only a skill.
func (n *node) appendDirs(dirs []string, links map[string][]*node) []string {
	if n.skill != nil && n.skill.target != "" {
		target := filepath.Dir(n.skill.target)
		links[target] = append(links[target], n)
		dirs = append(dirs, target)
	}
	if n.rel != "" && (!n.shallow || n.skill != nil) {
		dirs = append(dirs, n.abs)
	}
	for _, c := range n.children {
		dirs = c.appendDirs(dirs, links)
	}
	return dirs
}
