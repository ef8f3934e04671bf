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

// intent describes a change, so that another process can finish or undo it.
type intent struct {
	Version int `json:"version"`
	// ID names the staging directory.
	ID     string `json:"id"`
	Action string `json:"action"`
	Slug   string `json:"slug"`
	// New is the fingerprint of the new directory, Old that of the present one; zero if there is none. They differ.
	New pannier.Digest `json:"new,omitzero"`
	Old pannier.Digest `json:"old,omitzero"`
	// Unprinted says that the directory to uninstall is too large for a fingerprint.
	Unprinted bool `json:"unprinted,omitempty"`
	// After is the new entry of the lock file, nil if there is none.
	After *pannier.LockEntry `json:"after,omitempty"`
}

func (in *intent) staging() string  { return path.Join(stagingRel, in.ID) }
func (in *intent) newDir() string   { return path.Join(in.staging(), "new", in.Slug) }
func (in *intent) oldDir() string   { return path.Join(in.staging(), "gone") }
func (in *intent) olderDir() string { return path.Join(in.staging(), "older") }
func (in *intent) previous() string { return path.Join(previousRel, in.Slug) }

// replaces reports whether the change moves a directory away.
func (in *intent) replaces() bool { return in.Unprinted || !in.Old.IsZero() }

// errDone says that a change can no longer be undone.
var errDone = errors.New("the change can no longer be undone; the next start finishes it")

// run makes a change. The intent is on disk before anything moves. An error or a panic undoes
// the change.
func (p *place) run(ctx context.Context, in *intent) (e configEdit, err error) {
	if err := errors.Join(p.prepareLock(in), ctx.Err()); err != nil {
		return configEdit{}, err
	}
	ctx = context.WithoutCancel(ctx)
	done := false
	defer func() {
		if done {
			return
		}
		if undo := p.undo(ctx, in); undo != nil {
			p.store.log.Error("a change can neither be finished nor undone", "root", p.root.Path, "slug", in.Slug, "error", undo)
			err = errors.Join(err, undo)
		}
	}()
	text, err := json.Marshal(in)
	if err != nil {
		return e, err
	}
	written := path.Join(in.staging(), path.Base(intentRel))
	if err = p.write("intent.write", written, text); err == nil {
		err = p.commitFile("intent.commit", written, intentRel)
	}
	if err == nil {
		e, err = p.forward(ctx, in)
	}
	if err != nil {
		return e, err
	}
	done = true
	if err := p.removeIntent(); err != nil {
		p.store.log.Warn("removing the intent of a finished change failed", "root", p.root.Path, "error", err)
	}
	return e, nil
}

// prepareLock writes the new lock file, so that a full disk is noticed before anything moves.
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

// readIntent returns the intent that a process left, nil if there is none.
func (p *place) readIntent() (*intent, error) {
	text, err := p.readFile(intentRel, maxIntentBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var in intent
	if err := json.Unmarshal(text, &in); err != nil || in.Version != 1 || !isName(in.ID) || !isName(in.Slug) {
		return nil, refuse("install.intent", fmt.Sprintf("%s/%s is invalid, so the interrupted change is unknown", p.root.Path, intentRel), "compare the skills with the lock file, then remove it")
	}
	return &in, nil
}

// isName reports whether a text is a single path component.
func isName(text string) bool { return fs.ValidPath(text) && text != "." && path.Base(text) == text }

// removeIntent removes the intent, if there is one.
func (p *place) removeIntent() error {
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
