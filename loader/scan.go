package loader

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"pannier"
)

// scan is one look at a root. It is used by one load and then closed.
type scan struct {
	tree *tree
	root *os.Root
	dir  *os.File // the root's directory, for looks that only stat
	fd   int
	now  time.Time
}

func openScan(t *tree) (*scan, error) {
	root, err := os.OpenRoot(t.root.Path)
	if err != nil {
		return nil, err
	}
	dir, err := root.Open(".")
	if err != nil {
		root.Close()
		return nil, err
	}
	s := &scan{tree: t, root: root, dir: dir, fd: int(dir.Fd()), now: time.Now()}
	if st, err := statOpen(s.fd); err == nil && st.ino != t.top.ino {
		t.top.ino = st.ino
		t.top.markAll()
	}
	return s, nil
}

func (s *scan) close() {
	s.dir.Close()
	s.root.Close()
}

// walk goes through the tree level by level, so that the bound on directories cuts off the same ones however the levels
// are divided among the processors.
func (s *scan) walk(ctx context.Context, full bool) error {
	t := s.tree
	t.pastDepth, t.pastCount = 0, 0
	level := []*node{t.top}
	for depth, count := 0, 0; len(level) > 0; depth++ {
		if room := t.rules.MaxDirs - count; len(level) > room {
			t.pastCount += len(level) - room
			s.forget(level[room:])
			level = level[:room]
		}
		count += len(level)
		if err := s.lookAll(ctx, level, full); err != nil {
			return err
		}
		level = s.nextLevel(level, depth)
	}
	return nil
}

// nextLevel returns the directories below a level, unless they lie too deep.
func (s *scan) nextLevel(level []*node, depth int) []*node {
	var next []*node
	for _, n := range level {
		if depth == s.tree.rules.MaxDepth {
			s.tree.pastDepth += len(n.children)
			s.forget(n.children)
			n.children = nil
			continue
		}
		next = append(next, n.children...)
	}
	return next
}

// forget drops what is known below nodes that are not looked into.
func (s *scan) forget(nodes []*node) {
	for _, n := range nodes {
		if n.known {
			s.tree.moved = true
		}
		n.reset()
	}
}

// lookAll looks at the nodes of a level that need it, on all processors where there are many.
func (s *scan) lookAll(ctx context.Context, level []*node, full bool) error {
	var due []*node
	for _, n := range level {
		if full || n.marked || !n.known {
			due = append(due, n)
		}
	}
	const worthSharing = 64
	if len(due) < worthSharing {
		r := newReader(s)
		for _, n := range due {
			s.look(n, r)
		}
		s.note(due)
		return ctx.Err()
	}
	var (
		next    atomic.Int64
		workers sync.WaitGroup
	)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			r := newReader(s)
			for i := next.Add(1) - 1; i < int64(len(due)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				s.look(due[i], r)
			}
		})
	}
	workers.Wait()
	s.note(due)
	return ctx.Err()
}

// note takes over whether looking changed which directories there are.
func (s *scan) note(looked []*node) {
	for _, n := range looked {
		s.tree.moved = s.tree.moved || n.moved
		n.moved = false
	}
}

// look brings what is known of one directory up to date.
func (s *scan) look(n *node, r *reader) {
	n.moved = n.moved || !n.known
	n.marked, n.known, n.problem = false, true, nil
	st, err := statAt(s.fd, path.Join(n.rel, pannier.SkillFile))
	switch {
	case err == nil && n.rel == "":
		n.problem = &pannier.Problem{
			Code: "root.skill_file", Severity: pannier.SeverityWarning, Path: path.Join(s.tree.root.Name, pannier.SkillFile),
			Message: "a SKILL.md right in the root belongs to no skill",
			Hint:    "put it, and what belongs to it, into a folder of its own",
		}
		s.list(n, r)
	case err == nil:
		n.become(pannier.SkillFile)
		s.refresh(n, st, r)
	case errors.Is(err, fs.ErrNotExist) && n.shallow:
		n.unbecome()
	case errors.Is(err, fs.ErrNotExist):
		s.list(n, r)
	default:
		s.obscure(n, err)
	}
}

