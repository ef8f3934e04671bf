package loader

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/internal/fsx"
)

// treeScan is one pass over a root. It is used by one load and then closed.
type treeScan struct {
	tree *tree
	root *os.Root
	dir  *os.File // the root's directory, for scans that only stat
	fd   int
	now  time.Time
	// place is the root with the targets of its links, and real the path without links of the root where it has such targets.
	place fsx.Place
	real  string
	// targets are those that were opened, by their path, under the lock.
	targetsMu sync.Mutex
	targets   map[string]*os.Root
	// timesHoldOn is, by device and under the lock, whether times of directories show changes of their entries.
	kindsMu     sync.Mutex
	timesHoldOn map[uint64]bool
	// thorough says that an equal stat proves nothing this time.
	thorough bool

	readers []*reader // one for each goroutine that scans
}

// openScan opens a root. Where that is another directory than before, or was renamed meanwhile, all that is known below
// it is scanned again.
func openScan(t *tree) (*treeScan, error) {
	root, err := fsx.OpenRoot(t.root.Path)
	if err != nil {
		return nil, err
	}
	dir, err := root.Open(".")
	if err != nil {
		root.Close()
		return nil, err
	}
	s := &treeScan{tree: t, root: root, dir: dir, fd: int(dir.Fd()), now: t.now(), place: PlaceOf(t.root), timesHoldOn: map[uint64]bool{}}
	if len(t.root.LinkTargets) > 0 {
		s.place = s.place.Resolved()
		if s.real, err = filepath.EvalSymlinks(t.root.Path); err != nil {
			s.close()
			return nil, err
		}
	}
	st, err := fsx.Fstat(s.fd)
	if err != nil {
		s.close()
		return nil, err
	}
	if before := t.top.list().listed; st.Dev != t.dev || st.Ino != t.top.ino || st.CTime != before.CTime && st.MTime == before.MTime {
		t.dev, t.top.ino = st.Dev, st.Ino
		t.top.markAll()
	}
	if r := t.restored; r != nil && (r.root != st.FileID || !fsx.DirTimesHold(t.root.Path)) {
		t.restored = nil
	}
	return s, nil
}

func (s *treeScan) close() {
	for _, r := range s.readers {
		buf := r.buf
		readBuffers.Put(&buf)
	}
	for _, target := range s.targets {
		target.Close()
	}
	s.dir.Close()
	s.root.Close()
}

// walk scans the tree.
func (s *treeScan) walk(ctx context.Context, full bool) error {
	s.tree.pastDepth, s.tree.pastCount = 0, 0
	s.openLock()
	for n, names := range s.tree.entries { // where one is not a directory, the directory that it lies in is listed
		for _, name := range names {
			if !n.marked {
				s.scanEntry(n, name)
			}
		}
	}
	clear(s.tree.entries)
	if _, err := s.walkBelow(ctx, []*node{s.tree.top}, s.tree.rules.MaxDirs, full); err != nil {
		return err
	}
	s.applyLock()
	s.commitToolSets()
	return nil
}

// walkBelow scans the nodes of a level and all below them, and returns how many more directories may be scanned. A part of a level
// takes at most half of these before what is below it is scanned, so that neither a wide level nor a deep directory uses up the
// bound before the first skill. The parts do not depend on the number of processors.
func (s *treeScan) walkBelow(ctx context.Context, level []*node, room int, full bool) (left int, err error) {
	t := s.tree
	for len(level) > 0 && room > 0 {
		batch := level[:min(len(level), (room+1)/2)]
		level, room = level[len(batch):], room-len(batch)
		if err := s.scanLevel(ctx, batch, full); err != nil {
			return room, err
		}
		var next []*node
		for _, n := range batch {
			t.pastDepth += n.list().tooDeep
			if next == nil {
				next = slices.Clip(n.list().children)
			} else {
				next = append(next, n.list().children...)
			}
		}
		if room, err = s.walkBelow(ctx, next, room, full); err != nil {
			return room, err
		}
	}
	t.pastCount += len(level)
	for _, n := range level {
		if n.known {
			s.tree.moved = true
		}
		n.reset()
	}
	return room, nil
}

// scanLevel scans the nodes of a level that need it, on all processors where there are many.
func (s *treeScan) scanLevel(ctx context.Context, level []*node, full bool) error {
	var due []*node
	for _, n := range level {
		if full || n.due() {
			due = append(due, n)
		}
	}
	const worthSharing = 64
	if len(due) < worthSharing {
		for _, n := range due {
			s.scanDir(n, s.reader(0))
		}
		s.recordScanned(due)
		return ctx.Err()
	}
	var (
		next    atomic.Int64
		workers sync.WaitGroup
	)
	for i := range runtime.GOMAXPROCS(0) {
		r := s.reader(i)
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(due)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				s.scanDir(due[i], r)
			}
		})
	}
	workers.Wait()
	s.recordScanned(due)
	return ctx.Err()
}

// recordScanned takes over whether looking changed which directories there are.
func (s *treeScan) recordScanned(scanned []*node) {
	for _, n := range scanned {
		s.tree.moved = s.tree.moved || n.moved
		n.moved = false
	}
}

// scanDir brings what is known of one directory up to date.
func (s *treeScan) scanDir(n *node, r *reader) {
	n.moved = n.moved || !n.known
	n.marked, n.known = false, true
	if n.listing != nil {
		n.listing.problems = nil
	}
	st, err := fsx.LstatAt(s.fd, n.at(pannier.SkillFile))
	switch {
	case err == nil && n.rel == "":
		n.addProblem(s.strayProblem(pannier.SkillFile))
		s.list(n, r)
	case err == nil:
		n.setSkill(pannier.SkillFile)
		if !s.refresh(n, st, r) {
			s.scanWithoutSkillFile(n, r, fs.ErrNotExist)
		}
	default:
		s.scanWithoutSkillFile(n, r, err)
	}
}

