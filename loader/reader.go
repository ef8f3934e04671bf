package loader

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/internal/fsx"
	"pannier/loader/repair"
)

// reader reads skills, one at a time, into a buffer that it keeps.
type reader struct {
	scan    *treeScan
	buf     []byte // of SKILL.md
	metaBuf []byte // of _meta.json, and for what is only streamed
	hash    hash.Hash
	room    arena             // of what stays
	texts   map[string]string // that restored skills share
	parsed  bool              // there is something new for a cache

	// volumes and links are those that were followed, and fresh the directories of which something else is known now.
	volumes, links linkTargets
	fresh          []*node
}

// readBuffers are the buffers of readers whose scan has ended.
var readBuffers sync.Pool

func newReader(s *treeScan) *reader {
	size := int(s.tree.rules.MaxFrontmatterBytes + 4<<10)
	var buf []byte
	if pooled, _ := readBuffers.Get().(*[]byte); pooled != nil && len(*pooled) >= size {
		buf = *pooled
	} else {
		buf = make([]byte, size)
	}
	return &reader{
		scan: s, buf: buf[:size], metaBuf: make([]byte, 8<<10), hash: sha256.New(),
		texts: map[string]string{}, volumes: linkTargets{}, links: linkTargets{},
	}
}

// skillReading is the result of one pass over a skill's files.
type skillReading struct {
	skill          *pannier.Skill
	stat, metaStat fsx.Stamp
	quiet          bool // nothing moved between the scan before and the scan after
	gone           bool // SKILL.md does not exist any more
}

// readTries is how often a skill is read again if it was written to meanwhile. What still moves then is taken as
// it is, and read again at the next scan.
const readTries = 3

func (r *reader) read(n *node, st, metaStat fsx.Stamp) skillReading {
	for try := 1; ; try++ {
		skill := r.blank(n, n.record.file)
		fileAfter, front := r.readFile(n, skill, st)
		metaAfter, m, metaText := r.readMeta(n, skill, metaStat)
		fileNow, gone := r.scan.skillStat(n, st)
		metaNow, _ := r.scan.metaStat(n)
		// What was opened may have held still while its names came to lead elsewhere, the one of _meta.json before it was read.
		quiet := fileAfter == st && metaAfter == metaStat && fileNow == st && metaNow == metaStat
		if quiet || try == readTries {
			r.finish(skill, front, m, metaText)
			return skillReading{skill: skill, stat: fileAfter, metaStat: metaAfter, quiet: quiet, gone: gone}
		}
		st, metaStat = fileNow, metaNow
	}
}

// skillStat returns the stat of the SKILL.md of a skill by its name, and whether there is none any more. Where it cannot be
// told it is the one before.
func (s *treeScan) skillStat(n *node, before fsx.Stamp) (st fsx.Stamp, gone bool) {
	st, err := fsx.LstatAt(s.fd, n.at(n.record.file))
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errNotDir):
		return fsx.Stamp{}, true
	case err != nil:
		return before, false
	case st.IsSymlink():
		return s.follow(n, st), false
	}
	return st, false
}

// unopened returns the stat of a file that cannot be opened: where it was there a moment ago and is not any more, or not to be
// reached, one that equals no other, so that it is searched again.
func unopened(before fsx.Stamp, err error) fsx.Stamp {
	gone := errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir) || errors.Is(err, unix.ELOOP) || fsx.EscapesRoot(err)
	if gone && !before.IsSymlink() { // a link that leads nowhere is as it was
		return fsx.Stamp{FileID: fsx.FileID{Dev: math.MaxUint64, Ino: math.MaxUint64}}
	}
	return before
}

// blank returns the skill that a directory holds before anything of it is read. file is the name of its SKILL.md.
func (r *reader) blank(n *node, file string) *pannier.Skill {
	root, skill := r.scan.tree.root, r.room.skill()
	*skill = pannier.Skill{
		Path: n.shown(root), Root: root.Name, SourceKind: root.Kind, Implicit: root.Implicit,
		RootIndex: r.scan.tree.index, PathBelowRoot: n.rel, Folder: n.name, File: file,
		UserInvocable: true,
	}
	if n.linked {
		target, _, _ := r.scan.readLink(n.rel) // reading the skill fails too if this does
		if target != "" && !path.IsAbs(target) {
			target = path.Join(path.Dir(n.abs), target)
		}
		skill.Target = strings.TrimPrefix(target, r.scan.tree.rules.Workspace+"/")
	}
	return skill
}

