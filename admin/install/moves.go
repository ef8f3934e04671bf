package install

import (
	"context"
	"encoding/json"
	"errors"
	"path"
	"reflect"

	"pannier"
)

// forward makes the moves of an intent that were not made yet.
func (p *place) forward(ctx context.Context, in *intent) (configEdit, error) {
	var err error
	if in.Action == pannier.ActionUninstall {
		if in.replaces() {
			err = p.moveOnce("remove.target", in.Slug, in.oldDir())
		}
		if err == nil {
			err = p.checkMoved(ctx, in, in.oldDir())
		}
		if err == nil {
			err = p.moveOnce("remove.previous", in.previous(), in.olderDir())
		}
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
	if err != nil {
		return false, err
	}
	raw, ok := lock.skills[in.Slug]
	if !ok || in.After == nil {
		return !ok && in.After == nil, nil
	}
	var a, b any
	text, err := json.Marshal(in.After)
	return errors.Join(err, json.Unmarshal(text, &a), json.Unmarshal(raw, &b)) == nil && reflect.DeepEqual(a, b), nil
}

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

// undoSwap moves the new directory back to staging, and the old one into place.
func (p *place) undoSwap(ctx context.Context, in *intent) error {
	there, err := p.fingerprintOrZero(ctx, in.Slug)
	if err != nil || there != in.New && there == in.Old && !there.IsZero() {
		return err
	}
	if there != in.New { // it may have been changed since it was moved into place
		pending, err := p.pending(ctx, in)
		if err != nil || pending || p.replaced(in) == "" || !p.exists(in.Slug) {
			return err
		}
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
