package loader

import (
	"cmp"
	"context"
	"errors"
	"hash/maphash"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/internal/fsx"
)

// The bounds of a census, for each root: how many directories are gone into that discovery does not enter, and how deep
// below the root.
const (
	maxCensusDirs  = 100_000
	maxCensusDepth = 64
)

// Census looks for the SKILL.md that no skill is made of, because discovery does not go where they lie: below a skill, in
// a directory that is skipped, past a bound. It returns a problem for each kind of them in each root, with their number
// and the first of their paths.
//
// It goes into every directory of every root, and follows no link. That takes about as long as a first load, so it is
// no part of one; what it saw of a directory is kept until the stat of that moves, so that the next census only stats those that
// again names. It shares nothing with a load and may run while there is one. It fails only when ctx is done.
func (l *Loader) Census(ctx context.Context, again Again) ([]pannier.Problem, error) {
	l.census.mu.Lock()
	defer l.census.mu.Unlock()
	var problems []pannier.Problem
	for i := range l.rules.Roots {
		found, err := l.census.of(ctx, l.rules, i, namedPaths, again)
		if err != nil {
			return nil, err
		}
		problems = append(problems, found.problems(l.rules.Roots[i].Name)...)
	}
	return problems, nil
}

// census is what is kept from one census to the next.
type census struct {
	mu   sync.Mutex
	tops []*counted   // for each root
	seed maphash.Seed // of all marks
	// now is the clock, where it is another than the usual one. maxDirs and maxDepth are other bounds than the usual ones.
	now               func() time.Time
	maxDirs, maxDepth int
}

// counted is what a census knows of one directory.
type counted struct {
	name     string
	mark     uint64 // of its stat when its entries were read; 0 where an equal one does not mean equal entries
	file     string // the name of its SKILL.md, empty where there is none
	children []*counted
}

// child returns the child of that name, or nil.
func (d *counted) child(name string) *counted {
	if i, ok := d.search(name); ok {
		return d.children[i]
	}
	return nil
}

// search returns where a child of that name is, or belongs.
func (d *counted) search(name string) (at int, known bool) {
	return slices.BinarySearchFunc(d.children, name, func(c *counted, name string) int { return strings.Compare(c.name, name) })
}

// stop is a directory on the way of a census.
type stop struct {
	dir   *counted
	rel   string // below the root, with slashes; only of one that waits for its level
	depth int
	lot   entryKind
}

// counter goes through one root once.
type counter struct {
	rules  pannier.DiscoveryRules
	root   *os.Root
	fd     int
	now    time.Time
	seed   maphash.Seed
	others map[string]bool // roots that lie below this one, by their path below it
	buf    []byte
	all    bool   // every directory is compared with its stat
	rel    []byte // of the directory that is looked at, below the root, with slashes; "" is the root

	searched int // directories that discovery enters
	entered  int // others
	maxDirs  int
	maxDepth int
	found    tallies
}

// of takes the census of one root. A root that cannot be opened has none: loading it says what is wrong.
func (c *census) of(ctx context.Context, rules pannier.DiscoveryRules, index, named int, again Again) (tallies, error) {
	if c.tops == nil {
		c.tops, c.seed = make([]*counted, len(rules.Roots)), maphash.MakeSeed()
	}
	root, err := fsx.OpenRoot(rules.Roots[index].Path)
	if err != nil {
		c.tops[index] = nil
		return tallies{}, ctx.Err()
	}
	defer root.Close()
	dir, err := root.Open(".")
	if err != nil {
		return tallies{}, ctx.Err()
	}
	defer dir.Close()
	if c.tops[index] == nil {
		c.tops[index] = &counted{}
		again.All = true
	}
	n := &counter{
		rules: rules, root: root, fd: int(dir.Fd()), now: time.Now(), seed: c.seed, others: rootsBelow(rules.Roots, index), buf: make([]byte, 32<<10),
		maxDirs: maxCensusDirs, maxDepth: maxCensusDepth, found: newTallies(named),
	}
	if c.now != nil {
		n.now = c.now()
	}
	if c.maxDirs > 0 {
		n.maxDirs, n.maxDepth = c.maxDirs, c.maxDepth
	}
	again = again.below(rules.Roots[index].Path)
	n.all = again.All
	for _, rel := range again.Dirs {
		n.reread(c.tops[index], rel)
	}
	fits, err := n.visit(ctx, stop{dir: c.tops[index]})
	if !fits && err == nil {
		n.found, n.searched, n.entered = newTallies(named), 0, 0
		err = n.walkLevels(ctx, c.tops[index])
	}
	return n.found, err
}

// rootsBelow returns the roots that lie below one, by their path below it. They have a census of their own. What lies in
// pannier's own directory is not a skill yet.
func rootsBelow(roots []pannier.Root, index int) map[string]bool {
	others := map[string]bool{pannier.OwnDir: true}
	for _, r := range roots {
		if rel, ok := below(roots[index].Path, r.Path); ok && rel != "" {
			others[rel] = true
		}
	}
	return others
}

