package install

import (
	"context"
	"path"

	"pannier"
)

// forward makes the moves of an intent that were not made yet.
func (p *place) forward(ctx context.Context, in *intent) (configEdit, error) {
	var err error
	if in.Action == pannier.ActionUninstall {
		err = p.removeSkill(ctx, in)
	} else if err = p.placeNew(ctx, in); err == nil {
		err = p.keepPrevious(ctx, in)
	}
	if err == nil {
		err = p.commitLock(in)
	}
	if err != nil {
		return configEdit{}, err
	}
	return p.updateConfig(in), nil
}

// pending reports whether the new directory is not in place yet.
func (p *place) pending(ctx context.Context, in *intent) (bool, error) {
	if in.Action == pannier.ActionUninstall {
		return false, nil
	}
	staged, err := p.fingerprintOrZero(ctx, in.newDir())
	if err != nil || staged == in.New || in.Action != pannier.ActionRollback {
		return staged == in.New, err
	}
	kept, err := p.fingerprintOrZero(ctx, in.previous())
	return kept == in.New, err
}

// placeNew moves the new directory into place, and what was there to staging.
func (p *place) placeNew(ctx context.Context, in *intent) error {
	pending, err := p.pending(ctx, in)
	if err != nil || !pending {
		return err
	}
	if !p.exists(in.newDir()) {
		if err := p.dir.MkdirAll(path.Dir(in.newDir()), 0o755); err != nil {
			return err
		}
		if err := p.move("previous.take", in.previous(), in.newDir()); err != nil {
			return err
		}
	}
	if in.Old.IsZero() || !p.exists(in.Slug) {
		return p.move("swap", in.newDir(), in.Slug)
	}
	err = p.exchange("swap", in.newDir(), in.Slug)
	if !unsupported(err) {
		return err
	}
	if err := p.move("swap.aside", in.Slug, in.oldDir()); err != nil {
		return err
	}
	return p.move("swap.second", in.newDir(), in.Slug)
}

// replaced returns the path in staging of the directory that was replaced, empty if there is none.
func (p *place) replaced(in *intent) string {
	for _, rel := range []string{in.newDir(), in.oldDir()} {
		if p.exists(rel) {
			return rel
		}
	}
	return ""
}

// keepPrevious makes the replaced directory the previous version. The older one moves to staging.
func (p *place) keepPrevious(ctx context.Context, in *intent) error {
	old := p.replaced(in)
	if old == "" && !in.Old.IsZero() {
		return nil // it is the previous version already
	}
	if err := p.checkMoved(ctx, in, old); err != nil {
		return err
	}
	if err := p.moveOnce("previous.clear", in.previous(), in.olderDir()); err != nil || old == "" {
		return err
	}
	return p.move("previous.keep", old, in.previous())
}

// removeSkill moves the skill and its previous version to staging.
func (p *place) removeSkill(ctx context.Context, in *intent) error {
	if in.replaces() {
		if err := p.moveOnce("remove.target", in.Slug, in.oldDir()); err != nil {
			return err
		}
	}
	if err := p.checkMoved(ctx, in, in.oldDir()); err != nil {
		return err
	}
	return p.moveOnce("remove.previous", in.previous(), in.olderDir())
}

// commitLock puts the new lock file in place. From here on the change is done.
func (p *place) commitLock(in *intent) error {
	done, err := p.isCommitted(in)
	if err != nil || done {
		return err
	}
	written := path.Join(in.staging(), pannier.LockFile)
	if !p.exists(written) {
		if err := p.prepareLock(in); err != nil {
			return err
		}
	}
	return p.commitFile("lock.commit", written, lockRel)
}

// isCommitted reports whether the lock file matches the intent.
func (p *place) isCommitted(in *intent) (bool, error) {
	lock, err := p.lock()
	return err == nil && lock.says(in.Slug, in.After), err
}
