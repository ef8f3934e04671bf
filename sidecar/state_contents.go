package sidecar

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/hashicorp/go-hclog"

	"pannier"
	"pannier/internal/latest"
)

// keyContents is the key of what was found in the files of skills, in bucketSnapshot.
const keyContents = "contents"

// maxKeptContents bounds their JSON in bytes. A restart looks into the skills that are left out as if they were new.
const maxKeptContents = 8 << 20

// contentsStore keeps what was found in the files of skills for the next process.
type contentsStore struct {
	store  *store
	log    hclog.Logger
	writer *latest.Writer[map[string]pannier.Contents]
}

// contentsRow is what was found in one skill.
type contentsRow struct {
	Path     []byte           `json:"path"` // of any bytes
	Contents pannier.Contents `json:"contents"`
}

func newContentsStore(s *store, log hclog.Logger) *contentsStore {
	c := &contentsStore{store: s, log: log}
	c.writer = latest.NewWriter(c.write)
	return c
}

// read returns what the process before has kept, by path. Where that cannot be read, all skills are looked into again.
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
	if err := (lenientStore{c.store}).Put(bucketSnapshot, keyContents, rows); err != nil {
		c.log.Warn("contents of skill files not written to the state; the next start reads the files again", "error", err)
	}
}
