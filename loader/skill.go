package loader

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/internal/yamldoc"
)

// found is what is known of one skill directory.
type found struct {
	file string // the name of its SKILL.md
	// target is where SKILL.md really lies, where it is a link.
	target string
	// stats are those of SKILL.md and _meta.json when they were last read, at lookedAt; a missing _meta.json has a zero
	// one. proven says that equal stats mean equal files.
	stat, meta fileStat
	lookedAt   time.Time
	proven     bool

	skill *pannier.Skill // as it goes into the catalog
	good  *pannier.Skill // as it was when it last could be used
}

// refresh brings a skill up to date. st is the stat of its SKILL.md, of a link that of the link.
func (s *scan) refresh(n *node, st fileStat, r *reader) {
	f := n.skill
	if st.isLink() {
		st = s.follow(n, st)
	} else {
		f.target = ""
	}
	metaStat := s.metaStat(n)
	if f.skill != nil && f.proven && st == f.stat && metaStat == f.meta {
		return
	}
	read := r.read(n, st, metaStat)
	f.stat, f.meta, f.lookedAt = read.stat, read.metaStat, s.now
	f.proven = read.quiet && read.stat.proves(s.now) && read.metaStat.proves(s.now)
	s.settle(f, read.skill)
}

// settle decides which skill goes into the catalog after a reading.
func (s *scan) settle(f *found, read *pannier.Skill) {
	switch {
	case !read.Broken:
		f.good = read
	case f.good != nil:
		read = lastGood(f.good, read)
	}
	read.Sum = sum(read)
	if f.skill == nil || f.skill.Sum != read.Sum {
		f.skill = read
	}
	if !f.skill.Broken && !f.skill.LastGood {
		f.good = f.skill
	}
}

// lastGood returns the skill as it last was, with what is wrong with it now.
func lastGood(good, broken *pannier.Skill) *pannier.Skill {
	s := *good
	s.LastGood = true
	s.Problems = broken.Problems
	s.FileDigest, s.MetaFileDigest = broken.FileDigest, broken.MetaFileDigest
	return &s
}

// sum digests everything that a skill in the catalog was made from.
func sum(s *pannier.Skill) pannier.Digest {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%s\x00%s\x00%d\x00%t%t%t\x00", s.Path, s.File, s.SourceKind, s.RootIndex, s.Implicit, s.LastGood, s.Broken)
	for _, d := range []pannier.Digest{s.Digest, s.MetaDigest, s.FileDigest, s.MetaFileDigest} {
		h.Write(d[:])
	}
	if s.Broken || s.LastGood {
		for _, p := range s.Problems {
			io.WriteString(h, p.String())
		}
	}
	return pannier.Digest(h.Sum(nil))
}

// follow returns the stat of the file that a link leads to, within the root, and notes where that is.
func (s *scan) follow(n *node, link fileStat) fileStat {
	info, err := s.root.Stat(path.Join(n.rel, n.skill.file))
	if err != nil {
		return link // reading it says what is wrong
	}
	target, err := filepath.EvalSymlinks(filepath.Join(n.abs, n.skill.file))
	if err == nil && target != n.skill.target {
		n.skill.target, n.moved = target, true
	}
	if st, ok := info.Sys().(*unixStat); ok {
		return fromSys(st)
	}
	return link
}

// metaStat returns the stat of the skill's _meta.json, zero where there is none.
func (s *scan) metaStat(n *node) fileStat {
	st, err := statAt(s.fd, path.Join(n.rel, pannier.MetaFile))
	if err != nil {
		return fileStat{}
	}
	if st.isLink() {
		info, err := s.root.Stat(path.Join(n.rel, pannier.MetaFile))
		if err != nil {
			return fileStat{}
		}
		if sys, ok := info.Sys().(*unixStat); ok {
			return fromSys(sys)
		}
	}
	return st
}

// reader reads skills, one at a time, into a buffer that it keeps.
type reader struct {
	scan    *scan
	buf     []byte // of SKILL.md
	metaBuf []byte // of _meta.json
	hash    hash.Hash
}

func newReader(s *scan) *reader {
	return &reader{scan: s, buf: make([]byte, s.tree.rules.MaxFrontmatterBytes+4<<10), metaBuf: make([]byte, maxMetaBytes), hash: sha256.New()}
}

// reading is what one pass over a skill's files gave.
type reading struct {
	skill          *pannier.Skill
	stat, metaStat fileStat
	quiet          bool // nothing moved between the look before and the look after
}

// readTries is how often a skill is read again because somebody wrote to it meanwhile. What still moves then is taken as
// it is, and looked at again at the next opportunity.
const readTries = 3

