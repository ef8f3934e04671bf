package install

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"pannier"
	"pannier/internal/fsx"
)

// StageDryRun is as [Store.Stage] for a dry run: it writes nothing into a root, but stages in a directory of its own below
// [Options.Scratch]. What is staged so can be planned with, and not be installed.
func (s *Store) StageDryRun(ctx context.Context, kind pannier.SourceKind, fill Fill, accept ...string) (*Staged, error) {
	roots, err := s.rootsOf(kind)
	if err != nil {
		return nil, err
	}
	a, err := s.newScratch()
	if err != nil {
		return nil, err
	}
	return s.staged(ctx, roots[0], a, fill, accept)
}

// newScratch makes a directory of staging that lies in no root.
func (s *Store) newScratch() (*area, error) {
	dir, err := os.MkdirTemp(s.scratch, "rehearsal-")
	if err != nil {
		return nil, explain(pannier.Root{Path: s.scratch}, err)
	}
	p, err := s.open(pannier.Root{Path: dir, Name: filepath.Base(dir)})
	if err != nil {
		return nil, errors.Join(err, os.Remove(dir))
	}
	a := &area{p: p, id: randomName(), outside: dir}
	if err := a.make(); err != nil {
		return nil, explain(pannier.Root{Path: dir}, errors.Join(err, a.close()))
	}
	return a, nil
}

// view opens a root for a plan without a change. Nothing is made or repaired; what can be missing is the root itself.
func (s *Store) view(root pannier.Root, do func(*place) error) error {
	if _, err := s.missing(root); err != nil {
		return err
	}
	p := &place{store: s, root: root}
	dir, err := fsx.OpenRoot(root.Path)
	if err == nil {
		p.dir = dir
		defer dir.Close()
	}
	if unlessMissing(err) != nil {
		return explain(root, err)
	}
	return explain(root, do(p))
}

// unlessGone returns the cause of an error that came because what was staged is gone from its place together with its root.
func (a *area) unlessGone(err error) error {
	if a.p == nil {
		return err
	}
	if _, gone := os.Lstat(filepath.Join(a.p.root.Path, a.rel())); errors.Is(gone, fs.ErrNotExist) {
		return errors.Join(refuse("install.root_missing", a.p.root.Path+" was removed or replaced while a skill was staged in it", "try again when nobody moves it"), err)
	}
	return err
}

// LeftBehind tells of what could not be removed from staging. It harms nothing, but takes room until somebody removes it.
func LeftBehind(err error) pannier.Problem {
	return pannier.Problem{
		Code: "install.left_behind", Severity: pannier.SeverityWarning, Path: pannier.OwnDir + "/staging",
		Message: "what is no longer needed could not be removed: " + err.Error(),
		Hint:    "remove it by hand, or let the user that pannier runs as do it; each later change tries it again",
	}
}
