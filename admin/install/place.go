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

// What lies in a root, with slashes.
const (
	busyRel     = pannier.OwnDir + "/busy"
	lockRel     = pannier.OwnDir + "/" + pannier.LockFile
	intentRel   = pannier.OwnDir + "/intent.json"
	stagingRel  = pannier.OwnDir + "/staging"
	previousRel = pannier.OwnDir + "/previous"
)

// busyTimeout is how long a change waits for another process to finish its own, busyRetry how often it looks.
const (
	busyTimeout = 10 * time.Second
	busyRetry   = 10 * time.Millisecond
)

// place is a root that is open for a change: no other process changes it meanwhile. All paths are below the root, and no
// link leads out of it.
type place struct {
	store *Store
	root  pannier.Root
	dir   *os.Root
	busy  *os.File
	// known is what is known of the files of the skill that is to be changed.
	known *fingerprint.Known
}

// enter opens a root for a change, makes what is missing, and finishes or undoes what another process left.
func (s *Store) enter(ctx context.Context, root pannier.Root) (p *place, err error) {
	for range maxTidied {
		if p, err = s.enterOnce(ctx, root); !errors.Is(err, errTidied) {
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
	if err = p.makeOwn(); err == nil {
		err = p.claim(ctx)
	}
	if err == nil {
		_, err = p.recover(ctx)
	}
	if err != nil {
		p.leave()
		return nil, explain(root, err)
	}
	return p, nil
}

func (s *Store) open(root pannier.Root) (*place, error) {
	dir, err := fsx.OpenRoot(root.Path)
	if err != nil {
		return nil, explain(root, err)
	}
	return &place{store: s, root: root, dir: dir}, nil
}

// leave tidies up and lets others in.
func (p *place) leave() {
	if p.busy != nil {
		p.tidy()
		fsx.Unlock(p.busy)
	}
	p.dir.Close()
}

// makeRoot makes a root that is not there. A workspace is not made: it may only not be mounted yet.
func (s *Store) makeRoot(root pannier.Root) error {
	missing, err := s.missing(root)
	if err != nil || !missing {
		return err
	}
	if err := s.step("own.make"); err != nil {
		return err
	}
	s.noteMade(root)
	return explain(root, os.MkdirAll(root.Path, 0o755))
}

// missing reports whether a root is not there, and refuses where it can not be made either.
func (s *Store) missing(root pannier.Root) (bool, error) {
	if _, err := os.Stat(root.Path); !errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	from := filepath.Dir(root.Path)
	if strings.HasPrefix(root.Path, s.rules.Workspace+"/") {
		from = s.rules.Workspace
	}
	if info, err := os.Stat(from); err != nil || !info.IsDir() {
		return true, refuse("install.root_missing", "there is no directory "+from+" to install into", "mount or create it")
	}
	return true, nil
}

// makeOwn makes pannier's own directories. None of them may be a link: what is moved there must stay on the file system.
func (p *place) makeOwn() error {
	for _, rel := range []string{pannier.OwnDir, stagingRel, previousRel} {
		info, err := p.dir.Lstat(rel)
		switch {
		case err == nil && info.IsDir():
			continue
		case err == nil:
			return refuse("install.own_directory", path.Join(p.root.Path, rel)+" is no directory", "remove it; pannier makes its own")
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		if err := p.store.step("own.make"); err != nil {
			return err
		}
		if err := p.dir.Mkdir(rel, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return orTidied(err)
		}
		if err := p.sync(path.Dir(rel)); err != nil {
			return orTidied(err)
		}
	}
	return nil
}

// orTidied adds [errTidied] to an error that says that something is gone.
func orTidied(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.Join(errTidied, err)
	}
	return err
}

// claim waits until no other process changes the root. A file that is locked and is no longer there locks nothing.
func (p *place) claim(ctx context.Context) error {
	if err := p.plainFile(busyRel); err != nil {
		return err
	}
	f, err := p.dir.OpenFile(busyRel, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return orTidied(err)
	}
	if err := p.waitFor(ctx, f); err != nil {
		f.Close()
		return err
	}
	if !p.isStill(f, busyRel) {
		fsx.Unlock(f)
		return errTidied
	}
	p.busy = f
	return nil
}

// waitFor locks a file.
func (p *place) waitFor(ctx context.Context, f *os.File) error {
	ctx, cancel := context.WithTimeoutCause(ctx, busyTimeout, refuse("install.busy", "another process changes what is installed in "+p.root.Path, "try again when it is done"))
	defer cancel()
	for {
		held, err := fsx.TryLock(f)
		if held || err != nil {
			return err
		}
		select {
		case <-time.After(busyRetry):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
