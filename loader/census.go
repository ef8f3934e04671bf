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

// The bounds of a census, for each root: how many directories that discovery does not enter are read, and how deep
// below the root.
const (
	maxCensusDirs  = 100_000
	maxCensusDepth = 64
)

// Census finds the SKILL.md files that no skill is made of, because discovery does not go where they lie: below a skill, in
// a directory that is skipped, past a bound. It returns a problem for each kind of them in each root, with their number
// and the first of their paths.
//
// It reads every directory of every root, and follows no symlink. That takes about as long as a first load, so it is
// not part of one; what it read of a directory is kept until the stat of that changes, so that the next census only stats those
// that again names. It shares nothing with a load and may run at the same time. It fails only when ctx is done.
func (l *Loader) Census(ctx context.Context, again Again) ([]pannier.Problem, error) {
	l.census.mu.Lock()
	defer l.census.mu.Unlock()
	var problems []pannier.Problem
	for i := range l.rules.Roots {
		counts, err := l.census.of(ctx, l.rules, i, namedPaths, again)
		if err != nil {
			return nil, err
		}
		problems = append(problems, counts.problems(l.rules.Roots[i].Name)...)
	}
	return problems, nil
}

// census is what is kept from one census to the next.
type census struct {
	mu   sync.Mutex
	tops []*censusNode // for each root
	seed maphash.Seed  // of all marks
	// now is the clock, where it is another than the usual one. maxDirs and maxDepth are other bounds than the usual ones.
	now               func() time.Time
	maxDirs, maxDepth int
}

// censusNode is what a census knows of one directory.
type censusNode struct {
	name     string
	mark     uint64 // of its stat when its entries were read; 0 where an equal one does not mean equal entries
	file     string // the name of its SKILL.md, empty where there is none
	children []*censusNode
}

// child returns the child of that name, or nil.
func (d *censusNode) child(name string) *censusNode {
	if i, ok := d.search(name); ok {
		return d.children[i]
	}
	return nil
}

// search returns where a child of that name is, or belongs.
func (d *censusNode) search(name string) (at int, known bool) {
	return slices.BinarySearchFunc(d.children, name, func(c *censusNode, name string) int { return strings.Compare(c.name, name) })
}

// censusStep is a directory that a census visits.
type censusStep struct {
	dir   *censusNode
	rel   string // below the root, with slashes; only of one that waits for its level
	depth int
	kind  entryKind
}

// censusWalk visits the directories of one root once.
type censusWalk struct {
	rules  pannier.DiscoveryRules
	root   *os.Root
	fd     int
	now    time.Time
	seed   maphash.Seed
	others map[string]bool // roots that lie below this one, by their path below it
	buf    []byte
	all    bool   // every directory is compared with its stat
	rel    []byte // of the directory that is visited, below the root, with slashes; "" is the root

	searched int // directories that discovery enters
	entered  int // others
	maxDirs  int
	maxDepth int
	found    censusCounts
}

