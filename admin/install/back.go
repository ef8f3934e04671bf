package install

import (
	"context"

	"pannier"
)

// undo reverts the moves of an intent and removes it. It fails with [errDone] once the lock file is in place.
func (p *place) undo(ctx context.Context, in *intent) error {
	done, err := p.isCommitted(in)
	if err == nil && done {
		err = errDone
	}
	if err == nil && in.Action != pannier.ActionUninstall {
		err = p.undoSwap(ctx, in)
	}
	moved := map[string]string{in.Slug: in.oldDir(), in.previous(): in.olderDir()}
	if in.Action == pannier.ActionRollback {
		moved[in.previous()] = in.newDir()
	}
	for _, to := range []string{in.Slug, in.previous()} {
		if err == nil {
			err = p.moveOnce("undo", moved[to], to)
		}
	}
	if err != nil {
		return err
	}
	return p.removeIntent()
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
func (p *place) undoSwap(ctx context.Context, in *intent) error {
	swapped, err := p.swapped(ctx, in)
	if err != nil || !swapped {
		return err
	}
	if !in.Old.IsZero() && p.replaced(in) == "" { // it is the previous version already
		if err := p.moveOnce("undo", in.previous(), in.newDir()); err != nil {
			return err
		}
	}
	if p.exists(in.newDir()) && p.exists(in.Slug) {
		if err := p.exchange("undo", in.Slug, in.newDir()); !unsupported(err) {
			return err
		}
		if err := p.moveOnce("undo", in.newDir(), in.oldDir()); err != nil {
			return err
		}
	}
	return p.moveOnce("undo", in.Slug, in.newDir())
}
