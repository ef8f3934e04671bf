package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"pannier"
)

const maxIntentBytes = 1 << 20

// intent is what a change is going to do, so that whoever finds it can finish or undo it.
type intent struct {
	Version int `json:"version"`
	// ID names the staging directory.
	ID     string `json:"id"`
	Action string `json:"action"`
	Slug   string `json:"slug"`
	// New is the fingerprint of the directory that takes its place, Old that of the one that is there; zero where there is
	// none. They differ.
	New pannier.Digest `json:"new,omitzero"`
	Old pannier.Digest `json:"old,omitzero"`
	// Unprinted says that a directory without a fingerprint, because it is too large for one, is there and is uninstalled.
	Unprinted bool `json:"unprinted,omitempty"`
	// After is what the lock file will say, nil where the skill will not be in it.
	After *pannier.LockEntry `json:"after,omitempty"`
}

func (in *intent) staging() string  { return path.Join(stagingRel, in.ID) }
func (in *intent) fresh() string    { return path.Join(in.staging(), "new", in.Slug) }
func (in *intent) gone() string     { return path.Join(in.staging(), "gone") }
func (in *intent) older() string    { return path.Join(in.staging(), "older") }
func (in *intent) previous() string { return path.Join(previousRel, in.Slug) }

// replaces reports whether there is a directory that the change takes from its place.
func (in *intent) replaces() bool { return in.Unprinted || !in.Old.IsZero() }

// errDone says that a change is past the point where it could be undone.
var errDone = errors.New("the change is past undoing; it is finished at the next start")

// run makes a change: its intent is on disk before anything moves. After an error, what was there before is there again.
func (p *place) run(ctx context.Context, in *intent) (edited, error) {
	if err := errors.Join(p.prepareLock(in), ctx.Err()); err != nil {
		return edited{}, err
	}
	ctx = context.WithoutCancel(ctx)
	err := p.declare(in)
	var e edited
	if err == nil {
		e, err = p.forward(ctx, in)
	}
	if err != nil {
		if undo := p.back(ctx, in); undo != nil {
			p.store.log.Error("a change of what is installed can neither be finished nor undone now", "root", p.root.Path, "slug", in.Slug, "error", undo)
			err = errors.Join(err, undo)
		}
		return e, err
	}
	if err := p.forget(); err != nil {
		p.store.log.Warn("the intent of a change that is done stays", "root", p.root.Path, "error", err)
	}
	return e, nil
}

// prepareLock writes the lock file as it will be, so that a full disk shows before anything moves.
func (p *place) prepareLock(in *intent) error {
	lock, err := p.lock()
	if err != nil {
		return err
	}
	text, err := lock.with(in.Slug, in.After)
	if err != nil {
		return err
	}
	return p.write("lock.write", path.Join(in.staging(), pannier.LockFile), text)
}

// declare puts the intent where a recovery finds it.
func (p *place) declare(in *intent) error {
	text, err := json.Marshal(in)
	if err != nil {
		return err
	}
	written := path.Join(in.staging(), path.Base(intentRel))
	if err := p.write("intent.write", written, text); err != nil {
		return err
	}
	return p.replace("intent.commit", written, intentRel)
}

// declared returns the intent that a process left, nil where there is none.
func (p *place) declared() (*intent, error) {
	text, err := p.readFile(intentRel, maxIntentBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var in intent
	if err := json.Unmarshal(text, &in); err != nil || in.Version != 1 || !isName(in.ID) || !isName(in.Slug) {
		return nil, refuse("install.intent", fmt.Sprintf("%s/%s can not be read, so nobody knows what was under way", p.root.Path, intentRel), "compare the skills with the lock file, then remove it")
	}
	return &in, nil
}

// isName reports whether a text names one directory below another.
func isName(text string) bool { return fs.ValidPath(text) && text != "." && path.Base(text) == text }

// forget removes the intent, where there is one.
func (p *place) forget() error {
	if !p.exists(intentRel) {
		return nil
	}
	if err := p.store.step("intent.remove"); err != nil {
		return err
	}
	if err := p.dir.Remove(intentRel); err != nil {
		return err
	}
	return p.sync(pannier.OwnDir)
}