func (r *reader) read(n *node, st, metaStat fileStat) reading {
	for try := 1; ; try++ {
		skill := r.blank(n)
		fileAfter, front := r.readFile(n, skill, st)
		metaAfter, m, metaText := r.readMeta(n, skill, metaStat)
		quiet := fileAfter == st && metaAfter == metaStat
		if quiet || try == readTries {
			r.finish(skill, front, m, metaText)
			return reading{skill: skill, stat: fileAfter, metaStat: metaAfter, quiet: quiet}
		}
		st, metaStat = fileAfter, metaAfter
	}
}

// blank returns the skill that a directory holds before anything of it is read.
func (r *reader) blank(n *node) *pannier.Skill {
	root := r.scan.tree.root
	return &pannier.Skill{
		Path: path.Join(root.Name, n.rel), Root: root.Name, SourceKind: root.Kind, Implicit: root.Implicit,
		RootIndex: r.scan.tree.index, PathBelowRoot: n.rel, Folder: n.name, File: n.skill.file,
		UserInvocable: true,
	}
}

// readFile reads SKILL.md up to the closing fence, streams the rest through the digest, and returns the stat after that.
func (r *reader) readFile(n *node, skill *pannier.Skill, before fileStat) (fileStat, parts) {
	if !before.isRegular() && !before.isLink() {
		r.refuse(skill, "skill.file.kind", "SKILL.md is "+before.what(), "put a regular file in its place")
		return before, parts{}
	}
	file, err := r.open(path.Join(n.rel, n.skill.file))
	if err != nil {
		r.refuse(skill, "skill.file.unreadable", "SKILL.md can not be read: "+cause(err), "make it readable for the user that pannier runs as; a link must stay within its root")
		return before, parts{}
	}
	defer file.Close()
	opened, err := statOpen(int(file.Fd()))
	if err != nil || !opened.isRegular() {
		r.refuse(skill, "skill.file.kind", "SKILL.md is "+opened.what(), "put a regular file in its place")
		return before, parts{}
	}
	if limit := r.scan.tree.rules.MaxSkillBytes; opened.size > limit {
		r.refuse(skill, "skill.file.too_long", fmt.Sprintf("SKILL.md has %d bytes, more than %d", opened.size, limit), "move what is not needed at once into files beside it; the bound is max_skill_bytes")
		return opened, parts{}
	}
	text, whole, err := r.digest(file, opened.size)
	if err != nil {
		r.refuse(skill, "skill.file.unreadable", "SKILL.md can not be read: "+cause(err), "check the disk and the file's permissions")
		return opened, parts{}
	}
	r.hash.Sum(skill.FileDigest[:0])
	skill.Digest = skill.FileDigest
	after, err := statOpen(int(file.Fd()))
	if err != nil {
		after = opened
	}
	return after, r.cut(skill, text, whole)
}

// open opens a file below the root without ever waiting for a writer of a FIFO.
func (r *reader) open(rel string) (*os.File, error) {
	return r.scan.root.OpenFile(rel, os.O_RDONLY|unix.O_NONBLOCK, 0)
}

// digest reads the beginning of a file into the buffer and all of it into the hash. whole says that the buffer has it
// all; never more than the bound is read, however the file grows meanwhile.
func (r *reader) digest(file *os.File, size int64) (text []byte, whole bool, err error) {
	r.hash.Reset()
	n, err := io.ReadFull(file, r.buf[:min(int64(len(r.buf)), size)])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, false, err
	}
	text = r.buf[:n]
	r.hash.Write(text)
	if int64(n) == size {
		return text, true, nil
	}
	rest, err := io.Copy(r.hash, io.LimitReader(file, r.scan.tree.rules.MaxSkillBytes-int64(n)))
	return text, rest == 0, err
}

// cut finds the frontmatter in what was read.
func (r *reader) cut(skill *pannier.Skill, text []byte, whole bool) parts {
	rules := r.scan.tree.rules
	p, warnings, fault := cut(text, whole, rules.MaxFrontmatterBytes)
	for _, w := range warnings {
		skill.Problems = append(skill.Problems, w.problem(skill.FilePath(), pannier.SeverityWarning))
	}
	if skill.File != pannier.SkillFile {
		skill.Problems = append(skill.Problems, pannier.Problem{
			Code: "skill.file.case", Severity: pannier.SeverityWarning, Path: skill.FilePath(),
			Message: "the file is called " + skill.File, Hint: "call it SKILL.md; most agents look for exactly that",
		})
	}
	switch {
	case fault == nil:
	case fault == faultNoFrontmatter && rules.AllowMissingFrontmatter:
		skill.Problems = append(skill.Problems, fault.problem(skill.FilePath(), pannier.SeverityWarning))
	default:
		skill.Problems = append(skill.Problems, fault.problem(skill.FilePath(), pannier.SeverityError))
		skill.Broken = true
	}
	if whole && fault == nil && len(bytes.TrimSpace(p.body)) == 0 {
		skill.Problems = append(skill.Problems, pannier.Problem{
			Code: "skill.body.empty", Severity: pannier.SeverityWarning, Path: skill.FilePath(),
			Message: "there are no instructions behind the frontmatter", Hint: "write what the agent shall do below the closing `---`",
		})
	}
	return p
}