// visit goes through a directory and all below it. It reports whether no bound on the number of directories was met.
func (n *counter) visit(ctx context.Context, at stop) (fits bool, err error) {
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if at.lot == searched && n.searched == n.rules.MaxDirs || at.lot != searched && n.entered == n.maxDirs {
		return false, nil
	}
	if !n.enter(&at) {
		return true, nil
	}
	lot, enters := n.kindAt(at)
	if !enters {
		return true, nil
	}
	end := len(n.rel)
	for _, c := range at.dir.children {
		child, ok := n.childOf(at, lot, c)
		if !ok {
			continue
		}
		if end > 0 {
			n.rel = append(n.rel, '/')
		}
		n.rel = append(n.rel, c.name...)
		fits, err = n.visit(ctx, child)
		n.rel = n.rel[:end]
		if !fits {
			return false, err
		}
	}
	return true, nil
}

// walkLevels goes through the root level by level, so that the bound on directories cuts off the same ones as in discovery
// (links aside, which discovery follows and counts too).
func (n *counter) walkLevels(ctx context.Context, top *counted) error {
	for level := []stop{{dir: top}}; len(level) > 0; {
		var next []stop
		for _, at := range level {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			n.rel = append(n.rel[:0], at.rel...)
			if !n.enter(&at) {
				continue
			}
			lot, enters := n.kindAt(at)
			for _, c := range at.dir.children {
				child, ok := n.childOf(at, lot, c)
				if ok = ok && enters; ok {
					child.rel = path.Join(at.rel, c.name)
					next = append(next, child)
				}
			}
		}
		level = next
	}
	return ctx.Err()
}

// enter counts a directory and reports whether it was looked into.
func (n *counter) enter(at *stop) bool {
	if at.lot == searched && n.searched == n.rules.MaxDirs {
		at.lot = unreached
	}
	if at.lot == searched {
		n.searched++
	} else {
		if n.entered == n.maxDirs || at.depth > n.maxDepth {
			n.found.closed++
			*at.dir = counted{name: at.dir.name}
			return false
		}
		n.entered++
	}
	err := n.scanDir(at.dir)
	if err == nil {
		return true
	}
	*at.dir = counted{name: at.dir.name}
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errNotDir) { // else it has gone meanwhile
		n.found.closed++
	}
	return false
}

// scanDir brings what is known of a directory up to date.
func (n *counter) scanDir(d *counted) error {
	if d.mark != 0 && !n.all {
		return nil
	}
	rel := string(n.rel)
	st, err := fsx.LstatAt(n.fd, cmp.Or(rel, ".")) // of a link, the link
	switch {
	case err != nil:
		return err
	case !st.IsDir():
		return errNotDir
	case d.mark != 0 && d.mark == n.markOf(st):
		return nil
	}
	dir, err := n.root.Open(dirPath(rel))
	if err != nil {
		return err
	}
	defer dir.Close()
	opened, err := fsx.Fstat(int(dir.Fd()))
	if err != nil || opened.Dev != st.Dev || opened.Ino != st.Ino {
		return errors.Join(err, errNotDir) // another one has taken its place
	}
	entries, err := readDirents(dir, n.buf)
	if err != nil {
		return err
	}
	n.addEntries(d, rel, entries)
	d.mark = 0
	if isProof(opened, n.now) {
		d.mark = n.markOf(opened)
	}
	return nil
}

// markOf returns what stands for a stat where there are so many that their size counts.
func (n *counter) markOf(st fsx.Stamp) uint64 { return max(1, maphash.Comparable(n.seed, st)) }

// addEntries keeps what counts of the entries of a directory. What is known of those that were there before stays.
func (n *counter) addEntries(d *counted, rel string, entries []dirent) {
	file := ""
	var children []*counted
	for _, e := range entries {
		isDir := resolveKind(n.fd, rel, e) == unix.DT_DIR
		if pannier.IsSkillFile(e.name) && file != pannier.SkillFile && (!isDir || e.name == pannier.SkillFile) {
			file = pickFile(file, e.name)
		}
		if !isDir {
			continue
		}
		child := d.child(e.name)
		if child == nil {
			child = &counted{name: e.name}
		}
		children = append(children, child)
	}
	slices.SortFunc(children, func(a, b *counted) int { return strings.Compare(a.name, b.name) })
	if file == pannier.SkillFile {
		file = pannier.SkillFile // one text for all
	}
	d.file, d.children = file, slices.Clip(children)
}

// pickFile returns which of two SKILL.md makes the skill, as discovery decides it.
func pickFile(a, b string) string {
	if b == pannier.SkillFile {
		return b
	}
	return max(a, b)
}

// childOf returns a directory in another one, and whether it is gone into. lot is that of what lies in the other one.
func (n *counter) childOf(at stop, lot entryKind, c *counted) (child stop, ok bool) {
	child = stop{dir: c, depth: at.depth + 1, lot: lot}
	if lot == searched && child.depth > n.rules.MaxDepth {
		child.lot = unreached
	}
	return child, !strings.HasPrefix(c.name, volumePrefix)
}

// kindAt counts the SKILL.md of a directory, where no skill is made of it, and returns the lot of what lies below, and whether that is
// gone into.
func (n *counter) kindAt(at stop) (below entryKind, enters bool) {
	d := at.dir
	skips := at.depth > 0 && n.rules.Skips(d.name)
	switch {
	case at.lot != searched:
		if d.file != "" && d.child(d.file) == nil { // a directory called SKILL.md is none
			n.found.add(at.lot, string(n.rel), d.file)
		}
		below = at.lot
	case d.file == pannier.SkillFile && at.depth > 0, d.file != "" && at.depth > 0 && !skips:
		below = nested
	case skips:
		if d.file != "" {
			n.found.add(skipped, string(n.rel), d.file)
		}
		below = skipped
	}
	return below, below == searched || !n.others[string(n.rel)]
}
