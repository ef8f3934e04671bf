package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"pannier"
)

// maxFolders bounds the skills of one archive.
const maxFolders = 200

// Folder is the directory of a skill in an archive with several, or one without a skill.
type Folder struct {
	// Path is that in the archive, empty for its top.
	Path string

	several *several
	items   []item
	fault   error
}

// several takes in the entries of an archive with several skills. It refuses what no archive may have, such as a path
// that leads out of it. What is wrong with an entry otherwise concerns only the skill that the entry belongs to.
type several struct {
	all   *tree // counts the entries
	each  Limits
	from  *os.Root
	kinds map[string]kind // of what was written
	items []item
}

// item is an entry by the components of its path.
type item struct {
	entry
	parts []string
	fault error
}

// UnpackSeveral writes the files of an archive with any number of skills into an empty directory, which has to stay
// there while the folders are used. It returns a folder for each skill, and for each top-level directory without one,
// by path. A skill is a directory with SKILL.md that lies in no other skill. Each is checked by [Folder.Unpack], by the
// rules of [Unpack] and within limits of its own.
func UnpackSeveral(ctx context.Context, src File, into *os.Root, all, each Limits) ([]Folder, error) {
	s := &several{all: newTree(all), each: each, from: into, kinds: map[string]kind{}}
	if err := unpack(ctx, &source{File: src, stopped: ctx.Err}, s, newWriter(into, all)); err != nil {
		return nil, err
	}
	folders := s.folders()
	switch {
	case len(folders) == 0:
		return nil, refuse("no_skill", "the archive has no directory with "+skillFile)
	case len(folders) > maxFolders:
		return nil, refuse("skills", fmt.Sprintf("the archive has %d skills; at most %d are allowed", len(folders), maxFolders))
	}
	return folders, nil
}

func (s *several) begin([]string) {}

func (s *several) limit() Limits { return s.all.limits }

func (s *several) admit(e entry) (string, error) {
	if err := s.all.count(e); isOfEntry(err) {
		s.all.total -= e.size // it is not written
		return "", s.record(e, err)
	} else if err != nil {
		return "", err
	}
	parts, err := split(e.name)
	if isOfEntry(err) {
		return "", s.record(e, err)
	} else if err != nil {
		return "", err
	}
	if len(parts) == 0 && !e.dir {
		return "", refuseEntry("name_empty", e.name, "is a file without a name")
	}
	s.items = append(s.items, item{entry: e, parts: parts})
	if e.dir || !s.claim(parts) {
		return "", nil
	}
	if len(s.kinds) > s.limit().MaxEntries { // with the directories that only occur in paths
		return "", s.all.tooMany()
	}
	return path.Join(parts...), nil
}

// isOfEntry reports whether a fault concerns one entry, and not the archive as a whole.
func isOfEntry(err error) bool {
	r, ok := errors.AsType[*pannier.Refusal](err)
	return ok && !slices.Contains([]string{"archive.entries", "archive.total_size", "archive.absolute_path", "archive.traversal"}, r.Code)
}

// claim reports whether a file can be written. If another is in its way, the check of its skill refuses both.
func (s *several) claim(parts []string) bool {
	rel := path.Join(parts...)
	if s.kinds[rel] != absent {
		return false
	}
	for dir := path.Dir(rel); dir != "."; dir = path.Dir(dir) {
		if s.kinds[dir] == file {
			return false
		}
	}
	for dir := path.Dir(rel); dir != "."; dir = path.Dir(dir) {
		s.kinds[dir] = impliedDirectory
	}
	s.kinds[rel] = file
	return true
}

func (s *several) failed(e entry, fault error) error {
	if !isRefusal(fault) {
		return fault
	}
	e.size = 0
	if err := s.all.count(e); err != nil {
		return err
	}
	return s.record(e, fault)
}

// record keeps an entry with a fault. Its path is only used to find the skill that it belongs to.
func (s *several) record(e entry, fault error) error {
	name := e.name[:min(len(e.name), 2*maxPathBytes)]
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '/' || r == '\\' })
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "." })
	if len(parts) == 0 { // it belongs to no skill
		return fault
	}
	s.items = append(s.items, item{e, parts, fault})
	return nil
}

// folders returns the skills, and the top-level directories without one.
func (s *several) folders() []Folder {
	heads := s.heads()
	above := map[string]bool{} // top-level directories that have a skill in them
	for head := range heads {
		top, _, _ := strings.Cut(head, "/")
		above[top] = true
	}
	byPath := map[string]*Folder{}
	for _, it := range s.items {
		at, ok := heads.of(it.parts)
		if !ok { // it belongs to no skill
			if len(it.parts) == 0 || len(it.parts) == 1 && !it.dir || isDesktopFile(it.parts) || above[it.parts[0]] {
				continue
			}
			at = it.parts[0]
		}
		if byPath[at] == nil {
			byPath[at] = &Folder{Path: at, several: s}
		}
		byPath[at].items = append(byPath[at].items, it)
	}
	var folders []Folder
	for _, f := range byPath {
		if !heads[f.Path] {
			f.fault = cmp.Or(f.firstFault(), refuse("no_skill", fmt.Sprintf("%s has no file %s", quote(f.Path), skillFile)))
		}
		folders = append(folders, *f)
	}
	slices.SortFunc(folders, func(a, b Folder) int { return strings.Compare(a.Path, b.Path) })
	return folders
}

// heads are the directories of skills.
type heads map[string]bool

func (s *several) heads() heads {
	found := heads{}
	for _, it := range s.items {
		if n := len(it.parts); n > 0 && it.parts[n-1] == skillFile && !it.dir && !isDesktopFile(it.parts) {
			found[strings.Join(it.parts[:n-1], "/")] = true
		}
	}
	top := heads{}
	for dir := range found {
		if at, _ := found.of(strings.Split(dir, "/")); at == dir {
			top[dir] = true
		}
	}
	return top
}

// of returns the outermost of the directories that a path is in.
func (h heads) of(parts []string) (dir string, found bool) {
	for i := range parts {
		if h[dir] {
			return dir, true
		}
		dir = strings.TrimPrefix(dir+"/"+parts[i], "/")
	}
	return dir, h[dir]
}

// Unpack checks the skill by the rules of [Unpack], and writes its files into an empty directory. reserve is as in
// [Limits].
func (f *Folder) Unpack(ctx context.Context, into *os.Root, reserve func(int64) error) (Contents, error) {
	if f.fault != nil {
		return Contents{}, f.fault
	}
	limits := f.several.each
	limits.Reserve = reserve
	t, w := newTree(limits), newWriter(into, limits)
	t.top, t.flat = f.Path, f.Path == ""
	if !t.flat {
		t.depth = strings.Count(f.Path, "/") + 1
	}
	if err := f.firstFault(); err != nil {
		return Contents{}, err
	}
	for _, it := range f.items {
		if err := f.write(ctx, t, w, it); err != nil {
			return Contents{}, err
		}
	}
	return t.contents(w)
}

func (f *Folder) firstFault() error {
	for _, it := range f.items {
		if it.fault != nil {
			return it.fault
		}
	}
	return nil
}

func (f *Folder) write(ctx context.Context, t *tree, w *writer, it item) error {
	rel, err := t.admit(it.entry)
	switch {
	case err != nil || rel == "":
		return err
	case it.dir:
		return w.directory(rel)
	}
	from, err := f.several.from.Open(path.Join(it.parts...))
	if err != nil {
		return targetError{err}
	}
	defer func() { _ = from.Close() }()
	return w.write(ctx, rel, it.entry, from)
}
