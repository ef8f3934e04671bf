package loader

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"pannier"
	"pannier/internal/fsx"
)

// maxLockBytes bounds a lock file. An entry has about three hundred bytes.
const maxLockBytes = 4 << 20

const lockRel = pannier.OwnDir + "/" + pannier.LockFile

// lock is what is known of the lock file of a root, which names the skills that pannier has installed there and how far
// each is trusted.
type lock struct {
	stat   fsx.Stamp // when it was last read; zero where there is none
	proven bool      // an equal stat means an equal file
	// entries holds what the last readable lock file says, by path below the root. named are those with a fingerprint.
	entries map[string]lockEntry
	named   []pannier.LockedSlug
	// read says that entries are from the lock file, and not that none was readable yet.
	read bool
	// failed says that there is a lock file that cannot be read, and its present content is unknown.
	failed   bool
	problems []pannier.Problem
	dir      string // the directory that it lies in, without links; empty where there is none
	// moved says that there are skills that the lock was not applied to yet. applied is what was applied to all.
	moved   bool
	applied struct {
		entries map[string]lockEntry
		failed  bool
	}
}

// lockEntry is what a lock file says of one skill. vouches says that it has a fingerprint.
type lockEntry struct {
	trust   pannier.Trust
	slug    string
	digest  pannier.Digest
	vouches bool
}

// trustOf returns how far the skill at a path below the root is trusted, and whether pannier has installed it. Where the
// lock file cannot be read, what it may name is not trusted: what it named before, or, as long as that is not known, and in
// a managed root, every skill.
func (t *tree) trustOf(rel string) (trust pannier.Trust, managed bool) {
	entry, managed := t.lock.entries[rel]
	switch {
	case t.lock.failed && (managed || t.lockUnreadable()):
		return pannier.TrustUntrusted, managed
	case managed:
		return entry.trust, true
	}
	return t.root.Trust, false
}

// lockUnreadable reports whether a lock file that cannot be read may name any skill of the root.
func (t *tree) lockUnreadable() bool { return !t.lock.read || t.root.Kind == pannier.SourceManaged }

// openLock brings what is known of the lock file up to date. It is read anew only where its stat moved.
func (s *treeScan) openLock() {
	l := &s.tree.lock
	if dir := s.lockDir(); dir != l.dir {
		l.dir, s.tree.moved = dir, true
	}
	st, err := s.lockStat()
	if err == nil && l.proven && !s.thorough && st == l.stat {
		return
	}
	before := *l
	l.failed, l.problems, l.proven = false, nil, false
	switch {
	case err != nil:
		s.failLock("lock.unreadable", 0, "the file cannot be read: "+fsx.Cause(err).Error())
	case st == (fsx.Stamp{}):
		l.entries, l.named, l.read = nil, nil, false
	default:
		st = s.readLock(st)
	}
	l.proven = err == nil && isProof(st, s.now)
	l.stat = st
	l.moved = l.moved || l.failed != before.failed || l.read != before.read || !maps.Equal(l.entries, before.entries)
}

// readLock reads the lock file and returns its stat after that.
func (s *treeScan) readLock(st fsx.Stamp) fsx.Stamp {
	l := &s.tree.lock
	text, after, err := s.reader(0).slurp(lockRel, st, maxLockBytes)
	if err != nil {
		s.failLock("lock.unreadable", 0, "the file cannot be read: "+fsx.Cause(err).Error())
		return after
	}
	entries, strange, err := parseLock(text)
	if err != nil {
		s.failLock("lock.syntax", jsonLine(text, err), "this is not the lock file that it should be"+lockCause(err))
		return after
	}
	var named []pannier.LockedSlug
	for rel, e := range entries {
		if e.vouches {
			named = append(named, pannier.LockedSlug{Slug: e.slug, Path: path.Join(s.tree.root.Name, rel)})
		}
	}
	slices.SortFunc(named, func(a, b pannier.LockedSlug) int { return cmp.Compare(a.Path, b.Path) })
	l.entries, l.named, l.read = entries, named, true
	if len(strange) > 0 {
		l.problems = append(l.problems, pannier.Problem{
			Code: "lock.path", Severity: pannier.SeverityWarning, Path: s.lockPath(), Field: "skills",
			Message: fmt.Sprintf("%d keys are no paths below the root, and no skill is meant: %s", len(strange), quoteSome(strange)),
			Hint:    "write the path of a skill below the root, with slashes and without `..`",
		})
	}
	return after
}

// quoteSome returns the first of some texts in quotes, and how many more there are.
func quoteSome(texts []string) string {
	var quoted []string
	for _, text := range texts[:min(len(texts), 5)] {
		if r := []rune(text); len(r) > 60 {
			text = string(r[:60]) + "…"
		}
		quoted = append(quoted, strconv.Quote(text))
	}
	if more := len(texts) - len(quoted); more > 0 {
		quoted[len(quoted)-1] += fmt.Sprintf(", and %d more", more)
	}
	return strings.Join(quoted, ", ")
}

