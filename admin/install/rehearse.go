package install

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"pannier"
	"pannier/internal/fsx"
)

// TempDir creates a directory outside of all roots, for an archive with several skills. remove removes it.
func (s *Store) TempDir() (dir *os.Root, remove func() error, err error) {
	name, err := os.MkdirTemp(s.scratch, "archive-")
	if err == nil {
		if dir, err = os.OpenRoot(name); err == nil {
			return dir, func() error { return errors.Join(dir.Close(), os.RemoveAll(name)) }, nil
		}
		err = errors.Join(err, os.Remove(name))
	}
	return nil, nil, s.ExplainTemp(err)
}

// ExplainTemp turns a disk error in such a directory that an operator can fix into a refusal.
func (s *Store) ExplainTemp(err error) error { return explain(pannier.Root{Path: s.scratch}, err) }

// newScratch creates a staging directory outside of all roots.
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

// viewRoot opens a root for a dry run. It creates and repairs nothing; the root itself may be missing.
func (s *Store) viewRoot(root pannier.Root, do func(*place) error) error {
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

// explainMissing refuses if the staged files disappeared together with their root, and otherwise returns err.
func (a *area) explainMissing(err error) error {
	if a.p == nil {
		return err
	}
	if _, gone := os.Lstat(filepath.Join(a.p.root.Path, a.rel())); errors.Is(gone, fs.ErrNotExist) {
		return errors.Join(refuse("install.root_missing", a.p.root.Path+" was removed or replaced while a skill was being staged", "retry when the directory is stable"), err)
	}
	return err
}

// LeftBehind returns the problem that a staging directory could not be removed. It only takes space.
func LeftBehind(err error) pannier.Problem {
	return pannier.Problem{
		Code: "install.left_behind", Severity: pannier.SeverityWarning, Path: pannier.OwnDir + "/staging",
		Message: "removing staged files failed: " + err.Error(),
		Hint:    "remove them by hand, or give the user that pannier runs as permission; each later change retries",
	}
}
