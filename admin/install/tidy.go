package install

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"time"

	"pannier"
	"pannier/internal/fsx"
)

// errRemoved says that a concurrent change removed an empty directory of pannier. Entering the root again recreates it.
var errRemoved = errors.New("a concurrent change removed an empty directory")

const (
	maxEnterTries = 100
	tidyTimeout   = time.Second
)

// emptyOwn is the content of pannier's own directory if nothing is installed.
var emptyOwn = []string{busyRel, stagingRel, previousRel}

// removeEmptyOwn removes pannier's own directory from a root without installed skills, and the directories that were
// created for the root. A directory with other content stays. The root is locked.
func (p *place) removeEmptyOwn() {
	entries, err := fs.ReadDir(p.dir.FS(), pannier.OwnDir)
	if err != nil {
		return
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !slices.Contains(emptyOwn, path.Join(pannier.OwnDir, e.Name())) }) {
		p.store.popCreated(p.root)
		return
	}
	for _, rel := range []string{stagingRel, previousRel} {
		if unlessMissing(p.dir.Remove(rel)) != nil {
			return // another change is staging there
		}
	}
	if unlessMissing(p.dir.Remove(busyRel)) != nil || p.dir.Remove(pannier.OwnDir) != nil {
		return
	}
	for _, dir := range p.store.popCreated(p.root) {
		parent, err := fsx.OpenOwned(p.store.rules.Workspace, filepath.Dir(dir))
		if err == nil {
			err = parent.Remove(filepath.Base(dir))
			parent.Close()
		}
		if err != nil {
			return
		}
	}
}

// removeEmptyOwn locks a root without installed skills and calls [place.removeEmptyOwn].
func (s *Store) removeEmptyOwn(root pannier.Root) {
	p, err := s.open(root)
	if err != nil {
		return
	}
	defer p.close() // removes them if the root is locked
	if p.exists(busyRel) && !p.exists(lockRel) {
		ctx, cancel := context.WithTimeout(context.Background(), tidyTimeout)
		defer cancel()
		_ = p.lockRoot(ctx)
	}
}

// popCreated returns and forgets the directories that were created for a root.
func (s *Store) popCreated(root pannier.Root) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	dirs := s.created[root.Path]
	delete(s.created, root.Path)
	return dirs
}

// checkRegular refuses one of pannier's own files if it is not a regular file.
func (p *place) checkRegular(rel string) error {
	info, err := p.dir.Lstat(rel)
	if err != nil || info.Mode().IsRegular() {
		return unlessMissing(err)
	}
	kind := otherKind(info.Mode())
	if info.IsDir() {
		kind = "a directory"
	}
	return refuse("install.own_directory", path.Join(p.root.Path, rel)+" is "+kind+", not a regular file", "remove it; pannier makes its own")
}
