package install

import (
	"context"
	"path"

	"pannier"
)

// forward does what is left to do of an intent: every move is made only where it is not made yet.
func (p *place) forward(ctx context.Context, in *intent) (edited, error) {
	var err error
	if in.Action == pannier.ActionUninstall {
		err = p.take(ctx, in)
	} else if err = p.put(ctx, in); err == nil {
		err = p.keep(ctx, in)
	}
	if err == nil {
		err = p.record(in)
	}
	if err != nil {
		return edited{}, err
	}
	return p.list(in), nil
}

// pending reports whether the new directory has not taken its place yet.
func (p *place) pending(ctx context.Context, in *intent) (bool, error) {
	if in.Action == pannier.ActionUninstall {
		return false, nil
	}
	staged, err := p.printOther(ctx, in.fresh())
	if err != nil || staged == in.New || in.Action != pannier.ActionRollback {
		return staged == in.New, err
	}
	kept, err := p.printOther(ctx, in.previous())
	return kept == in.New, err
}

// put moves the new directory to its place. What was there is in staging then.
func (p *place) put(ctx context.Context, in *intent) error {
	pending, err := p.pending(ctx, in)
	if err != nil || !pending {
		return err
	}
	if !p.exists(in.fresh()) {
		if err := p.stagePrevious(in); err != nil {
			return err
		}
	}
	if in.Old.IsZero() || !p.exists(in.Slug) {
		return p.move("swap", in.fresh(), in.Slug)
	}
	err = p.exchange("swap", in.fresh(), in.Slug)
	if !unsupported(err) {
		return err
	}
	if err := p.move("swap.aside", in.Slug, in.gone()); err != nil {
		return err
	}
	return p.move("swap.second", in.fresh(), in.Slug)
}

// stagePrevious moves the version before to where a new one would be staged.
func (p *place) stagePrevious(in *intent) error {
	if err := p.dir.MkdirAll(path.Dir(in.fresh()), 0o755); err != nil {
		return err
	}
	return p.move("previous.take", in.previous(), in.fresh())
}

// replaced returns where in staging the directory is that was replaced, empty where there is none.
func (p *place) replaced(in *intent) string {
	for _, rel := range []string{in.fresh(), in.gone()} {
		if p.exists(rel) {
			return rel
		}
	}
	return ""
}

// keep makes what was replaced the version before. The generation older than that goes.
func (p *place) keep(ctx context.Context, in *intent) error {
	old := p.replaced(in)
	if old == "" && !in.Old.IsZero() {
		return nil // it is kept already
	}
	if err := p.checkMoved(ctx, in, old); err != nil {
		return err
	}
	if p.exists(in.previous()) && !p.exists(in.older()) {
		if err := p.move("previous.clear", in.previous(), in.older()); err != nil {
			return err
		}
	}
	if old == "" {
		return nil
	}
	return p.move("previous.keep", old, in.previous())
}

// take moves away what is uninstalled.
func (p *place) take(ctx context.Context, in *intent) error {
	if in.replaces() && p.exists(in.Slug) && !p.exists(in.gone()) {
		if err := p.move("remove.target", in.Slug, in.gone()); err != nil {
			return err
		}
	}
	if err := p.checkMoved(ctx, in, in.gone()); err != nil {
		return err
	}
	if p.exists(in.previous()) && !p.exists(in.older()) {
		return p.move("remove.previous", in.previous(), in.older())
	}
	return nil
}

// record makes the lock file say what is there now. From here on the change is done.
func (p *place) record(in *intent) error {
	done, err := p.recorded(in)
	if err != nil || done {
		return err
	}
	written := path.Join(in.staging(), pannier.LockFile)
	if !p.exists(written) {
		if err := p.prepareLock(in); err != nil {
			return err
		}
	}
	return p.replace("lock.commit", written, lockRel)
}

// recorded reports whether the lock file says what the intent wants.
func (p *place) recorded(in *intent) (bool, error) {
	lock, err := p.lock()
	return err == nil && lock.says(in.Slug, in.After), err
}
