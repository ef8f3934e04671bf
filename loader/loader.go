// Package loader turns a batch of hints into the whole catalog: it finds skill directories, reads their frontmatter and
// their digests, and keeps what it learned of each directory until the disk says otherwise.
//
// # What it believes
//
// The disk. A [pannier.Batch] only names directories to look at first. A full batch compares everything: the stat of
// every directory and file that counts, and the content of those whose stat moved, or moved so shortly before the last
// look that an equal stat proves nothing.
//
// # What it opens
//
// SKILL.md and _meta.json, and nothing else, each through an [os.Root] that is opened anew for every load, so that no
// link leads out of the root and a root that was replaced is never read by its old inode. Only regular files are read,
// opened without blocking, so that a FIFO costs its skill a problem and nothing else.
//
// # What a fault costs
//
// The skill that it is in. A skill whose text stops parsing stays as it last was, marked last good, until it is mended
// or gone; a directory or root that can not be read keeps what was known of it.
package loader

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"pannier"
)

// Options configure a [Loader].
type Options struct {
	Rules pannier.DiscoveryRules
}

// Loader keeps the catalog of a workspace. [Loader.Load] is for one caller at a time; [Loader.Read] and [Loader.Files]
// are for any number of callers at any time.
type Loader struct {
	rules pannier.DiscoveryRules
	trees []*tree
	watch pannier.WatchSet
}

// New returns a loader that knows nothing yet. It touches no file.
func New(o Options) *Loader {
	l := &Loader{rules: o.Rules}
	for i, root := range o.Rules.Roots {
		l.trees = append(l.trees, newTree(o.Rules, i, root))
	}
	return l
}

// Load looks where b says and returns the whole catalog. It fails only when ctx is done; whatever is wrong with the
// disk is a problem in the catalog.
func (l *Loader) Load(ctx context.Context, b pannier.Batch) (pannier.Catalog, error) {
	c := pannier.Catalog{Seq: b.Seq}
	moved := l.watch.Version == 0
	for _, t := range l.trees {
		if !b.Full {
			t.mark(b.Dirs)
		}
		if err := t.load(ctx, b.Full); err != nil {
			return pannier.Catalog{}, err
		}
		moved = moved || t.moved
		c.Problems = append(c.Problems, t.problems()...)
		c.Skills = t.appendSkills(c.Skills)
	}
	if moved {
		l.rebuildWatch()
	}
	c.Watch = l.watch
	return c, nil
}

func (l *Loader) rebuildWatch() {
	var dirs []string
	for _, t := range l.trees {
		dirs = t.appendDirs(dirs)
	}
	slices.Sort(dirs)
	l.watch = pannier.WatchSet{Dirs: slices.Compact(dirs), Version: l.watch.Version + 1}
}

// tree is what is known of one root.
type tree struct {
	rules pannier.DiscoveryRules
	index int
	root  pannier.Root
	top   *node
	// links maps a directory that is watched because a link leads there to the nodes that it concerns.
	links map[string][]*node
	// moved says that the last load changed which directories there are.
	moved bool
	// past counts the directories that lie beyond a bound, for the problem that tells of them.
	pastDepth, pastCount int
	failure              *pannier.Problem
}

func newTree(rules pannier.DiscoveryRules, index int, root pannier.Root) *tree {
	return &tree{rules: rules, index: index, root: root, top: &node{abs: root.Path}, links: map[string][]*node{}}
}

// load looks at every directory of the tree that is marked, new, or, when full, known.
func (t *tree) load(ctx context.Context, full bool) error {
	if !full && !t.anyMarked() {
		t.moved = false
		return ctx.Err()
	}
	s, err := openScan(t)
	if err != nil {
		t.fail(err)
		return ctx.Err()
	}
	defer s.close()
	t.failure, t.moved = nil, false
	return s.walk(ctx, full)
}

