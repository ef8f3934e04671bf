package loader

import (
	"strconv"

	"pannier"
	"pannier/internal/fsx"
)

// skillRecord is what is known of one skill directory.
type skillRecord struct {
	file string // the name of its SKILL.md
	// linked says that SKILL.md or _meta.json is a link, so that what is read changes without the directory.
	linked bool
	proven bool // equal stats mean equal files
	// stats are those of SKILL.md and _meta.json when they were last read; a missing _meta.json has a zero one.
	stat, meta fsx.Stamp

	skill *pannier.Skill // as it goes into the catalog
	good  *pannier.Skill // as it was when it last could be used
}

// refresh brings a skill up to date, and reports whether there is one still. st is the stat of its SKILL.md, of a link that of
// the link.
func (s *treeScan) refresh(n *node, st fsx.Stamp, r *reader) bool {
	f := n.record
	f.linked = st.IsSymlink()
	var chainDirs []string
	if f.linked {
		r.recordVolume(n)
		chainDirs = r.appendFileChain(chainDirs, n.at(f.file))
		st = s.follow(n, st)
	}
	metaStat, linked := s.metaStat(n)
	if linked {
		f.linked = true
		chainDirs = r.appendFileChain(chainDirs, n.at(pannier.MetaFile))
	}
	n.setChainDirs(chainDirs)
	if f.skill != nil && f.proven && st == f.stat && metaStat == f.meta && (!s.thorough || r.matchesDisk(n, st, metaStat)) {
		return true
	}
	r.fresh = append(r.fresh, n)
	read := skillReading{skill: r.restore(n, st, metaStat), stat: st, metaStat: metaStat, quiet: true}
	known := read.skill != nil
	if !known {
		read = r.read(n, st, metaStat)
	}
	if read.gone {
		return false
	}
	f.stat, f.meta = read.stat, read.metaStat
	f.proven = read.quiet && isProof(read.stat, s.now) && isProof(read.metaStat, s.now)
	s.commitSkill(f, read.skill)
	r.parsed = r.parsed || !known && s.tree.isCacheable(f)
	return true
}

// matchesDisk reports whether the files of a skill are, to the byte, what the catalog has of them.
func (r *reader) matchesDisk(n *node, st, metaStat fsx.Stamp) bool {
	known := n.record.skill
	if known.FileDigest.IsZero() {
		return false // it could not be read
	}
	file, err := r.open(n.at(n.record.file))
	if err != nil {
		return false
	}
	defer file.close()
	var now pannier.Digest
	if _, _, err := r.digest(file, st.Size); err != nil || pannier.Digest(r.hash.Sum(now[:0])) != known.FileDigest {
		return false
	}
	if metaStat == (fsx.Stamp{}) {
		return known.MetaFileDigest.IsZero()
	}
	text, _, err := r.slurp(n.at(pannier.MetaFile), metaStat, maxMetaBytes)
	return err == nil && pannier.DigestOf(text) == known.MetaFileDigest
}

// commitSkill decides which skill goes into the catalog after a reading.
func (s *treeScan) commitSkill(f *skillRecord, read *pannier.Skill) {
	if f.good == nil && read.Broken {
		f.good = s.tree.lastKnown(read.PathBelowRoot)
	}
	switch {
	case !read.Broken:
		f.good = read
	case f.good != nil:
		read = lastGood(f.good, read)
	}
	s.tree.applyEntry(read)
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

// sum digests everything that a skill in the catalog was made from. scripts are the tools of one that has nothing else.
func sum(s *pannier.Skill, scripts ...string) pannier.Digest {
	b := make([]byte, 0, 512)
	for _, text := range []string{s.Path, s.File, string(s.SourceKind), string(s.TrustLevel)} {
		b = append(append(b, text...), 0)
	}
	b = strconv.AppendInt(b, int64(s.RootIndex), 10)
	for _, is := range []bool{s.Implicit, s.LastGood, s.Broken, s.Managed, s.Locked} {
		b = strconv.AppendBool(append(b, 0), is)
	}
	for _, d := range []*pannier.Digest{&s.Digest, &s.MetaDigest, &s.FileDigest, &s.MetaFileDigest} {
		b = append(b, d[:]...)
	}
	for i := range s.Problems { // they tell apart what has no digest: a file that is missing from one that cannot be read
		p := &s.Problems[i]
		b = append(append(append(append(b, p.String()...), 0), p.Field...), 0)
	}
	b = append(b, s.Target...)
	for _, name := range scripts {
		b = append(append(b, name...), 0)
	}
	return pannier.DigestOf(b)
}

// follow returns the stat of the file that a link leads to, within the root.
func (s *treeScan) follow(n *node, link fsx.Stamp) fsx.Stamp {
	st, err := s.statIn(n.at(n.record.file))
	if err != nil {
		return link // reading it says what is wrong
	}
	return st
}

// metaStat returns the stat of the _meta.json in a directory, zero where there is none, and whether that is a link.
func (s *treeScan) metaStat(n *node) (st fsx.Stamp, linked bool) {
	rel := n.at(pannier.MetaFile)
	st, err := fsx.LstatAt(s.fd, rel)
	if err != nil {
		return fsx.Stamp{}, false
	}
	if !st.IsSymlink() {
		return st, false
	}
	if target, err := s.statIn(rel); err == nil {
		return target, true
	}
	return st, true // reading it says what is wrong
}
