package loader

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"

	"pannier"
)

// maxLockBytes bounds a lock file. An entry has about three hundred bytes.
const maxLockBytes = 4 << 20

const lockRel = pannier.OwnDir + "/" + pannier.LockFile

// lock is what is known of the lock file of a root, which names the skills that pannier has installed there and how far
// each is trusted.
type lock struct {
	stat   fileStat // when it was last read; zero where there is none
	proven bool     // an equal stat means an equal file
	// trust holds what the last readable lock file says, by path below the root.
	trust map[string]pannier.Trust
	// failed says that there is a lock file that can not be read, so that nobody knows what it says now.
	failed   bool
	problems []pannier.Problem
	dir      string // the directory that it lies in, without links; empty where there is none
	// moved says that there are skills that the lock was not applied to yet.
	moved bool
}

// trustOf returns how far the skill at a path below the root is trusted, and whether pannier has installed it. Where the
// lock file can not be read, what it may have named is not trusted.
func (t *tree) trustOf(rel string) (trust pannier.Trust, managed bool) {
	trust, managed = t.lock.trust[rel]
	switch {
	case t.lock.failed && (managed || t.root.Kind == pannier.SourceManaged):
		return pannier.TrustUntrusted, managed
	case managed:
		return trust, true
	}
	return t.root.Trust, false
}

// openLock brings what is known of the lock file up to date. It is read anew only where its stat moved.
func (s *scan) openLock() {
	l := &s.tree.lock
	if dir := s.lockDir(); dir != l.dir {
		l.dir, s.tree.moved = dir, true
	}
	st, err := s.lockStat()
	if err == nil && l.proven && st == l.stat {
		return
	}
	before := *l
	l.failed, l.problems, l.proven = false, nil, false
	switch {
	case err != nil:
		l.fail(s.lockPath(), "lock.unreadable", 0, "the file can not be read: "+cause(err))
	case st == (fileStat{}):
		l.trust = nil
	default:
		st = s.readLock(st)
	}
	l.proven = err == nil && st.proves(s.now)
	l.stat = st
	l.moved = l.moved || l.failed != before.failed || !maps.Equal(l.trust, before.trust)
}

// readLock reads the lock file and returns its stat after that.
func (s *scan) readLock(st fileStat) fileStat {
	l := &s.tree.lock
	text, after, err := s.reader(0).slurp(lockRel, st, maxLockBytes)
	if err != nil {
		l.fail(s.lockPath(), "lock.unreadable", 0, "the file can not be read: "+cause(err))
		return after
	}
	entries, err := parseLock(text)
	if err != nil {
		l.fail(s.lockPath(), "lock.syntax", jsonLine(text, err), "this is not the lock file that it should be"+lockCause(err))
		return after
	}
	l.trust = entries
	return after
}

// fail notes that nobody knows what the lock file says.
func (l *lock) fail(path, code string, line int, message string) {
	l.failed = true
	l.problems = append(l.problems, pannier.Problem{
		Code: code, Severity: pannier.SeverityError, Path: path, Line: line, Message: message + "; installed skills count as untrusted",
		Hint: "restore the file, or remove it and install the skills again",
	})
}

var errLockVersion = errors.New("its version is not 1")

// lockCause returns what is wrong with a lock file, in words that name no types of this program.
func lockCause(err error) string {
	if errors.Is(err, errLockVersion) {
		return ": " + err.Error()
	}
	return jsonCause(err)
}

// parseLock reads a lock file: how far each skill that it names is trusted. A level that is not known is untrusted.
func parseLock(text []byte) (map[string]pannier.Trust, error) {
	var raw struct {
		Version int
		Skills  map[string]struct{ Trust pannier.Trust }
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, err
	}
	if raw.Version != 1 {
		return nil, errLockVersion
	}
	entries := make(map[string]pannier.Trust, len(raw.Skills))
	for rel, entry := range raw.Skills {
		level := max(0, slices.Index(pannier.TrustLevels(), entry.Trust))
		entries[rel] = pannier.TrustLevels()[level]
	}
	return entries, nil
}

// lockStat returns the stat of the lock file, zero where there is none.
func (s *scan) lockStat() (fileStat, error) {
	st, err := statAt(s.fd, lockRel)
	if err == nil && st.isLink() {
		st, err = s.statIn(lockRel)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir) {
		return fileStat{}, nil
	}
	return st, err
}

// lockDir returns the directory of the lock file, where there is one.
func (s *scan) lockDir() string {
	st, err := statAt(s.fd, pannier.OwnDir)
	switch {
	case err == nil && st.isDir():
		return path.Join(s.tree.root.Path, pannier.OwnDir)
	case err == nil && st.isLink():
		return s.realPath(pannier.OwnDir)
	}
	return ""
}

func (s *scan) lockPath() string { return path.Join(s.tree.root.Name, lockRel) }

// applyLock brings skills that were not read in this look in line with a lock file that says something else now.
func (s *scan) applyLock() {
	if l := &s.tree.lock; l.moved {
		l.moved = false
		s.tree.top.applyLock(s.tree)
	}
}

func (n *node) applyLock(t *tree) {
	if f := n.skill; f != nil && f.skill != nil {
		same := f.good == f.skill
		f.skill = t.trusted(f.skill)
		if same {
			f.good = f.skill
		} else if f.good != nil {
			f.good = t.trusted(f.good)
		}
	}
	if n.box != nil {
		n.box.read = t.trusted(n.box.read)
	}
	for _, c := range n.children {
		c.applyLock(t)
	}
}

// trusted returns a skill as the lock file has it now: another one where that is something else than before.
func (t *tree) trusted(skill *pannier.Skill) *pannier.Skill {
	trust, managed := t.trustOf(skill.PathBelowRoot)
	if trust == skill.TrustLevel && managed == skill.Managed {
		return skill
	}
	s := *skill
	s.TrustLevel, s.Managed = trust, managed
	s.Sum = sum(&s)
	return &s
}
