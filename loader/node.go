package loader

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/internal/fsx"
)

var errNotDir = unix.ENOTDIR

// node is what is known of one directory below a root, the root itself included. What every scan asks all of them comes
// first, so that it lies together.
type node struct {
	known  bool // it was scanned
	marked bool // to be scanned again
	moved  bool // the last scan changed which directories there are below
	// linked directories are links, and real is where such a one leads. shifting ones are links or lie below one, so that
	// they change without a change of the directories above them. shallow ones are those that discovery skips: they count
	// only where they hold a SKILL.md themselves.
	linked, shifting, shallow bool

	record  *skillRecord // of a directory that is a skill, then own; it has no children then
	listing *listing     // nil of most that are a skill; see [node.list]
	toolSet *toolSet     // of one that may be a skill of tools only

	parent *node // nil of the root
	abs    string
	// name is the last part of abs, and rel what of it lies below the root, with slashes; "" is the root.
	name, rel string
	real      string
	ino       uint64 // as its parent has it
	// depth is how many directories below the root it lies.
	depth int

	own skillRecord
}

// listing is what is known of a directory beside the skill that it is. Most skills have none of it.
type listing struct {
	children  []*node  // by name in bytes
	links     []dirent // by name in bytes
	chainDirs []string // the directories on the chains of those links, and of a SKILL.md and _meta.json that are links; in bytes
	problems  []pannier.Problem
	listed    fsx.Stamp // of the directory when its entries were read
	listedAt  time.Time
	otherCase string   // a SKILL.md by another case of its name
	scripts   []string // where its Python files count: their names, in bytes
	tooDeep   int      // how many directories in it lie past the bound on depth
}

// noListing is never changed.
var noListing listing

// list returns the listing to read, which is empty where there is none.
func (n *node) list() *listing {
	if n.listing == nil {
		return &noListing
	}
	return n.listing
}

// edit returns the listing to change.
func (n *node) edit() *listing {
	if n.listing == nil {
		n.listing = &listing{}
	}
	return n.listing
}

// due reports whether the directory wants a scan although a full scan was not requested.
func (n *node) due() bool {
	return n.marked || !n.known || n.shifting || len(n.list().links) > 0 || n.record != nil && n.record.linked || n.toolSet != nil && n.toolSet.linked
}

// at returns the path below the root of an entry of the directory.
func (n *node) at(name string) string {
	if n.rel == "" {
		return name
	}
	return n.rel + "/" + name
}

// shown returns the path of the directory as people are shown it, which abs ends with where the root lies in the workspace.
func (n *node) shown(root pannier.Root) string {
	shown := path.Join(root.Name, n.rel)
	if strings.HasSuffix(n.abs, shown) {
		return n.abs[len(n.abs)-len(shown):]
	}
	return shown
}

// child returns the child of that name, or nil.
func (n *node) child(name string) *node {
	if i, ok := n.search(name); ok {
		return n.list().children[i]
	}
	return nil
}

// markAll asks for a scan of the directory and everything that is known below it.
func (n *node) markAll() {
	n.marked = true
	for _, c := range n.list().children {
		c.markAll()
	}
}

// adopt replaces the children. Those that lie deeper than the bound are only counted.
func (n *node) adopt(children []*node, maxDepth int) {
	l := n.edit()
	l.tooDeep = 0
	if n.depth == maxDepth {
		l.tooDeep, children = len(children), nil
	}
	slices.SortFunc(children, func(a, b *node) int { return cmp.Compare(a.name, b.name) })
	if !slices.Equal(children, l.children) {
		n.moved = true
	}
	l.children = children
}

// setSkill makes the directory a skill with that SKILL.md.
func (n *node) setSkill(file string) {
	n.moved, n.toolSet = n.moved || len(n.list().children) > 0, nil
	if l := n.listing; l != nil && file == pannier.SkillFile { // the entries are not kept up to date any more
		*l = listing{chainDirs: l.chainDirs, problems: l.problems}
		if len(l.chainDirs)+len(l.problems) == 0 {
			n.listing = nil
		}
	} else if l != nil {
		l.children, l.tooDeep, l.scripts = nil, 0, nil
	}
	if n.record == nil || n.record.file != file {
		n.moved = n.moved || n.shallow
		n.own = skillRecord{file: file}
		n.record = &n.own
	}
}

// clearSkill makes the directory one that is not a skill.
func (n *node) clearSkill() {
	if n.record != nil {
		n.moved = n.moved || n.shallow
		n.setChainDirs(nil)
	}
	n.record, n.own = nil, skillRecord{}
}

// reset forgets everything about the directory but its name.
func (n *node) reset() {
	*n = node{
		parent: n.parent, name: n.name, rel: n.rel, abs: n.abs, ino: n.ino, depth: n.depth,
		linked: n.linked, shifting: n.shifting, shallow: n.shallow, real: n.real,
		moved: n.moved || n.known,
	}
}

func (n *node) addProblem(p pannier.Problem) { n.edit().problems = append(n.edit().problems, p) }

func (n *node) appendSkills(skills []*pannier.Skill) []*pannier.Skill {
	if n.record != nil && n.record.skill != nil {
		return append(skills, n.record.skill)
	}
	if n.toolSet != nil && n.toolSet.skill != nil {
		return append(skills, n.toolSet.skill)
	}
	for _, c := range n.list().children {
		skills = c.appendSkills(skills)
	}
	return skills
}

func (n *node) appendProblems(problems []pannier.Problem) []pannier.Problem {
	problems = append(problems, n.list().problems...)
	for _, c := range n.list().children {
		problems = c.appendProblems(problems)
	}
	return problems
}

// appendDirs appends the directories from n on that must be watched: those that were scanned, of the skipped ones only
// skills. Links are watched where they lead; real is where the nearest link above n leads, empty where there is none.
func (n *node) appendDirs(dirs []string, real string) []string {
	switch {
	case n.linked:
		real = n.real
	case real != "":
		real += "/" + n.name
	}
	dirs = append(dirs, n.list().chainDirs...)
	if n.known && (!n.shallow || n.record != nil) {
		dirs = append(dirs, cmp.Or(real, n.abs))
	}
	for _, c := range n.list().children {
		dirs = c.appendDirs(dirs, real)
	}
	return dirs
}

// search returns where a child of that name is, or belongs.
func (n *node) search(name string) (at int, known bool) {
	return slices.BinarySearchFunc(n.list().children, name, func(c *node, name string) int { return strings.Compare(c.name, name) })
}

// setChainDirs records the directories on the chains of all links in the directory that count.
func (n *node) setChainDirs(dirs []string) {
	slices.Sort(dirs)
	dirs = slices.DeleteFunc(slices.Compact(dirs), func(dir string) bool { return dir == n.abs }) // it is watched anyway
	if !slices.Equal(dirs, n.list().chainDirs) {
		n.edit().chainDirs, n.moved = slices.Clip(dirs), true
	}
}
