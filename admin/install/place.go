package install

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"pannier"
	"pannier/internal/fsx"
	"pannier/loader/fingerprint"
)

// Paths below a root.
const (
	busyRel     = pannier.OwnDir + "/busy"
	lockRel     = pannier.OwnDir + "/" + pannier.LockFile
	intentRel   = pannier.OwnDir + "/intent.json"
	stagingRel  = pannier.OwnDir + "/staging"
	previousRel = pannier.OwnDir + "/previous"
)

// busyTimeout is how long a change waits for that of another process, busyRetry how often it tries.
const (
	busyTimeout = 10 * time.Second
	busyRetry   = 10 * time.Millisecond
)

// place is a root that is open for a change; no other process changes it meanwhile. All paths are below the root, and
// symlinks cannot lead out of it.
type place struct {
	store *Store
	root  pannier.Root
	dir   *os.Root
	busy  *os.File
	// known has the file digests of the skill that is being changed.
	known *fingerprint.Known
}

// enter opens and locks a root, creates what is missing, and finishes or undoes an interrupted change.
func (s *Store) enter(ctx context.Context, root pannier.Root) (p *place, err error) {
	for range maxEnterTries {
		if p, err = s.enterOnce(ctx, root); !errors.Is(err, errRemoved) {
			break
		}
	}
	return p, err
}

func (s *Store) enterOnce(ctx context.Context, root pannier.Root) (*place, error) {
	if err := s.makeRoot(root); err != nil {
		return nil, err
	}
	p, err := s.open(root)
	if err != nil {
		return nil, err
	}
	entered := false
	defer func() {
		if !entered {
			p.close()
		}
	}()
	if err = p.makeOwn(); err == nil {
		err = p.lockRoot(ctx)
	}
	if err == nil {
		_, err = p.recover(ctx)
	}
	entered = err == nil
	return p, explain(root, err)
}

// open opens a root to change it.
func (s *Store) open(root pannier.Root) (*place, error) {
	dir, err := fsx.OpenOwned(s.rules.Workspace, root.Path)
	if err != nil {
		return nil, explain(root, err)
	}
	return &place{store: s, root: root, dir: dir}, nil
}

// close removes empty directories of pannier and unlocks the root.
func (p *place) close() {
	if p.busy != nil {
		p.removeEmptyOwn()
		fsx.Unlock(p.busy)
	}
	p.dir.Close()
}

// makeRoot creates a missing root. It does not create the workspace, which may not be mounted yet.
func (s *Store) makeRoot(root pannier.Root) error {
	missing, err := s.missing(root)
	if err != nil || !missing {
		return err
	}
	if err := s.step("own.make"); err != nil {
		return err
	}
	parent, rel, err := fsx.OpenOwnedAbove(s.rules.Workspace, root.Path)
	if err != nil {
		return explain(root, err)
	}
	defer parent.Close()
	var created []string // deepest first
	for dir := root.Path; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		created = append(created, dir)
	}
	s.mu.Lock()
	s.created[root.Path] = created
	s.mu.Unlock()
	return explain(root, parent.MkdirAll(rel, 0o755))
}

// missing reports whether a root is missing, and refuses if it cannot be created.
func (s *Store) missing(root pannier.Root) (bool, error) {
	if _, err := os.Stat(root.Path); !errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	from := filepath.Dir(root.Path)
	if strings.HasPrefix(root.Path, s.rules.Workspace+"/") {
		from = s.rules.Workspace
	}
	if info, err := os.Stat(from); err != nil || !info.IsDir() {
		return true, refuse("install.root_missing", "the directory "+from+" to install into does not exist", "mount or create it")
	}
	return true, nil
}

// makeOwn creates pannier's own directories. Symlinks are refused: what is moved there must stay on the file system.
func (p *place) makeOwn() error {
	for _, rel := range []string{pannier.OwnDir, stagingRel, previousRel} {
		info, err := p.dir.Lstat(rel)
		switch {
		case err == nil && info.IsDir():
			continue
		case err == nil:
			return refuse("install.own_directory", path.Join(p.root.Path, rel)+" is not a directory", "remove it; pannier makes its own")
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		if err := p.store.step("own.make"); err != nil {
			return err
		}
		if err := p.dir.Mkdir(rel, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return orRemoved(err)
		}
		if err := p.sync(path.Dir(rel)); err != nil {
			return orRemoved(err)
		}
	}
	return nil
}

// orRemoved adds [errRemoved] to an error about a missing file.
func orRemoved(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.Join(errRemoved, err)
	}
	return err
}

// lockRoot waits until no other process changes the root.
func (p *place) lockRoot(ctx context.Context) error {
	if err := p.checkRegular(busyRel); err != nil {
		return err
	}
	f, err := p.dir.OpenFile(busyRel, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return orRemoved(err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, busyTimeout, refuse("install.busy", "another process is installing in "+p.root.Path, "retry when it has finished"))
	defer cancel()
	if err := fsx.LockContext(ctx, f, busyRetry); err != nil {
		f.Close()
		return err
	}
	open, err := f.Stat()
	named, err2 := p.dir.Lstat(busyRel)
	if errors.Join(err, err2) != nil || !os.SameFile(open, named) {
		fsx.Unlock(f)
		return errRemoved
	}
	p.busy = f
	return nil
}
