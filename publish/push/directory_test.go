package push_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"pannier/internal/fsx"
	"pannier/publish/card"
	"pannier/publish/push"
)

// directory is a target that holds the card in the file card.json of a directory.
type directory struct {
	path   string
	pushes atomic.Int32
}

// Push replaces the file.
func (d *directory) Push(_ context.Context, c card.Card) (push.Outcome, error) {
	d.pushes.Add(1)
	if err := fsx.WriteFile(d.file(), c.JSON, fsx.WriteOptions{}); err != nil {
		return outcomeOf(err), err
	}
	return push.Outcome{}, nil
}

// Read returns the content of the file. A missing file is no card, a missing directory is no place for one.
func (d *directory) Read(context.Context, card.Card) (push.Reading, push.Outcome, error) {
	text, err := os.ReadFile(d.file())
	if _, gone := os.Stat(d.path); errors.Is(gone, fs.ErrNotExist) {
		return content{missing: "the directory was removed"}, push.Outcome{}, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, outcomeOf(err), err
	}
	return content{text: text}, push.Outcome{}, nil
}

func (d *directory) file() string { return filepath.Join(d.path, "card.json") }

func outcomeOf(err error) push.Outcome {
	if errors.Is(err, fs.ErrNotExist) {
		return push.Outcome{Plan: push.RetrySlowly, Reason: push.NotFound, Hint: "create the directory", Untouched: true}
	}
	return push.Outcome{Plan: push.Retry, Reason: push.Other, Hint: "check the disk"}
}

// content is what was in the file.
type content struct {
	text    []byte
	missing string
}

func (r content) Holds(c card.Card) bool { return bytes.Equal(r.text, c.JSON) }
func (r content) Missing() string        { return r.missing }

func (r content) Difference(card.Card) (text, hint string) {
	return "the file has another content", "see what else writes it"
}