// of takes the census of one root. A root that cannot be opened has none: loading it says what is wrong.
func (c *census) of(ctx context.Context, rules pannier.DiscoveryRules, index, named int, again Again) (censusCounts, error) {
	if c.tops == nil {
		c.tops, c.seed = make([]*censusNode, len(rules.Roots)), maphash.MakeSeed()
	}
	root, err := fsx.OpenRoot(rules.Roots[index].Path)
	if err != nil {
		c.tops[index] = nil
		return censusCounts{}, ctx.Err()
	}
	defer root.Close()
	dir, err := root.Open(".")
	if err != nil {
		return censusCounts{}, ctx.Err()
	}
	defer dir.Close()
	if c.tops[index] == nil {
		c.tops[index] = &censusNode{}
		again.All = true
	}
	w := &censusWalk{
		rules: rules, root: root, fd: int(dir.Fd()), now: time.Now(), seed: c.seed, others: rootsBelow(rules.Roots, index), buf: make([]byte, 32<<10),
		maxDirs: maxCensusDirs, maxDepth: maxCensusDepth, found: newCensusCounts(named),
	}
	if c.now != nil {
		w.now = c.now()
	}
	if c.maxDirs > 0 {
		w.maxDirs, w.maxDepth = c.maxDirs, c.maxDepth
	}
	again = again.below(rules.Roots[index].Path)
	w.all = again.All
	for _, rel := range again.Dirs {
		w.reread(c.tops[index], rel)
	}
	fits, err := w.visit(ctx, censusStep{dir: c.tops[index]})
	if !fits && err == nil {
		w.found, w.searched, w.entered = newCensusCounts(named), 0, 0
		err = w.walkLevels(ctx, c.tops[index])
	}
	return w.found, err
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

// visit visits a directory and all below it. It reports whether no bound on the number of directories was met.
func (w *censusWalk) visit(ctx context.Context, at censusStep) (fits bool, err error) {
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if at.kind == searched && w.searched == w.rules.MaxDirs || at.kind != searched && w.entered == w.maxDirs {
		return false, nil
	}
	if !w.enter(&at) {
		return true, nil
	}
	kind, enters := w.kindAt(at)
	if !enters {
		return true, nil
	}
	end := len(w.rel)
	for _, c := range at.dir.children {
		child, ok := w.childOf(at, kind, c)
		if !ok {
			continue
		}
		if end > 0 {
			w.rel = append(w.rel, '/')
		}
		w.rel = append(w.rel, c.name...)
		fits, err = w.visit(ctx, child)
		w.rel = w.rel[:end]
		if !fits {
			return false, err
		}
	}
	return true, nil
}

// walkLevels visits the root level by level, so that the bound on directories cuts off the same ones as in discovery
// (links aside, which discovery follows and counts too).
func (w *censusWalk) walkLevels(ctx context.Context, top *censusNode) error {
	for level := []censusStep{{dir: top}}; len(level) > 0; {
		var next []censusStep
		for _, at := range level {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			w.rel = append(w.rel[:0], at.rel...)
			if !w.enter(&at) {
				continue
			}
			kind, enters := w.kindAt(at)
			for _, c := range at.dir.children {
				child, ok := w.childOf(at, kind, c)
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

// enter counts a directory, reads it if needed, and reports whether its entries are known.
func (w *censusWalk) enter(at *censusStep) bool {
	if at.kind == searched && w.searched == w.rules.MaxDirs {
		at.kind = unreached
	}
	if at.kind == searched {
		w.searched++
	} else {
		if w.entered == w.maxDirs || at.depth > w.maxDepth {
			w.found.unread++
			*at.dir = censusNode{name: at.dir.name}
			return false
		}
		w.entered++
	}
	err := w.scanDir(at.dir)
	if err == nil {
		return true
	}
	*at.dir = censusNode{name: at.dir.name}
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errNotDir) { // else it has gone meanwhile
		w.found.unread++
	}
	return false
}

// scanDir brings what is known of a directory up to date.
func (w *censusWalk) scanDir(d *censusNode) error {
	if d.mark != 0 && !w.all {
		return nil
	}
	rel := string(w.rel)
	st, err := fsx.LstatAt(w.fd, cmp.Or(rel, ".")) // of a link, the link
	switch {
	case err != nil:
		return err
	case !st.IsDir():
		return errNotDir
	case d.mark != 0 && d.mark == w.markOf(st):
		return nil
	}
	dir, err := w.open(dirPath(rel))
	if err != nil {
		return err
	}
	defer dir.close()
	opened, err := dir.stat()
	if err != nil || opened.Dev != st.Dev || opened.Ino != st.Ino {
		return errors.Join(err, errNotDir) // another one has taken its place
	}
	entries, err := readDirents(dir.fd, rel, w.buf)
	if err != nil {
		return err
	}
	w.addEntries(d, rel, entries)
	d.mark = 0
	if isProof(opened, w.now) {
		d.mark = w.markOf(opened)
	}
	return nil
}

// open opens a directory below the root.
func (w *censusWalk) open(rel string) (openFile, error) {
	if fd, err := fsx.OpenAt(w.fd, rel); err == nil {
		return openFile{fd: fd}, nil
	}
	file, err := w.root.OpenFile(rel, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
	if err != nil {
		return openFile{}, err
	}
	return openFile{fd: int(file.Fd()), file: file}, nil
}

// markOf returns what stands for a stat where there are so many that their size counts.
func (w *censusWalk) markOf(st fsx.Stamp) uint64 { return max(1, maphash.Comparable(w.seed, st)) }

// addEntries keeps what counts of the entries of a directory. What is known of those that were there before stays.
func (w *censusWalk) addEntries(d *censusNode, rel string, entries []dirent) {
	file := ""
	var children []*censusNode
	for _, e := range entries {
		isDir := resolveKind(w.fd, rel, e) == unix.DT_DIR
		if pannier.IsSkillFile(e.name) && file != pannier.SkillFile && (!isDir || e.name == pannier.SkillFile) {
			file = pickFile(file, e.name)
		}
		if !isDir {
			continue
		}
		child := d.child(e.name)
		if child == nil {
			child = &censusNode{name: e.name}
		}
		children = append(children, child)
	}
	slices.SortFunc(children, func(a, b *censusNode) int { return strings.Compare(a.name, b.name) })
	if file == pannier.SkillFile {
		file = pannier.SkillFile // the constant, so that the string of each entry can be freed
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

// childOf returns a directory in another one, and whether it is visited. kind is that of what lies in the other one.
func (w *censusWalk) childOf(at censusStep, kind entryKind, c *censusNode) (child censusStep, ok bool) {
	child = censusStep{dir: c, depth: at.depth + 1, kind: kind}
	if kind == searched && child.depth > w.rules.MaxDepth {
		child.kind = unreached
	}
	return child, !strings.HasPrefix(c.name, volumePrefix)
}

// kindAt counts the SKILL.md of a directory, if no skill is made of it, and returns the kind of what lies below, and whether that is
// visited.
func (w *censusWalk) kindAt(at censusStep) (below entryKind, enters bool) {
	d := at.dir
	skips := at.depth > 0 && w.rules.Skips(d.name)
	switch {
	case at.kind != searched:
		if d.file != "" && d.child(d.file) == nil { // a directory called SKILL.md is none
			w.found.add(at.kind, string(w.rel), d.file)
		}
		below = at.kind
	case d.file == pannier.SkillFile && at.depth > 0, d.file != "" && at.depth > 0 && !skips:
		below = nested
	case skips:
		if d.file != "" {
			w.found.add(skipped, string(w.rel), d.file)
		}
		below = skipped
	}
	return below, below == searched || !w.others[string(w.rel)]
}