// readMeta reads _meta.json where there is one.
func (r *reader) readMeta(n *node, skill *pannier.Skill, before fileStat) (fileStat, meta, []byte) {
	if before == (fileStat{}) {
		return before, meta{}, nil
	}
	rel := path.Join(n.rel, pannier.MetaFile)
	shown := path.Join(skill.Path, pannier.MetaFile)
	text, after, err := r.slurp(rel, before)
	if err != nil {
		skill.Problems = append(skill.Problems, pannier.Problem{
			Code: "meta.unreadable", Severity: pannier.SeverityWarning, Path: shown,
			Message: "the file can not be read: " + cause(err), Hint: fmt.Sprintf("make it a readable regular file of at most %d bytes, or remove it", maxMetaBytes),
		})
		return after, meta{}, nil
	}
	skill.MetaFileDigest = pannier.DigestOf(text)
	m, problems := parseMeta(text, shown)
	skill.Problems = append(skill.Problems, problems...)
	return after, m, text
}

var errTooLong = fmt.Errorf("it has more than %d bytes", maxMetaBytes)

// slurp reads a small regular file whole and returns its stat after that.
func (r *reader) slurp(rel string, before fileStat) ([]byte, fileStat, error) {
	file, err := r.open(rel)
	if err != nil {
		return nil, before, err
	}
	defer file.Close()
	opened, err := statOpen(int(file.Fd()))
	switch {
	case err != nil:
		return nil, before, err
	case !opened.isRegular():
		return nil, before, fs.ErrInvalid
	case opened.size > maxMetaBytes:
		return nil, opened, errTooLong
	}
	n, err := io.ReadFull(file, r.metaBuf[:opened.size])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, opened, err
	}
	after, err := statOpen(int(file.Fd()))
	return r.metaBuf[:n], after, err
}

// refuse marks a skill as one that can not be used.
func (r *reader) refuse(skill *pannier.Skill, code, message, hint string) {
	skill.Broken = true
	skill.Problems = append(skill.Problems, pannier.Problem{
		Code: code, Severity: pannier.SeverityError, Path: skill.FilePath(), Message: message, Hint: hint,
	})
}

// finish parses what was read. front points into the reader's buffer; nothing of it is kept.
func (r *reader) finish(skill *pannier.Skill, p parts, m meta, metaText []byte) {
	skill.MetaDigest = metaDigest(p.front, metaText)
	front, faults, err := yamldoc.Parse(linesToLF(p.front))
	c := &contract{front: front, path: skill.FilePath(), offset: max(0, p.line-1)}
	if err != nil && !skill.Broken {
		c.syntax(err)
		skill.Broken = true
	}
	for _, f := range faults {
		c.problems = append(c.problems, c.fault("skill.frontmatter.repeated_key", pannier.SeverityWarning, &f))
	}
	if skill.Broken {
		c.nameOnly(skill, m)
	} else {
		c.fill(skill, m)
	}
	skill.Problems = append(skill.Problems, c.problems...)
	slices.SortStableFunc(skill.Problems, pannier.CompareProblems)
}

// metaDigest is that of the frontmatter block and _meta.json, with their lengths, so that no byte can change sides.
func metaDigest(front, metaText []byte) pannier.Digest {
	h := sha256.New()
	fmt.Fprintf(h, "%d %d\n", len(front), len(metaText))
	h.Write(front)
	h.Write(metaText)
	return pannier.Digest(h.Sum(nil))
}

// syntax adds the problem of a frontmatter that is not YAML.
func (c *contract) syntax(err error) {
	var f *yamldoc.Fault
	if !errors.As(err, &f) {
		f = &yamldoc.Fault{Message: err.Error(), Hint: "check the frontmatter"}
	}
	c.problems = append(c.problems, c.fault("skill.frontmatter.syntax", pannier.SeverityError, f))
}

func (c *contract) fault(code string, severity pannier.Severity, f *yamldoc.Fault) pannier.Problem {
	p := pannier.Problem{Code: code, Severity: severity, Path: c.path, Message: f.Message, Hint: f.Hint, Column: f.Column}
	if f.Line > 0 {
		p.Line = f.Line + c.offset
	}
	return p
}

// nameOnly gives a skill that can not be read the identity that its folder and _meta.json still tell.
func (c *contract) nameOnly(skill *pannier.Skill, m meta) {
	skill.Name = firstText(m.displayName, skill.Folder)
	skill.Version = m.version
	c.identity(skill, m)
}