// failLock records that the content of the lock file is unknown.
func (s *treeScan) failLock(code string, line int, message string) {
	l := &s.tree.lock
	l.failed = true
	doubted := "; the skills that it named when it was last read count as untrusted"
	if s.tree.lockUnreadable() {
		doubted = "; every skill of the root counts as untrusted, because it may name any of them"
	}
	l.problems = append(l.problems, pannier.Problem{
		Code: code, Severity: pannier.SeverityError, Path: s.lockPath(), Line: line, Message: message + doubted,
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

// parseLock reads a lock file: how far each skill that it names is trusted, and which keys are no paths below the root. A
// level that is not known is untrusted; of two keys for one path the lesser level counts.
func parseLock(text []byte) (entries map[string]lockEntry, strange []string, err error) {
	file, err := jsonObject(text)
	if err != nil {
		return nil, nil, err
	}
	var version int
	if err := file.read("version", &version); err != nil {
		return nil, nil, err
	}
	if version != 1 {
		return nil, nil, errLockVersion
	}
	var skills map[string]jsonFields
	if err := file.read("skills", &skills); err != nil {
		return nil, nil, err
	}
	entries = make(map[string]lockEntry, len(skills))
	for key, entry := range skills {
		var trust pannier.Trust
		if err := entry.read("trust", &trust); err != nil {
			return nil, nil, err
		}
		rel := path.Clean(key)
		if rel == "." || !fs.ValidPath(rel) {
			strange = append(strange, key)
			continue
		}
		levels := pannier.TrustLevels()
		level := max(0, slices.Index(levels, trust))
		e := entry.identity()
		if other, again := entries[rel]; again {
			level = min(level, slices.Index(levels, other.trust))
			e.vouches = false // it is not known which of the two is meant
		}
		e.trust = levels[level]
		entries[rel] = e
	}
	slices.Sort(strange)
	return entries, strange, nil
}

// identity returns what an entry says of which skill it is about. A field that is not well formed says nothing.
func (f jsonFields) identity() (e lockEntry) {
	var fingerprint pannier.Digest
	err := errors.Join(f.read("slug", &e.slug), f.read("fingerprint", &fingerprint), f.read("digest", &e.digest))
	e.vouches = err == nil && !fingerprint.IsZero() && e.slug != ""
	return e
}

// lockStat returns the stat of the lock file, zero where there is none.
func (s *treeScan) lockStat() (fsx.Stamp, error) {
	st, err := fsx.LstatAt(s.fd, lockRel)
	if err == nil && st.IsSymlink() {
		st, err = s.statIn(lockRel)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir) {
		return fsx.Stamp{}, nil
	}
	return st, err
}

// lockDir returns the directory of the lock file, where there is one.
func (s *treeScan) lockDir() string {
	st, err := fsx.LstatAt(s.fd, pannier.OwnDir)
	switch {
	case err == nil && st.IsDir():
		return path.Join(s.tree.root.Path, pannier.OwnDir)
	case err == nil && st.IsSymlink():
		return s.findChain(pannier.OwnDir).real
	}
	return ""
}

func (s *treeScan) lockPath() string { return path.Join(s.tree.root.Name, lockRel) }

// applyLock brings skills that were not read in this scan in line with a lock file that says something else now.
func (s *treeScan) applyLock() {
	t, l := s.tree, &s.tree.lock
	if !l.moved {
		return
	}
	if l.failed || l.applied.failed { // it counts for skills that it does not name
		t.top.applyLock(t)
	} else {
		for rel, e := range l.entries {
			if before, named := l.applied.entries[rel]; !named || before != e {
				t.top.descend(rel).applyOwnLock(t)
			}
		}
		for rel := range l.applied.entries {
			if _, named := l.entries[rel]; !named {
				t.top.descend(rel).applyOwnLock(t)
			}
		}
	}
	l.moved, l.applied.entries, l.applied.failed = false, l.entries, l.failed
}

// descend returns the directory at a path below this one, nil where none is known.
func (n *node) descend(rel string) *node {
	for part := range strings.SplitSeq(rel, "/") {
		if n = n.child(part); n == nil {
			return nil
		}
	}
	return n
}

func (n *node) applyLock(t *tree) {
	n.applyOwnLock(t)
	for _, c := range n.list().children {
		c.applyLock(t)
	}
}

// applyOwnLock brings the skill of a directory in line. The directory may be nil.
func (n *node) applyOwnLock(t *tree) {
	if n == nil {
		return
	}
	if f := n.record; f != nil && f.skill != nil {
		same := f.good == f.skill
		f.skill = t.trusted(f.skill)
		if same {
			f.good = f.skill
		} else if f.good != nil {
			f.good = t.trusted(f.good)
		}
	}
	if n.toolSet != nil {
		n.toolSet.read = t.trusted(n.toolSet.read)
	}
}

// trusted returns a skill as the lock file has it now: another one where that is something else than before.
func (t *tree) trusted(skill *pannier.Skill) *pannier.Skill {
	now := t.standingOf(skill)
	if now == (standing{skill.TrustLevel, skill.Managed, skill.Locked, skill.Implicit}) {
		return skill
	}
	s := *skill
	now.apply(&s)
	s.Sum = sum(&s)
	return &s
}

// standing is what a skill has from the lock file.
type standing struct {
	trust                     pannier.Trust
	managed, locked, implicit bool
}

func (st standing) apply(s *pannier.Skill) {
	s.TrustLevel, s.Managed, s.Locked, s.Implicit = st.trust, st.managed, st.locked, st.implicit
}

// standingOf returns what a skill has from the lock file. An entry that is about another slug or another SKILL.md gives no trust:
// what lies there now is trusted no more than what was put into the root by hand.
func (t *tree) standingOf(s *pannier.Skill) standing {
	trust, managed := t.trustOf(s.PathBelowRoot)
	e := t.lock.entries[s.PathBelowRoot]
	mine := e.slug == s.Slug && e.digest == s.Digest
	if managed && !mine && !t.root.Trust.AtLeast(trust) {
		trust = t.root.Trust
	}
	return standing{
		trust: trust, managed: managed, locked: managed && !t.lock.failed && e.vouches && mine, implicit: t.root.Implicit && !managed,
	}
}

// applyEntry sets what a skill has from the lock file.
func (t *tree) applyEntry(s *pannier.Skill) { t.standingOf(s).apply(s) }