// readFile reads SKILL.md up to the closing fence, streams the rest through the digest, and returns the stat after that.
func (r *reader) readFile(n *node, skill *pannier.Skill, before fsx.Stamp) (fsx.Stamp, parts) {
	if before != (fsx.Stamp{}) && !before.IsRegular() && !before.IsSymlink() {
		r.refuse(skill, "skill.file.kind", "SKILL.md is "+before.KindName(), "put a regular file in its place")
		return before, parts{}
	}
	file, err := r.open(n.at(n.record.file))
	if err != nil {
		r.refuse(skill, "skill.file.unreadable", "SKILL.md cannot be read: "+fsx.Cause(err).Error(), "make it readable for the user that pannier runs as; a link must stay within its root")
		return unopened(before, err), parts{}
	}
	defer file.close()
	opened, err := file.stat()
	if err != nil || !opened.IsRegular() {
		r.refuse(skill, "skill.file.kind", "SKILL.md is "+opened.KindName(), "put a regular file in its place")
		return before, parts{}
	}
	if r.isPlanted(n, file) {
		r.refuse(skill, "skill.file.unreadable", "SKILL.md is a link to a file of another user than its directory", "put a copy of the file in its place")
		return opened, parts{}
	}
	if limit := r.scan.tree.rules.MaxSkillBytes; opened.Size > limit {
		r.refuse(skill, "skill.file.too_long", fmt.Sprintf("SKILL.md has %d bytes, more than %d", opened.Size, limit), "move what is not needed at once into files beside it")
		return opened, parts{}
	}
	text, rest, err := r.digest(file, opened.Size)
	if err != nil {
		r.refuse(skill, "skill.file.unreadable", "SKILL.md cannot be read: "+fsx.Cause(err).Error(), "check the disk and the file's permissions")
		return opened, parts{}
	}
	r.hash.Sum(skill.FileDigest[:0])
	skill.Digest = skill.FileDigest
	after, err := file.stat()
	if err != nil {
		after = opened
	}
	return after, r.cut(skill, text, rest)
}

// isPlanted reports whether the owner of a skill directory, an ordinary user, made a link of SKILL.md to a file of another user, which
// they need not be allowed to read. What link_targets names is the choice of the operator.
func (r *reader) isPlanted(n *node, file openFile) bool {
	if len(r.scan.tree.root.LinkTargets) > 0 && file.file != nil {
		return false
	}
	var of, in, entry unix.Stat_t
	if unix.Fstat(file.fd, &of) != nil || unix.Fstatat(r.scan.fd, path.Join(".", n.rel), &in, 0) != nil {
		return true // it was moved meanwhile
	}
	if !isOthers(&of, &in) {
		return false
	}
	// Where the entry is another file now, it was a link, or was replaced meanwhile.
	return unix.Fstatat(r.scan.fd, n.at(n.record.file), &entry, unix.AT_SYMLINK_NOFOLLOW) != nil || entry.Dev != of.Dev || entry.Ino != of.Ino
}

// rest is what is known of the part of a file that is streamed and not kept.
type rest struct {
	size int64
	nul  bool // there is a NUL byte in it
}

// Write implements [io.Writer].
func (r *rest) Write(b []byte) (int, error) {
	r.size += int64(len(b))
	r.nul = r.nul || bytes.IndexByte(b, 0) >= 0
	return len(b), nil
}

// digest reads the beginning of a file into the buffer and all of it into the hash. Never more than the bound is read,
// however the file grows meanwhile.
func (r *reader) digest(file openFile, size int64) (text []byte, rest rest, err error) {
	r.hash.Reset()
	n, err := io.ReadFull(file, r.buf[:min(int64(len(r.buf)), size)])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, rest, err
	}
	r.hash.Write(r.buf[:n])
	if int64(n) == size {
		return r.buf[:n], rest, nil
	}
	more := io.LimitReader(file, r.scan.tree.rules.MaxSkillBytes-int64(n))
	_, err = io.CopyBuffer(io.MultiWriter(r.hash, &rest), more, r.metaBuf)
	return r.buf[:n], rest, err
}

// cut finds the frontmatter in what was read.
func (r *reader) cut(skill *pannier.Skill, text []byte, rest rest) parts {
	rules := r.scan.tree.rules
	whole := rest.size == 0
	p, warnings, fault := cut(text, whole, rules.MaxFrontmatterBytes)
	if rest.nul && (fault == nil || fault.code != codeNUL) { // before every other fault, as in cut
		fault = nulFault(0)
	}
	p.whole = whole
	for _, w := range warnings {
		skill.Problems = append(skill.Problems, w.problem(skill.FilePath(), pannier.SeverityWarning))
	}
	if skill.File != pannier.SkillFile {
		skill.Problems = append(skill.Problems, pannier.Problem{
			Code: "skill.file.case", Severity: pannier.SeverityWarning, Path: skill.FilePath(),
			Message: "the file is called " + skill.File, Hint: "call it SKILL.md; most agents look for exactly that",
		})
	}
	if fault == nil {
		return p
	}
	problem := fault.problem(skill.FilePath(), pannier.SeverityError)
	if fault == faultUnclosed {
		_, unread := nextLine(p.body)
		problem.Message += describeGuess(repair.Look(linesToLF(unread)))
	}
	if rules.AllowMissingFrontmatter && (fault == faultNoFrontmatter || fault == faultUnclosed) {
		problem.Severity = pannier.SeverityWarning
	} else {
		skill.Broken = true
	}
	skill.Problems = append(skill.Problems, problem)
	return p
}

