package sidecar

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"pannier"
	"pannier/internal/latest"
	"pannier/internal/state"
)

// placeEvery is how often pannier checks that the state directory is the one that is open, by the stat of two files.
const placeEvery = time.Second

// tryEvery is how often it tries to write there while writes succeed.
const tryEvery = 5 * time.Second

// watchPlace checks again and again until ctx is done, in its own goroutine: the disk may not answer.
func (d *stateDir) watchPlace(ctx context.Context) error {
	d.policy.FinishStart()
	var tried time.Time
	tick := time.NewTicker(placeEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			if d.store.CheckPlaceNow() == nil && d.dir != "" && d.store.ReadOnly() == nil && (now.Sub(tried) >= tryEvery || d.store.Failed() != nil) {
				tried = now
				if d.store.Try(d.dir) {
					d.audit.Retry(state.NoSpace)
				}
			}
			d.policy.FinishStart()
		}
	}
}

const keyContents = "contents"

// maxKeptContents bounds their JSON in bytes. A restart reads the skills that are left out as if they were new.
const maxKeptContents = 8 << 20

type contentsStore struct {
	store  *state.Guarded
	log    hclog.Logger
	writer *latest.Writer[map[string]pannier.Contents]
}

type contentsRow struct {
	Path     []byte           `json:"path"` // of any bytes
	Contents pannier.Contents `json:"contents"`
}

func newContentsStore(s *state.Guarded, log hclog.Logger) *contentsStore {
	c := &contentsStore{store: s, log: log}
	c.writer = latest.NewWriter(c.write)
	return c
}

// read returns what the process before has kept, by path. Where that cannot be read, all skills are read again.
func (c *contentsStore) read() map[string]pannier.Contents {
	var rows []contentsRow
	if _, err := c.store.Get(bucketSnapshot, keyContents, &rows); err != nil {
		c.log.Warn("contents of skill files not read from the state; the files are read again", "error", err)
		return nil
	}
	contents := make(map[string]pannier.Contents, len(rows))
	for _, row := range rows {
		contents[string(row.Path)] = row.Contents
	}
	return contents
}

func (c *contentsStore) write(contents map[string]pannier.Contents) {
	rows, size := []json.RawMessage{}, 0
	for _, path := range slices.Sorted(maps.Keys(contents)) {
		row, err := json.Marshal(contentsRow{[]byte(path), contents[path]})
		if size += len(row); err != nil || size > maxKeptContents {
			break
		}
		rows = append(rows, row)
	}
	if err := (state.Lenient{Guarded: c.store}).Put(bucketSnapshot, keyContents, rows); err != nil {
		c.log.Warn("contents of skill files not written to the state; the next start reads the files again", "error", err)
	}
}
