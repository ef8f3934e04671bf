package install

import (
	"context"

	"pannier"
)

// undo reverts the moves of an intent and removes it. It fails with [errDone] once the lock file is in place.
func (p *place) undo(ctx context.Context, in *intent) error {
	if done, err := p.isCommitted(in); err != nil || done {
		if err == nil {
			err = errDone
		}
		return err
	}
	var err error
	if in.Action == pannier.ActionUninstall {
		err = p.undoRemove(in)
	} else {
		err = p.undoPlace(ctx, in)
	}
	if err != nil {
		return err
	}
	return p.removeIntent()
}

func (p *place) undoRemove(in *intent) error {
	if err := p.moveBack(in.oldDir(), in.Slug); err != nil {
		return err
	}
	return p.moveBack(in.olderDir(), in.previous())
}

func (p *place) undoPlace(ctx context.Context, in *intent) error {
	swapped, err := p.swapped(ctx, in)
	if err != nil {
		return err
	}
	if swapped {
		if err := p.undoSwap(in); err != nil {
			return err
		}
	}
	if err := p.moveBack(in.oldDir(), in.Slug); err != nil {
		return err
	}
	if in.Action == pannier.ActionRollback {
		return p.moveBack(in.newDir(), in.previous())
	}
	return p.moveBack(in.olderDir(), in.previous())
}

// swapped reports whether the new directory is in place, also if it was changed since.
func (p *place) swapped(ctx context.Context, in *intent) (bool, error) {
	there, err := p.fingerprintOrZero(ctx, in.Slug)
	if err != nil || there == in.New || there == in.Old && !there.IsZero() {
		return there == in.New, err
	}
	pending, err := p.pending(ctx, in)
	return !pending && p.replaced(in) != "" && p.exists(in.Slug), err
}

// undoSwap moves the new directory back to staging, and the old one into place.
func (p *place) undoSwap(in *intent) error {
	if !in.Old.IsZero() && p.replaced(in) == "" { // it is the previous version already
		if err := p.moveBack(in.previous(), in.newDir()); err != nil {
			return err
		}
	}
	if p.exists(in.newDir()) && p.exists(in.Slug) {
		if err := p.exchange("undo", in.Slug, in.newDir()); !unsupported(err) {
			return err
		}
		if err := p.moveBack(in.newDir(), in.oldDir()); err != nil {
			return err
		}
	}
	return p.moveBack(in.Slug, in.newDir())
}

// moveBack moves from to to, if from exists and to does not.
func (p *place) moveBack(from, to string) error {
	if !p.exists(from) || p.exists(to) {
		return nil
	}
	return p.move("undo", from, to)
}