// list brings the entries of a directory that holds no SKILL.md up to date, or takes a skill.md of another case.
func (s *scan) list(n *node, r *reader) {
	st, err := statAt(s.fd, path.Join(n.rel, "."))
	if err != nil {
		s.obscure(n, err)
		return
	}
	if st != n.listed || !st.proves(n.listedAt) {
		if err := s.readEntries(n, r); err != nil {
			s.obscure(n, err)
			return
		}
		n.listed, n.listedAt = st, s.now
	}
	if n.otherCase == "" || n.rel == "" {
		n.unbecome()
		return
	}
	file, err := statAt(s.fd, path.Join(n.rel, n.otherCase))
	if err != nil {
		n.unbecome()
		return
	}
	n.become(n.otherCase)
	s.refresh(n, file, r)
}

// obscure keeps what is known of a directory that can not be read, and says so; one that is gone has nothing.
func (s *scan) obscure(n *node, err error) {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir) {
		n.reset()
		n.known = true
		return
	}
	n.problem = &pannier.Problem{
		Code: "root.directory_unreadable", Severity: pannier.SeverityWarning, Path: path.Join(s.tree.root.Name, n.rel),
		Message: "the directory can not be read: " + cause(err),
		Hint:    "make it readable for the user that pannier runs as; until then what was last read from it stays",
	}
}

// readEntries reads the names in a directory and makes nodes of those that may lead to skills.
func (s *scan) readEntries(n *node, r *reader) error {
	dir, err := s.root.Open(path.Join(n.rel, "."))
	if err != nil {
		return err
	}
	defer dir.Close()
	entries, err := readDirents(dir, r.buf)
	if err != nil {
		return err
	}
	n.otherCase = ""
	var children []*node
	for _, e := range entries {
		e.kind = s.resolveKind(n.rel, e)
		if e.kind != unix.DT_DIR && e.name != pannier.SkillFile && pannier.IsSkillFile(e.name) {
			n.otherCase = max(n.otherCase, e.name) // of several the same one every time
		}
		if child := s.childFor(n, e); child != nil {
			children = append(children, child)
		}
	}
	n.adopt(children)
	return nil
}

// childFor returns the node for an entry that is a directory or leads to one. What is known of a directory that was
// replaced by another of the same name is looked at anew, to its leaves.
func (s *scan) childFor(n *node, e dirent) *node {
	linked := e.kind == unix.DT_LNK
	rel := path.Join(n.rel, e.name)
	if e.kind != unix.DT_DIR && !(linked && s.leadsToDir(n, rel)) {
		return nil
	}
	if known := n.child(e.name); known != nil && known.linked == linked {
		if known.ino != e.ino {
			known.ino = e.ino
			known.markAll()
		}
		return known
	}
	return &node{
		name: e.name, rel: rel, abs: strings.TrimSuffix(s.tree.root.Path, "/") + "/" + rel, ino: e.ino,
		linked: linked, shallow: s.tree.rules.Skips(e.name),
	}
}

// leadsToDir reports whether a link leads to a directory within the root. One that leads out of it is told of.
func (s *scan) leadsToDir(n *node, rel string) bool {
	info, err := s.root.Stat(rel)
	if err == nil {
		return info.IsDir() && !s.loops(rel)
	}
	if !errors.Is(err, fs.ErrNotExist) && n.problem == nil {
		n.problem = &pannier.Problem{
			Code: "root.link_outside", Severity: pannier.SeverityWarning, Path: path.Join(s.tree.root.Name, rel),
			Message: "the link can not be followed: " + cause(err),
			Hint:    "links are followed within their root only; copy the skill into the root",
		}
	}
	return false
}

// loops reports whether a link leads to a directory that it lies in itself.
func (s *scan) loops(rel string) bool {
	target, err := s.root.Stat(rel)
	if err != nil {
		return true
	}
	for dir := path.Dir(rel); ; dir = path.Dir(dir) {
		if above, err := s.root.Stat(dir); err != nil || os.SameFile(above, target) {
			return true
		}
		if dir == "." {
			return false
		}
	}
}