// fail notes why the root can not be looked into. A root that does not exist has no skills; for any other failure what
// was known of it stays, because not to know is not the same as to know that nothing is there.
func (t *tree) fail(err error) {
	if errors.Is(err, fs.ErrNotExist) {
		t.moved = t.top.known
		t.top = &node{abs: t.root.Path}
		t.failure = &pannier.Problem{
			Code: "root.missing", Severity: pannier.SeverityInfo, Path: t.root.Name,
			Message: "the directory does not exist, so it has no skills",
			Hint:    "create " + t.root.Path + "; skills in it are found without a restart",
		}
		return
	}
	t.failure = &pannier.Problem{
		Code: "root.unreadable", Severity: pannier.SeverityError, Path: t.root.Name,
		Message: "the directory can not be read: " + cause(err),
		Hint:    "make it readable for the user that pannier runs as; until then the skills last read from it stay",
	}
}

// mark notes which directories a batch names. A directory that is not known concerns the nearest known one above it.
func (t *tree) mark(dirs []string) {
	for _, dir := range dirs {
		if _, ok := below(dir, t.root.Path); ok {
			t.top.marked = true // the root itself may have come, gone, or been replaced
		}
		for _, n := range t.links[dir] {
			n.marked = true
		}
		if n := t.nearest(dir); n != nil {
			n.marked = true
		}
	}
}

func (t *tree) nearest(dir string) *node {
	rel, ok := below(t.root.Path, dir)
	if !ok {
		return nil
	}
	n := t.top
	for part := range strings.SplitSeq(rel, "/") {
		child := n.child(part)
		if child == nil {
			break
		}
		n = child
	}
	return n
}

func (t *tree) anyMarked() bool { return anyMarked(t.top) }

func anyMarked(n *node) bool {
	return n.marked || !n.known || slices.ContainsFunc(n.children, anyMarked)
}

// appendSkills appends the skills of the tree, ordered by path in bytes.
func (t *tree) appendSkills(skills []*pannier.Skill) []*pannier.Skill {
	from := len(skills)
	skills = t.top.appendSkills(skills)
	own := skills[from:]
	byPath := func(a, b *pannier.Skill) int { return strings.Compare(a.PathBelowRoot, b.PathBelowRoot) }
	if !slices.IsSortedFunc(own, byPath) {
		slices.SortFunc(own, byPath)
	}
	return skills
}

// appendDirs appends every directory that wants watching, and notes which nodes the targets of links concern.
func (t *tree) appendDirs(dirs []string) []string {
	clear(t.links)
	dirs = append(dirs, t.root.Path)
	return t.top.appendDirs(dirs, t.links)
}

func (t *tree) problems() []pannier.Problem {
	var problems []pannier.Problem
	if t.failure != nil {
		problems = append(problems, *t.failure)
	}
	problems = t.top.appendProblems(problems)
	if t.pastDepth > 0 {
		problems = append(problems, t.bound("root.max_depth", fmt.Sprintf("%d directories lie deeper than max_depth = %d and were not looked into", t.pastDepth, t.rules.MaxDepth), "max_depth"))
	}
	if t.pastCount > 0 {
		problems = append(problems, t.bound("root.max_dirs", fmt.Sprintf("%d directories lie past max_dirs = %d and were not looked into", t.pastCount, t.rules.MaxDirs), "max_dirs"))
	}
	return problems
}

func (t *tree) bound(code, message, setting string) pannier.Problem {
	return pannier.Problem{
		Code: code, Severity: pannier.SeverityInfo, Path: t.root.Name, Message: message,
		Hint: "raise " + setting + ", or move what holds no skills out of the root",
	}
}

// below returns the path of dir below root, with "" for root itself.
func below(root, dir string) (string, bool) {
	if dir == root {
		return "", true
	}
	rest, ok := strings.CutPrefix(dir, strings.TrimSuffix(root, "/")+"/")
	return rest, ok
}

// cause returns what an error of the file system comes down to, without the path that stands elsewhere already.
func cause(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

// racyWindow is how long before a look a file may have changed so that its stat may stay the same when it changes again:
// clocks of file systems are coarse, and some count whole seconds.
const racyWindow = 2 * time.Second
