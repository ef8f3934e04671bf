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

// Repair is one thing that was put in order.
type Repair struct {
	// Root is the name of the root.
	Root string
	// Slug is the skill whose change was cut off, empty where only staging was left behind. Action is that of the change.
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

// Recover finishes or undoes the changes that a process left in the midst, and removes what it had staged. Done again, it
// does nothing. A root that can not be repaired does not keep others from it; the errors are joined.
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
			s.log.Error("what was left of a change can not be put in order", "root", root.Path, "error", err)
			errs = append(errs, fmt.Errorf("recover %s: %w", root.Path, err))
		}
		all = append(all, repairs...)
	}
	return all, errors.Join(errs...)
}

// recoverRoot repairs a root, unless nothing was ever installed there.
func (s *Store) recoverRoot(ctx context.Context, root pannier.Root) ([]Repair, error) {
	dir, err := fsx.OpenRoot(root.Path)
	if err != nil {
		return nil, unlessMissing(err)
	}
	p := &place{store: s, root: root, dir: dir}
	defer p.leave()
	if left, err := p.leftBehind(); !left || err != nil {
		return nil, err
	}
	if err = p.makeOwn(); err == nil {
		err = p.claim(ctx)
	}
	switch {
	case errors.Is(err, errTidied): // another process has recovered it
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

// leftBehind reports whether there is an intent or anything staged.
func (p *place) leftBehind() (bool, error) {
	if info, err := p.dir.Lstat(pannier.OwnDir); err != nil || !info.IsDir() {
		return false, unlessMissing(err)
	}
	staged, err := fs.ReadDir(p.dir.FS(), stagingRel)
	return len(staged) > 0 || p.exists(intentRel), unlessMissing(err)
}

// recover puts in order what another process left. The root is claimed.
func (p *place) recover(ctx context.Context) ([]Repair, error) {
	var repairs []Repair
	in, err := p.declared()
	if err != nil {
		return nil, err
	}
	if in != nil {
		outcome, err := p.settle(ctx, in)
		if err != nil {
			return nil, p.cannotSettle(ctx, in, err)
		}
		repairs = append(repairs, Repair{Root: p.root.Name, Slug: in.Slug, Action: in.Action, Outcome: outcome})
		p.store.log.Warn("put in order a change that was cut off", "root", p.root.Path, "slug", in.Slug, "action", in.Action, "outcome", outcome)
	}
	p.store.settled(p.root)
	return append(repairs, p.sweep()...), ctx.Err()
}

// settle finishes or undoes an intent, by what is on disk.
func (p *place) settle(ctx context.Context, in *intent) (outcome string, err error) {
	finish, err := p.begun(ctx, in)
	if err != nil {
		return "", err
	}
	if !finish {
		return RepairUndone, p.back(ctx, in)
	}
	if err = p.dir.MkdirAll(in.staging(), 0o755); err == nil { // somebody may have cleared it away
		_, err = p.forward(ctx, in)
	}
	if err != nil {
		return "", err
	}
	return RepairFinished, p.forget()
}

// begun decides whether a change is to be finished: the table in the package documentation.
func (p *place) begun(ctx context.Context, in *intent) (bool, error) {
	if done, err := p.recorded(in); err != nil || done {
		return done, err
	}
	if in.Action == pannier.ActionUninstall {
		if p.exists(in.gone()) {
			_, same, err := p.asDecided(ctx, in, in.gone())
			return same, err
		}
		return in.replaces() && !p.exists(in.Slug), nil
	}
	return p.begunToPut(ctx, in)
}

func (p *place) begunToPut(ctx context.Context, in *intent) (bool, error) {
	pending, err := p.pending(ctx, in)
	if err != nil || pending && (!p.exists(in.gone()) || p.exists(in.Slug)) {
		return false, err
	}
	if pending {
		_, same, err := p.asDecided(ctx, in, in.gone())
		return same, err
	}
	there, err := p.printOther(ctx, in.Slug)
	if err != nil || there == in.Old && !there.IsZero() {
		return false, err
	}
	if old := p.replaced(in); old != "" {
		_, same, err := p.asDecided(ctx, in, old)
		return same, err
	}
	return p.exists(in.Slug), nil
}

// sweep removes what is staged and held by nobody.
func (p *place) sweep() []Repair {
	staged, err := fs.ReadDir(p.dir.FS(), stagingRel)
	if err != nil {
		return nil
	}
	var repairs []Repair
	for _, d := range staged {
		rel := path.Join(stagingRel, d.Name())
		if p.isHeld(rel) {
			continue
		}
		if err := p.clear(rel); err != nil {
			p.store.log.Warn("what was staged stays", "root", p.root.Path, "directory", rel, "error", err)
			continue
		}
		repairs = append(repairs, Repair{Root: p.root.Name, Outcome: RepairCleared})
	}
	return repairs
}

// isHeld reports whether a process that lives has staged this.
func (p *place) isHeld(rel string) bool {
	f, err := p.dir.OpenFile(path.Join(rel, heldName), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer fsx.Unlock(f)
	free, err := fsx.TryLock(f)
	return !free && err == nil
}