// readMeta reads _meta.json where there is one.
func (r *reader) readMeta(n *node, skill *pannier.Skill, before fsx.Stamp) (fsx.Stamp, meta, []byte) {
	if before == (fsx.Stamp{}) {
		return before, meta{}, nil
	}
	rel := n.at(pannier.MetaFile)
	shown := path.Join(skill.Path, pannier.MetaFile)
	text, after, err := r.slurp(rel, before, maxMetaBytes)
	if err != nil {
		skill.Problems = append(skill.Problems, pannier.Problem{
			Code: "meta.unreadable", Severity: pannier.SeverityWarning, Path: shown,
			Message: "the file cannot be read: " + fsx.Cause(err).Error(), Hint: fmt.Sprintf("make it a readable regular file of at most %d bytes, or remove it", maxMetaBytes),
		})
		return after, meta{}, nil
	}
	skill.MetaFileDigest = pannier.DigestOf(text)
	m, problems := parseMeta(text, shown)
	skill.Problems = append(skill.Problems, problems...)
	return after, m, text
}

// slurp reads a regular file of at most limit bytes whole, and returns its stat after that.
func (r *reader) slurp(rel string, before fsx.Stamp, limit int64) ([]byte, fsx.Stamp, error) {
	if !before.IsRegular() && !before.IsSymlink() {
		return nil, before, errors.New("it is " + before.KindName())
	}
	file, err := r.open(rel)
	if err != nil {
		return nil, unopened(before, err), err
	}
	defer file.close()
	opened, err := file.stat()
	switch {
	case err != nil:
		return nil, before, err
	case !opened.IsRegular():
		return nil, before, errors.New("it is " + opened.KindName())
	case opened.Size > limit:
		return nil, opened, fmt.Errorf("it has more than %d bytes", limit)
	}
	if int64(len(r.metaBuf)) < opened.Size {
		r.metaBuf = make([]byte, max(opened.Size, maxMetaBytes))
	}
	n, err := io.ReadFull(file, r.metaBuf[:opened.Size])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, opened, err
	}
	after, err := file.stat()
	return r.metaBuf[:n], after, err
}

// refuse marks a skill as one that cannot be used.
func (r *reader) refuse(skill *pannier.Skill, code, message, hint string) {
	skill.Broken = true
	skill.Problems = append(skill.Problems, pannier.Problem{
		Code: code, Severity: pannier.SeverityError, Path: skill.FilePath(), Message: message, Hint: hint,
	})
}

// finish parses what was read. front points into the reader's buffer; nothing of it is kept.
func (r *reader) finish(skill *pannier.Skill, p parts, m meta, metaText []byte) {
	c := &contract{path: skill.FilePath(), offset: max(0, p.line-1)}
	if !skill.Broken {
		p = c.parse(skill, p)
	}
	skill.MetaDigest = r.metaDigest(p.front, metaText)
	if skill.Broken {
		c.nameOnly(skill, m)
	} else {
		c.fill(skill, m)
		skill.RuntimeTools = c.runtimeTools(skill, p)
		if p.line > 0 && p.isEmpty() {
			c.problems = append(c.problems, pannier.Problem{
				Code: pannier.CodeEmptyBody, Severity: pannier.SeverityWarning, Path: c.path,
				Message: "there are no instructions after the frontmatter", Hint: "write what the agent shall do below the closing `---`",
			})
		}
	}
	skill.Problems = append(skill.Problems, c.problems...)
	validate(skill, r.scan.tree.rules.Block, c.front, p)
	skill.Problems = slices.Clip(skill.Problems)
	slices.SortStableFunc(skill.Problems, pannier.CompareProblems)
	r.room.pack(skill)
}

// metaDigest is that of the frontmatter block and _meta.json, with their lengths, so that no byte can change sides.
func (r *reader) metaDigest(front, metaText []byte) (d pannier.Digest) {
	r.hash.Reset()
	fmt.Fprintf(r.hash, "%d %d\n", len(front), len(metaText))
	r.hash.Write(front)
	r.hash.Write(metaText)
	r.hash.Sum(d[:0])
	return d
}

// nameOnly gives a skill that cannot be read the identity that its folder and _meta.json still tell.
func (c *contract) nameOnly(skill *pannier.Skill, m meta) {
	skill.Name = firstText(m.displayName, skill.Folder)
	skill.Version = m.version
	c.identity(skill, m)
}

// reader returns the reader of the goroutine with that number.
func (s *treeScan) reader(i int) *reader {
	for len(s.readers) <= i {
		s.readers = append(s.readers, newReader(s))
	}
	return s.readers[i]
}
