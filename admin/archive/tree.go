package archive

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"pannier"
)

// skillFile is what makes a directory a skill.
const skillFile = "SKILL.md"

// entry is what an archive says of one of its files or directories.
type entry struct {
	name       string
	dir        bool
	executable bool
	size       int64
}

// kind is what a path of the skill is.
type kind int

// The kinds. A directory that only the path of another entry tells of may still get its own entry.
const (
	absent kind = iota
	file
	directory
	impliedDirectory
)

// tree is what is known of an archive so far: it decides whether an entry may be written, and where.
type tree struct {
	limits Limits
	// flat says that the archive has no top-level directory.
	flat bool
	top  string
	// entries counts all, total the bytes that they declare.
	entries int
	total   int64
	// kinds has the paths below the skill directory, spelled those by what they are folded to.
	kinds   map[string]kind
	spelled map[string]string
	ignored []string
}

func newTree(l Limits) *tree {
	return &tree{limits: l, kinds: map[string]kind{}, spelled: map[string]string{}}
}

// admit judges the next entry, and returns its path below the skill directory. The path is empty where nothing is to be
// written.
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

// count holds an entry against the limits, by what it declares.
func (t *tree) count(e entry) error {
	if t.entries++; t.entries > t.limits.MaxEntries {
		return t.tooMany()
	}
	t.total += e.size
	switch {
	case e.dir && e.size != 0:
		return refuseEntry("directory_data", e.name, "is a directory with %d bytes", e.size)
	case e.size < 0 || e.size > t.limits.MaxFile:
		return refuseEntry("file_size", e.name, "has %d bytes; a file may have %d", e.size, t.limits.MaxFile)
	case t.total > t.limits.MaxUncompressed:
		return refuseEntry("total_size", e.name, "is more than there is room for: all files may have %d bytes", t.limits.MaxUncompressed)
	}
	return nil
}

func (t *tree) tooMany() error {
	return refuse("entries", fmt.Sprintf("the archive has more than %d entries", t.limits.MaxEntries))
}

// below takes the top-level directory off.
func (t *tree) below(e entry, parts []string) ([]string, error) {
	if t.flat {
		return parts, nil
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

// addPath notes a path and the directories on the way to it.
func (t *tree) addPath(e entry, parts []string) (string, error) {
	if len(parts) > 0 && foldPath(parts[0]) == pannier.OwnDir {
		return "", refuseEntry("reserved", e.name, "is in the directory that is pannier's own")
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

// record says that a path is of a kind, and refuses what does not go with what was said of it before.
func (t *tree) record(name, rel string, is kind) error {
	switch was := t.kinds[rel]; {
	case was == absent:
		return t.add(name, rel, is)
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

func (t *tree) add(name, rel string, is kind) error {
	if len(t.kinds) >= t.limits.MaxEntries+1 { // one is the skill directory
		return t.tooMany()
	}
	key := foldPath(rel)
	if other, ok := t.spelled[key]; ok {
		return refuseEntry("collision", name, "collides with %s: they differ in case or Unicode form alone", quote(other))
	}
	t.kinds[rel], t.spelled[key] = is, rel
	return nil
}

// complete judges the archive as a whole.
func (t *tree) complete() error {
	switch {
	case len(t.kinds) == 0:
		return refuse("empty", "the archive holds no file")
	case t.kinds[skillFile] != file:
		return refuse("no_skill", fmt.Sprintf("the archive has no file %s in its directory %s", skillFile, quote(t.top)))
	}
	if head, found := t.bareRepository(); found {
		return refuseEntry("reserved", head, "is in a directory that git takes for a repository without a working tree")
	}
	return nil
}

// bareRepository returns the HEAD of a directory that git takes for a repository, as gitrepository-layout(5) describes one: its
// config can run commands when the agent calls git there, as that of .git can. With commondir the rest lies elsewhere.
func (t *tree) bareRepository() (head string, found bool) {
	for key, rel := range t.spelled {
		if path.Base(key) != "head" {
			continue
		}
		has := func(name string) bool { return t.spelled[path.Join(path.Dir(key), name)] != "" }
		if has("commondir") || has("objects") && has("refs") {
			return rel, true
		}
	}
	return "", false
}

// directories returns the directories below the skill directory, the deepest first.
func (t *tree) directories() []string {
	dirs := slices.DeleteFunc(slices.Collect(maps.Keys(t.kinds)), func(rel string) bool { return t.kinds[rel] == file || rel == "" })
	slices.SortFunc(dirs, func(a, b string) int { return strings.Compare(b, a) })
	return dirs
}
