package contents

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/hashicorp/go-hclog"

	"pannier"
	"pannier/internal/latest"
)

// The place of the contents in the state store.
const (
	bucketKept = "snapshot"
	keyKept    = "contents"
)

// maxKept bounds their JSON in bytes. A restart reads the skills that are left out as if they were new.
const maxKept = 8 << 20

// Values is the state store.
type Values interface {
	Get(bucket, key string, value any) (found bool, err error)
	Put(bucket, key string, value any) error
}

// Kept keeps the contents of skills for the next process, in the background.
type Kept struct {
	values Values
	log    hclog.Logger
	writer *latest.Writer[map[string]pannier.Contents]
}

// NewKept returns what keeps contents in a store.
func NewKept(values Values, log hclog.Logger) *Kept {
	k := &Kept{values: values, log: log}
	k.writer = latest.NewWriter(k.write)
	return k
}

type keptRow struct {
	Path     []byte           `json:"path"` // of any bytes
	Contents pannier.Contents `json:"contents"`
}

// Read returns what the process before has kept, by path. Where that cannot be read, all skills are read again.
func (k *Kept) Read() map[string]pannier.Contents {
	var rows []keptRow
	if _, err := k.values.Get(bucketKept, keyKept, &rows); err != nil {
		k.log.Warn("contents of skill files not read from the state; the files are read again", "error", err)
		return nil
	}
	contents := make(map[string]pannier.Contents, len(rows))
	for _, row := range rows {
		contents[string(row.Path)] = row.Contents
	}
	return contents
}

// Put keeps contents, by path.
func (k *Kept) Put(contents map[string]pannier.Contents) { k.writer.Put(contents) }

// Wait returns when everything is written, or with the error of ctx.
func (k *Kept) Wait(ctx context.Context) error { return k.writer.Wait(ctx) }

func (k *Kept) write(contents map[string]pannier.Contents) {
	rows, size := []json.RawMessage{}, 0
	for _, path := range slices.Sorted(maps.Keys(contents)) {
		row, err := json.Marshal(keptRow{[]byte(path), contents[path]})
		if size += len(row); err != nil || size > maxKept {
			break
		}
		rows = append(rows, row)
	}
	if err := k.values.Put(bucketKept, keyKept, rows); err != nil {
		k.log.Warn("contents of skill files not written to the state; the next start reads the files again", "error", err)
	}
}
