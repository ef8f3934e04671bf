package install

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"pannier"
	"pannier/internal/fsx"
)

// errTidied says that another change has removed what this one was about to use. Entering the root again makes it anew.
var errTidied = errors.New("another change has tidied up the root")

// The bounds of entering a root that others tidy up, and of waiting for another change before tidying up.
const (
	maxTidied   = 100
	tidyTimeout = time.Second
)

// emptyOwn is what pannier's own directory holds where nothing is installed.
var emptyOwn = []string{busyRel, stagingRel, previousRel}

// tidy removes pannier's own directory from a root in which nothing is installed, and the directories that were made for the
// root, so that a refused change leaves nothing behind. The root is claimed. A directory that holds anything else stays.
func (p *place) tidy() {
	entries, err := fs.ReadDir(p.dir.FS(), pannier.OwnDir)
	if err != nil {
		return
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !slices.Contains(emptyOwn, path.Join(pannier.OwnDir, e.Name())) }) {
		p.store.forgetMade(p.root)
		return
	}
	for _, rel := range []string{stagingRel, previousRel} {
		if unlessMissing(p.dir.Remove(rel)) != nil {
			return // another change has staged something there, and tidies up at its end
		}
	}
	if unlessMissing(p.dir.Remove(busyRel)) != nil || p.dir.Remove(pannier.OwnDir) != nil {
		return
	}
	for _, dir := range p.store.forgetMade(p.root) {
		if os.Remove(dir) != nil {
			return
		}
	}
}

// tidy claims a root in which nothing is installed, and tidies it up.
func (s *Store) tidy(root pannier.Root) {
	dir, err := fsx.OpenRoot(root.Path)
	if err != nil {
		return
	}
	p := &place{store: s, root: root, dir: dir}
	defer p.leave()
	for until := time.Now().Add(tidyTimeout); time.Now().Before(until); time.Sleep(busyRetry) {
		info, err := dir.Lstat(busyRel)
		if err != nil || !info.Mode().IsRegular() || p.exists(lockRel) {
			return
		}
		f, err := dir.OpenFile(busyRel, os.O_RDWR, 0)
		if err != nil {
			return
		}
		if held, err := fsx.TryLock(f); held {
			p.busy = f
			if !p.isStill(f, busyRel) {
				fsx.Unlock(f)
				p.busy = nil
			}
			return
		} else if f.Close(); err != nil {
			return
		}
	}
}

// noteMade notes the directories that are about to be made for a root, the deepest first.
func (s *Store) noteMade(root pannier.Root) {
	var dirs []string
	for dir := root.Path; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		dirs = append(dirs, dir)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made[root.Path] = dirs
}

// forgetMade returns what [Store.noteMade] noted, once.
func (s *Store) forgetMade(root pannier.Root) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	dirs := s.made[root.Path]
	delete(s.made, root.Path)
	return dirs
}

// isStill reports whether a name below the root is still that of an open file.
func (p *place) isStill(f *os.File, rel string) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := p.dir.Lstat(rel)
	return err == nil && os.SameFile(open, named)
}

// plainFile refuses what is there under the name of one of pannier's own files and is none, such as a link.
func (p *place) plainFile(rel string) error {
	info, err := p.dir.Lstat(rel)
	if err != nil || info.Mode().IsRegular() {
		return unlessMissing(err)
	}
	kind := strangeKind(info.Mode())
	if info.IsDir() {
		kind = "a directory"
	}
	return refuse("install.own_directory", path.Join(p.root.Path, rel)+" is "+kind+", not a plain file", "remove it; pannier makes its own")
}