// scanWithoutSkillFile brings what is known of a directory up to date in which SKILL.md is not found.
func (s *treeScan) scanWithoutSkillFile(n *node, r *reader, err error) {
	switch {
	case n.shallow && (n.record == nil || errors.Is(err, fs.ErrNotExist)):
		if n.record != nil {
			r.fresh = append(r.fresh, n)
		}
		n.clearSkill()
	case errors.Is(err, fs.ErrNotExist):
		s.list(n, r)
	default:
		s.markUnreadable(n, r, err)
	}
}

// strayProblem tells of a SKILL.md right in the root.
func (s *treeScan) strayProblem(file string) pannier.Problem {
	return pannier.Problem{
		Code: "root.skill_file", Severity: pannier.SeverityWarning, Path: path.Join(s.tree.root.Name, file),
		Message: "a SKILL.md right in the root belongs to no skill",
		Hint:    "put it, and what belongs to it, into a folder of its own",
	}
}

// list brings the entries of a directory that holds no SKILL.md up to date, or takes a skill.md of another case.
func (s *treeScan) list(n *node, r *reader) {
	st, err := fsx.LstatAt(s.fd, dirPath(n.rel))
	if err != nil {
		s.markUnreadable(n, r, err)
		return
	}
	children, read := n.list().children, st != n.list().listed || !isProof(st, n.list().listedAt) || !s.timesHold(n, st)
	if read || len(n.list().links) > 0 && n.depth == s.tree.rules.MaxDepth { // where children are only counted
		if children, err = s.readEntries(n, r); err != nil {
			s.markUnreadable(n, r, err)
			return
		}
		l := n.edit()
		l.listed, l.listedAt, read = st, s.now, true
		r.fresh = append(r.fresh, n)
	}
	if n.list().otherCase != "" && n.rel != "" {
		if file, err := fsx.LstatAt(s.fd, n.at(n.list().otherCase)); err == nil {
			n.setSkill(n.list().otherCase)
			if s.refresh(n, file, r) {
				return
			}
			read = true // it has no children any more
		}
	}
	n.clearSkill()
	if n.list().otherCase != "" && n.rel == "" && len(n.list().problems) == 0 {
		n.addProblem(s.strayProblem(n.list().otherCase))
	}
	if len(n.list().links) > 0 {
		r.recordVolume(n)
	}
	if read || len(n.list().links) > 0 {
		n.adopt(s.followLinks(n, children, r), s.tree.rules.MaxDepth)
	}
	s.openToolSet(n, r)
}

// timesHold reports whether the equal times of a directory prove that its entries are the same. It asks once a scan for each
// file system.
func (s *treeScan) timesHold(n *node, st fsx.Stamp) bool {
	if s.thorough || s.tree.listAll {
		return false
	}
	s.kindsMu.Lock()
	defer s.kindsMu.Unlock()
	hold, known := s.timesHoldOn[st.Dev]
	if !known {
		hold = fsx.DirTimesHold(n.abs)
		s.timesHoldOn[st.Dev] = hold
	}
	return hold
}

// dirPath returns a path that stands for the directory itself where rel is a link to it.
func dirPath(rel string) string {
	if rel == "" {
		return "."
	}
	return rel + "/."
}

// markUnreadable keeps what is known of a directory that cannot be read, and says so; one that is gone has nothing.
func (s *treeScan) markUnreadable(n *node, r *reader, err error) {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir) {
		r.fresh = append(r.fresh, n) // perhaps it is not this one that is gone, but one above it that was replaced
		n.reset()
		n.known = true
		return
	}
	n.addProblem(pannier.Problem{
		Code: "root.directory_unreadable", Severity: pannier.SeverityWarning, Path: path.Join(s.tree.root.Name, n.rel),
		Message: "the directory cannot be read: " + fsx.Cause(err).Error(),
		Hint:    "make it readable for the user that pannier runs as; until then what was last read from it stays",
	})
}

// readEntries reads the names in a directory. It returns nodes for the directories among them and keeps the links.
func (s *treeScan) readEntries(n *node, r *reader) ([]*node, error) {
	dir, err := s.root.Open(dirPath(n.rel))
	if s.mayLeadOut(err) {
		dir, err = s.place.File(dirPath(n.rel))
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := readDirents(int(dir.Fd()), dir.Name(), r.buf)
	if err != nil {
		return nil, err
	}
	l := n.edit()
	l.otherCase, l.links = "", nil
	var children []*node
	for i := range entries {
		entries[i].kind = resolveKind(s.fd, n.rel, entries[i])
		e := entries[i]
		switch {
		case e.kind == unix.DT_DIR:
			children = append(children, s.childFor(n, e, false))
			continue
		case e.kind == unix.DT_LNK:
			l.links = append(l.links, e)
		}
		if e.name != pannier.SkillFile && pannier.IsSkillFile(e.name) {
			l.otherCase = max(l.otherCase, e.name) // of several the same one every time
		}
	}
	slices.SortFunc(l.links, func(a, b dirent) int { return cmp.Compare(a.name, b.name) })
	if n.holdsScripts() {
		var scripts []string
		for _, e := range entries {
			if e.kind == unix.DT_REG && isScript(e.name) {
				scripts = append(scripts, e.name)
			}
		}
		slices.Sort(scripts)
		l.scripts = slices.Clip(scripts)
	}
	return children, nil
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
