package loader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/internal/fsx"
	"pannier/loader/repair"
)

// Read returns the document of a skill of a catalog, from the same bytes that its digest tells of. It returns an error
// that is [pannier.ErrChanged] where the disk has moved on, and [pannier.ErrNotServable] for a skill that cannot be
// read, or has nothing to read.
func (l *Loader) Read(ctx context.Context, s *pannier.Skill) (pannier.Document, error) {
	switch {
	case s.ToolsOnly:
		return pannier.Document{}, fmt.Errorf("read %s: it has tools and no instructions: %w", s.Path, pannier.ErrNotServable)
	case s.Broken || s.LastGood || s.Deleting:
		return pannier.Document{}, pannier.ErrNotServable
	}
	text, err := l.readWhole(s)
	if err != nil {
		return pannier.Document{}, fmt.Errorf("read %s: %w", s.FilePath(), err)
	}
	if pannier.DigestOf(text) != s.Digest {
		return pannier.Document{}, fmt.Errorf("read %s: %w", s.FilePath(), pannier.ErrChanged)
	}
	return document(text, l.rules.MaxFrontmatterBytes), ctx.Err()
}

// readWhole returns the bytes of a SKILL.md. That it was read once is known, so whatever now stands in its place, or in
// the way to it, is a change; only what says nothing of the file is another error.
func (l *Loader) readWhole(s *pannier.Skill) ([]byte, error) {
	file, err := l.placeOf(s).File(path.Join(s.PathBelowRoot, s.File))
	if err != nil {
		return nil, changedUnlessBusy(err)
	}
	return l.readText(openFile{fd: int(file.Fd()), file: file})
}

// readText returns the bytes of an open SKILL.md, and closes it.
func (l *Loader) readText(file openFile) ([]byte, error) {
	defer file.close()
	st, err := file.stat()
	if err != nil || !st.IsRegular() || st.Size > l.rules.MaxSkillBytes {
		return nil, pannier.ErrChanged
	}
	text := make([]byte, st.Size)
	n, err := io.ReadFull(file, text)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	return text[:n], nil
}

// placeOf returns the root of a skill.
func (l *Loader) placeOf(s *pannier.Skill) fsx.Place { return PlaceOf(l.rules.Roots[s.RootIndex]) }

func changedUnlessBusy(err error) error {
	for _, busy := range []error{unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.EIO} {
		if errors.Is(err, busy) {
			return err
		}
	}
	return fmt.Errorf("%w: %w", pannier.ErrChanged, err)
}

func document(text []byte, limit int64) pannier.Document {
	p, _, _ := cut(text, true, limit)
	var d pannier.Document
	if p.line > 0 {
		var r repair.Result
		var err error
		if p, r, err = p.parse(); err == nil {
			d.Frontmatter = r.Value.JSON()
		}
	}
	d.Body = string(p.body)
	if !utf8.ValidString(d.Body) {
		d.Body = strings.ToValidUTF8(d.Body, "\uFFFD")
		d.Warnings = append(d.Warnings, "the body is not UTF-8; what cannot be read is replaced")
	}
	return d
}

// MaxFiles bounds how many files of a skill are listed.
const MaxFiles = 1000

// maxFileDepth bounds how deep below the skill directory files are listed.
const maxFileDepth = 8

// maxFileEntries bounds how many entries of directories are read for that.
const maxFileEntries = 10 * MaxFiles

// Files lists the files of a skill of a catalog, by path in bytes, SKILL.md included. truncated says that there are more
// than [MaxFiles], or deeper ones, or a directory that cannot be read; which of too many files are listed is not said.
// Directories that discovery skips are not entered, nor are links to directories; a link to a file within the root is listed
// as that file. What is neither a file nor a directory is left out, and so is what is not served.
func (l *Loader) Files(ctx context.Context, s *pannier.Skill) (files []pannier.File, truncated bool, err error) {
	files, truncated, err = l.allFiles(ctx, s)
	serves := l.servedOf(s)
	return slices.DeleteFunc(files, func(f pannier.File) bool { return !serves(f.Path) }), truncated, err
}

// servedOf returns a function that says whether a file of a skill is served, by its path below the skill directory. It reads the
// text of the skill where that decides, and serves no more where that is not the one of the catalog.
func (l *Loader) servedOf(s *pannier.Skill) func(string) bool {
	text := sync.OnceValue(func() string {
		if s.ToolsOnly || s.Broken || s.LastGood || s.Deleting {
			return ""
		}
		text, err := l.readWhole(s)
		if err != nil || pannier.DigestOf(text) != s.Digest {
			return ""
		}
		return string(text)
	})
	return func(name string) bool {
		return l.rules.Serves(name) || l.rules.ServesIfNamed(name) && pannier.NamesFile(text(), name)
	}
}

// allFiles lists dot files too.
func (l *Loader) allFiles(ctx context.Context, s *pannier.Skill) (files []pannier.File, truncated bool, err error) {
	dir, err := l.openDir(s)
	if err != nil {
		return nil, false, fmt.Errorf("list %s: %w", s.Path, err)
	}
	defer dir.close()
	w := lister{rules: l.rules, serves: l.servedOf(s), skill: s, place: l.placeOf(s), dir: dir}
	err = w.listAll(ctx)
	return w.files, w.truncated, err
}

