package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"pannier"
	"pannier/internal/fsx"
)

// Repair is the result of resolving one interrupted change.
type Repair struct {
	// Root is the name of the root.
	Root string
	// Slug and Action are those of the interrupted change, empty if only staging was left behind.
	Slug, Action string
	// Outcome is [RepairFinished], [RepairUndone] or [RepairCleared].
	Outcome string
}

// The outcomes of a [Repair].
const (
	RepairFinished = "finished"
	RepairUndone   = "undone"
	RepairCleared  = "cleared"
)

// Recover finishes or undoes interrupted changes and removes abandoned staging directories. It is idempotent. An error
// in one root does not affect the others; the errors are joined.
func (s *Store) Recover(ctx context.Context) ([]Repair, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.end()
	s.clearConfig()
	var all []Repair
	var errs []error
	for _, root := range s.rules.Roots {
		if root.Kind != pannier.SourceWorkspace && root.Kind != pannier.SourceManaged {
			continue
		}
		repairs, err := s.recoverRoot(ctx, root)
		if err != nil {
			s.log.Error("recovering an interrupted change failed", "root", root.Path, "error", err)
			errs = append(errs, fmt.Errorf("recover %s: %w", root.Path, err))
		}
		all = append(all, repairs...)
	}
	return all, errors.Join(errs...)
}

// recoverRoot resolves what is left in a root. It creates nothing if nothing was ever installed there.
func (s *Store) recoverRoot(ctx context.Context, root pannier.Root) ([]Repair, error) {
	p, err := s.open(root)
	if _, foreign := errors.AsType[*fsx.OwnerError](err); foreign {
		return nil, nil // the loader reports it
	}
	if err != nil {
		return nil, unlessMissing(err)
	}
	defer p.close()
	if info, err := p.dir.Lstat(pannier.OwnDir); err != nil || !info.IsDir() {
		return nil, unlessMissing(err)
	}
	staged, err := fs.ReadDir(p.dir.FS(), stagingRel)
	if unlessMissing(err) != nil || len(staged) == 0 && !p.exists(intentRel) {
		return nil, unlessMissing(err)
	}
	if err = p.makeOwn(); err == nil {
		err = p.lockRoot(ctx)
	}
	switch {
	case errors.Is(err, errRemoved): // another process has recovered it
		return nil, nil
	case err != nil:
		return nil, err
	}
	return p.recover(ctx)
}

func unlessMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// recover resolves what another process left. The root is locked.
func (p *place) recover(ctx context.Context) ([]Repair, error) {
	var repairs []Repair
	in, err := p.readIntent()
	if err != nil {
		return nil, err
	}
	if in != nil {
		outcome, err := p.resolve(ctx, in)
		if err != nil {
			return nil, p.recordUnsettled(ctx, in, err)
		}
		repairs = append(repairs, Repair{Root: p.root.Name, Slug: in.Slug, Action: in.Action, Outcome: outcome})
		p.store.log.Warn("recovered an interrupted change", "root", p.root.Path, "slug", in.Slug, "action", in.Action, "outcome", outcome)
	}
	p.store.mu.Lock()
	delete(p.store.unsettled, p.root.Path)
	p.store.mu.Unlock()
	return append(repairs, p.clearStaging()...), ctx.Err()
}

// resolve finishes or undoes an intent.
func (p *place) resolve(ctx context.Context, in *intent) (outcome string, err error) {
	finish, err := p.shouldFinish(ctx, in)
	if err != nil {
		return "", err
	}
	if !finish {
		return RepairUndone, p.undo(ctx, in)
	}
	if err = p.dir.MkdirAll(in.staging(), 0o755); err == nil { // it may have been deleted by hand
		_, err = p.forward(ctx, in)
	}
	if err != nil {
		return "", err
	}
	return RepairFinished, p.removeIntent()
}

// shouldFinish decides between finishing and undoing by the table in the package documentation.
func (p *place) shouldFinish(ctx context.Context, in *intent) (bool, error) {
	if done, err := p.isCommitted(in); err != nil || done {
		return done, err
	}
	if in.Action == pannier.ActionUninstall {
		if p.exists(in.oldDir()) {
			_, same, err := p.isOld(ctx, in, in.oldDir())
			return same, err
		}
		return in.replaces() && !p.exists(in.Slug), nil
	}
	pending, err := p.pending(ctx, in)
	if err != nil || pending && (!p.exists(in.oldDir()) || p.exists(in.Slug)) {
		return false, err
	}
	if pending {
		_, same, err := p.isOld(ctx, in, in.oldDir())
		return same, err
	}
	there, err := p.fingerprintOrZero(ctx, in.Slug)
	if err != nil || there == in.Old && !there.IsZero() {
		return false, err
	}
	if old := p.replaced(in); old != "" {
		_, same, err := p.isOld(ctx, in, old)
		return same, err
	}
	return p.exists(in.Slug), nil
}

// clearStaging removes the staging directories that no process holds.
func (p *place) clearStaging() []Repair {
	staged, err := fs.ReadDir(p.dir.FS(), stagingRel)
	if err != nil {
		return nil
	}
	var repairs []Repair
	for _, d := range staged {
		rel := path.Join(stagingRel, d.Name())
		if f, err := p.dir.OpenFile(path.Join(rel, heldName), os.O_RDWR, 0); err == nil {
			free, err := fsx.TryLock(f)
			fsx.Unlock(f)
			if !free && err == nil {
				continue
			}
		}
		if err := p.clear(rel); err != nil {
			p.store.log.Warn("removing a staging directory failed", "root", p.root.Path, "directory", rel, "error", err)
			continue
		}
		repairs = append(repairs, Repair{Root: p.root.Name, Outcome: RepairCleared})
	}
	return repairs
}
