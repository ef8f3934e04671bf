package install

import (
	"context"

	"pannier"
)

// back takes back what was done of an intent, as far as the lock file is not in place, and forgets it.
func (p *place) back(ctx context.Context, in *intent) error {
	if done, err := p.recorded(in); err != nil || done {
		if err == nil {
			err = errDone
		}
		return err
	}
	var err error
	if in.Action == pannier.ActionUninstall {
		err = p.untake(in)
	} else {
		err = p.unput(ctx, in)
	}
	if err != nil {
		return err
	}
	return p.forget()
}

func (p *place) untake(in *intent) error {
	if err := p.moveBack(in.gone(), in.Slug); err != nil {
		return err
	}
	return p.moveBack(in.older(), in.previous())
}

func (p *place) unput(ctx context.Context, in *intent) error {
	swapped, err := p.swapped(ctx, in)
	if err != nil {
		return err
	}
	if swapped {
		if err := p.unswap(in); err != nil {
			return err
		}
	}
	if err := p.moveBack(in.gone(), in.Slug); err != nil {
		return err
	}
	if in.Action == pannier.ActionRollback {
		return p.moveBack(in.fresh(), in.previous())
	}
	return p.moveBack(in.older(), in.previous())
}

// swapped reports whether the new directory has taken its place, also where somebody has written to it since.
func (p *place) swapped(ctx context.Context, in *intent) (bool, error) {
	there, err := p.printOther(ctx, in.Slug)
	if err != nil || there == in.New || there == in.Old && !there.IsZero() {
		return there == in.New, err
	}
	pending, err := p.pending(ctx, in)
	return !pending && p.replaced(in) != "" && p.exists(in.Slug), err
}

// unswap takes the new directory from its place, and puts the old one there.
func (p *place) unswap(in *intent) error {
	if !in.Old.IsZero() && p.replaced(in) == "" { // it is kept already
		if err := p.moveBack(in.previous(), in.fresh()); err != nil {
			return err
		}
	}
	if p.exists(in.fresh()) && p.exists(in.Slug) {
		if err := p.exchange("undo", in.Slug, in.fresh()); !unsupported(err) {
			return err
		}
		if err := p.moveBack(in.fresh(), in.gone()); err != nil {
			return err
		}
	}
	return p.moveBack(in.Slug, in.fresh())
}

// moveBack moves what is there to where nothing is.
func (p *place) moveBack(from, to string) error {
	if !p.exists(from) || p.exists(to) {
		return nil
	}
	return p.move("undo", from, to)
}