// skillDir is the open directory of a skill.
type skillDir struct {
	root *os.Root
	self *os.File // the same directory
	fd   int      // of self
}

func (l *Loader) openDir(s *pannier.Skill) (skillDir, error) {
	root, err := l.placeOf(s).Dir(path.Clean(s.PathBelowRoot))
	if err != nil {
		return skillDir{}, err
	}
	self, err := root.Open(".")
	if err != nil {
		root.Close()
		return skillDir{}, err
	}
	return skillDir{root: root, self: self, fd: int(self.Fd())}, nil
}

func (d skillDir) close() {
	d.self.Close()
	d.root.Close()
}

// openDir opens the directory itself, or one below it.
func (d skillDir) openDir(name string) (openFile, error) {
	if fd, err := fsx.OpenAt(d.fd, dirPath(name)); err == nil {
		return openFile{fd: fd}, nil
	}
	file, err := d.root.OpenFile(name, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
	if err != nil {
		return openFile{}, err
	}
	return openFile{fd: int(file.Fd()), file: file}, nil
}

// lister lists the files of one skill.
type lister struct {
	rules     pannier.DiscoveryRules
	serves    func(string) bool // of the skill
	skill     *pannier.Skill
	place     fsx.Place
	dir       skillDir
	files     []pannier.File
	stamps    map[string]fsx.Stamp // of files, by path; nil records none
	buf       []byte
	entries   int // how many were read
	full      bool
	truncated bool
	// resources says that the skill has what may be links.yaml or examples.
	resources bool
}

// listAll adds all files of the skill, by path in bytes.
func (w *lister) listAll(ctx context.Context) error {
	if w.skill.File != "" {
		if st, err := fsx.LstatAt(w.dir.fd, w.skill.File); err == nil {
			w.add(w.skill.File, st)
		}
	}
	if err := w.list(ctx, ".", 0); err != nil {
		return fmt.Errorf("list %s: %w", w.skill.Path, err)
	}
	slices.SortFunc(w.files, func(a, b pannier.File) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

// list adds the files in a directory, and then those below it.
func (w *lister) list(ctx context.Context, name string, depth int) error {
	dirs, err := w.listIn(ctx, name)
	if err != nil {
		return err
	}
	slices.Sort(dirs)
	for _, dir := range dirs {
		if w.full {
			break
		}
		if depth+1 > maxFileDepth {
			w.truncated = true
			break
		}
		if err := w.list(ctx, dir, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// listIn adds the files right in a directory and returns the directories that are to be entered. It reads no more of it than
// it needs.
func (w *lister) listIn(ctx context.Context, name string) (dirs []string, err error) {
	dir, err := w.dir.openDir(name)
	if err != nil {
		w.truncated = true
		return nil, ctx.Err()
	}
	defer dir.close()
	if w.buf == nil {
		w.buf = make([]byte, 8<<10)
	}
	for ctx.Err() == nil {
		n, err := getdents(dir.fd, w.buf)
		if err != nil || n <= 0 {
			w.truncated = w.truncated || err != nil
			return dirs, ctx.Err()
		}
		for _, e := range appendDirents(nil, w.buf[:n]) {
			if w.entries++; w.entries > maxFileEntries {
				w.full, w.truncated = true, true
				return nil, ctx.Err()
			}
			below := path.Join(name, e.name)
			w.resources = w.resources || strings.EqualFold(below, pannier.LinksFile) || strings.EqualFold(below, examplesDir)
			switch isDir := resolveKind(dir.fd, "", e) == unix.DT_DIR; {
			case isDir && !w.rules.Skips(e.name):
				dirs = append(dirs, below)
			case !isDir && below != w.skill.File:
				if st, err := fsx.LstatAt(dir.fd, e.name); err == nil {
					w.add(below, st)
				}
			}
			if w.full {
				return nil, ctx.Err()
			}
		}
	}
	return nil, ctx.Err()
}

// add adds what is at a path and has a stamp, where it is a file or a link to one.
func (w *lister) add(name string, st fsx.Stamp) {
	if st.IsSymlink() {
		if !w.leadsToServed(name) {
			return
		}
		info, err := w.place.Stat(path.Join(w.skill.PathBelowRoot, name))
		if err != nil {
			return
		}
		st = fsx.StampOf(info)
	}
	if !st.IsRegular() {
		return
	}
	if len(w.files) == MaxFiles {
		w.full, w.truncated = true, true
		return
	}
	if w.stamps != nil {
		w.stamps[name] = st
	}
	w.files = append(w.files, pannier.File{Path: name, Size: st.Size, Executable: st.Mode&0o111 != 0})
}

// leadsToServed reports whether a link leads to a file that is served by its path: below the skill directory, or else below the
// root or one of its link targets.
func (w *lister) leadsToServed(name string) bool {
	of := filepath.Join(w.place.Path, w.skill.PathBelowRoot)
	real, err := filepath.EvalSymlinks(filepath.Join(of, name))
	if err != nil {
		return false
	}
	for _, base := range append([]string{of, w.place.Path}, w.place.Targets...) {
		if base, err = filepath.EvalSymlinks(base); err != nil {
			continue
		}
		if below, ok := strings.CutPrefix(real, strings.TrimSuffix(base, "/")+"/"); ok {
			return w.serves(pannier.ResolvedFile(below))
		}
	}
	return false
}
