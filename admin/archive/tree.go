package archive

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"pannier"
)

const skillFile = "SKILL.md"

// entry is a file or directory as declared in an archive.
type entry struct {
	name       string
	dir        bool
	executable bool
	size       int64
}

// kind is the kind of a path.
type kind int

// An implied directory, which only occurs in the path of another entry, can still get its own entry.
const (
	absent kind = iota
	file
	directory
	impliedDirectory
)

// tree checks the entries of an archive and decides where they are written.
type tree struct {
	limits Limits
	// flat says that the archive has no top-level directory.
	flat bool
	top  string
	// depth is the number of components of the skill directory, if it was found before; zero if it is the top-level
	// directory.
	depth int
	// entries counts the entries, total their declared bytes.
	entries int
	total   int64
	// kinds has the paths below the skill directory, spelled the paths by their folded form.
	kinds   map[string]kind
	spelled map[string]string
	ignored []string
}

func newTree(l Limits) *tree {
	return &tree{limits: l, kinds: map[string]kind{}, spelled: map[string]string{}}
}

// admit checks the next entry, and returns its path below the skill directory, empty if nothing is to be written.
func (t *tree) admit(e entry) (string, error) {
	if err := t.count(e); err != nil {
		return "", err
	}
	parts, err := split(e.name)
	if err != nil {
		return "", err
	}
	switch {
	case len(parts) == 0 && !e.dir:
		return "", refuseEntry("name_empty", e.name, "is a file without a name")
	case isDesktopFile(parts):
		t.ignored = append(t.ignored, strings.Join(parts, "/"))
		return "", nil
	case len(parts) == 0:
		return "", nil
	}
	below, err := t.below(e, parts)
	if err != nil {
		return "", err
	}
	return t.addPath(e, below)
}

func (t *tree) begin(names []string) {
	t.flat = slices.ContainsFunc(names, func(name string) bool { return path.Clean(name) == skillFile })
}

func (t *tree) failed(_ entry, fault error) error { return fault }

func (t *tree) limit() Limits { return t.limits }

// count checks an entry against the limits.
func (t *tree) count(e entry) error {
	if t.entries++; t.entries > t.limits.MaxEntries {
		return t.tooMany()
	}
	t.total += e.size
	switch {
	case e.dir && e.size != 0:
		return refuseEntry("directory_data", e.name, "is a directory with %d bytes", e.size)
	case e.size < 0 || e.size > t.limits.MaxFile:
		return refuseEntry("file_size", e.name, "has %d bytes; at most %d are allowed", e.size, t.limits.MaxFile)
	case t.total > t.limits.MaxUncompressed:
		return refuseEntry("total_size", e.name, "exceeds the limit: all files together may have %d bytes", t.limits.MaxUncompressed)
	}
	return nil
}

func (t *tree) tooMany() error {
	return refuse("entries", fmt.Sprintf("the archive has more than %d entries", t.limits.MaxEntries))
}

// below removes the top-level directory.
func (t *tree) below(e entry, parts []string) ([]string, error) {
	if t.flat {
		return parts, nil
	}
	if t.depth > 0 {
		if len(parts) == t.depth && !e.dir {
			return nil, refuseEntry("conflict", e.name, "is a file where the directory of a skill is")
		}
		return parts[t.depth:], nil
	}
	if t.top == "" {
		t.top = parts[0]
	}
	switch {
	case parts[0] != t.top:
		return nil, refuseEntry("top_level", e.name, "is not in %s, the top-level directory of the entries before it", quote(t.top))
	case len(parts) == 1 && !e.dir:
		return nil, refuseEntry("top_level", e.name, "is a file where the one top-level directory must be")
	}
	return parts[1:], nil
}

// addPath records a path and its parent directories.
func (t *tree) addPath(e entry, parts []string) (string, error) {
	if len(parts) > 0 && foldPath(parts[0]) == pannier.OwnDir {
		return "", refuseEntry("reserved", e.name, "is in the directory that is reserved for pannier")
	}
	for i, part := range parts {
		if isVersionControl(part, e.dir || i < len(parts)-1) {
			return "", refuseEntry("reserved", e.name, "is, or is in, the directory of a version control system")
		}
	}
	for i := 1; i < len(parts); i++ {
		if err := t.record(e.name, strings.Join(parts[:i], "/"), impliedDirectory); err != nil {
			return "", err
		}
	}
	is := file
	if e.dir {
		is = directory
	}
	rel := path.Join(parts...)
	if err := t.record(e.name, rel, is); err != nil {
		return "", err
	}
	return rel, nil
}

// record records the kind of a path, and refuses a contradiction to an earlier entry.
func (t *tree) record(name, rel string, is kind) error {
	switch was := t.kinds[rel]; {
	case was == absent:
		if len(t.kinds) >= t.limits.MaxEntries+1 { // one is the skill directory
			return t.tooMany()
		}
		key := foldPath(rel)
		if other, ok := t.spelled[key]; ok {
			return refuseEntry("collision", name, "collides with %s: they differ only in case or Unicode form", quote(other))
		}
		t.kinds[rel], t.spelled[key] = is, rel
		return nil
	case (was == file) != (is == file):
		return refuseEntry("conflict", name, "makes %s both a file and a directory", quote(rel))
	case is == impliedDirectory:
		return nil
	case was == impliedDirectory:
		t.kinds[rel] = is
		return nil
	}
	return refuseEntry("duplicate", name, "is in the archive twice")
}
