package sidecar

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"pannier"
	"pannier/internal/fsx"
	"pannier/internal/latest"
	"pannier/internal/state"
)

// placeEvery is how often pannier checks that the state directory is the one that is open, by the stat of two files.
const placeEvery = time.Second

// tryEvery is how often it tries to write there while writes succeed, and tryBytes how much.
const (
	tryEvery = 5 * time.Second
	tryBytes = 64 << 10
)

// goneHint is what to do about a state directory that is gone.
const goneHint = "move the directory back, or restart, which begins with what is there then"

// store is the state store, and remembers whether it can be written and is where it was.
type store struct {
	*state.Store
	log    hclog.Logger
	failed atomic.Pointer[error] // of the last write; nil after one that did not fail
	gone   atomic.Pointer[error] // nil while the directory is in its place
}

// Put keeps a value, unless it would be lost with this process.
func (s *store) Put(bucket, key string, value any) error {
	return s.change(func() error { return s.Store.Put(bucket, key, value) })
}

// Delete removes a value, unless it would come back with the next process.
func (s *store) Delete(bucket, key string) error {
	return s.change(func() error { return s.Store.Delete(bucket, key) })
}

func (s *store) change(write func() error) error {
	if err := s.checkPlace(); err != nil {
		return err
	}
	return s.recordWrite(write())
}

func (s *store) recordWrite(err error) error {
	if err == nil {
		s.failed.Store(nil)
	} else if !errors.Is(err, state.ErrClosed) {
		s.failed.Store(&err)
	}
	return err
}

// checkPlace refuses where a change would be lost with this process, because the state directory is gone.
func (s *store) checkPlace() error {
	err := s.checkPlaceNow()
	if err == nil {
		return nil
	}
	return &pannier.Refusal{Code: "state.gone", Message: "nothing was changed, because it would be lost with this process: " + err.Error(), Hint: goneHint}
}

// checkPlaceNow finds out whether the directory is in its place, and logs where that has changed.
func (s *store) checkPlaceNow() error {
	err := s.InPlace()
	switch {
	case err == nil:
		if s.gone.Swap(nil) != nil {
			s.log.Info("the state directory is back")
		}
	case s.gone.Swap(&err) == nil:
		s.log.Error("changes are refused, because they would be lost with this process", "error", err)
	}
	return err
}

// watchPlace checks again and again until ctx is done, in its own goroutine: the disk may not answer.
func (d *stateDir) watchPlace(ctx context.Context) error {
	d.policy.finishStart()
	var tried time.Time
	tick := time.NewTicker(placeEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			if d.store.checkPlaceNow() == nil && d.dir != "" && d.store.ReadOnly() == nil && (now.Sub(tried) >= tryEvery || d.store.failed.Load() != nil) {
				tried = now
				d.tryWrite()
			}
			d.policy.finishStart()
		}
	}
}

// tryWrite writes a file and removes it, so that health reports a disk without room before a change fails, and no longer than the
// disk is full. Nothing is synced: a file system refuses what it has no room for when it is written, a remote one when it is closed.
func (d *stateDir) tryWrite() {
	const name = ".try"
	err := func() error {
		root, err := fsx.OpenRoot(d.dir)
		if err != nil {
			return err
		}
		defer root.Close()
		_ = root.Remove(name) // of a process that was killed
		f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = f.Write(make([]byte, tryBytes))
		return errors.Join(err, f.Close(), root.Remove(name))
	}()
	if noRoom(err) {
		_ = d.store.recordWrite(err)
	}
	if err != nil {
		return
	}
	if failed := d.store.failed.Load(); failed != nil && noRoom(*failed) {
		_ = d.store.recordWrite(nil)
	}
	d.audit.Retry(noRoom)
}

// noRoom reports whether a write failed because the disk or a quota is full.
func noRoom(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }

func (s *store) conditions() (conditions []pannier.Condition) {
	if err := s.gone.Load(); err != nil {
		conditions = append(conditions, condition("state_gone", pannier.SeverityError, "state",
			"changes are refused, because they would be lost with this process: "+(*err).Error(), goneHint))
	}
	if err := s.failed.Load(); err != nil {
		conditions = append(conditions, condition("state_unwritable", pannier.SeverityError, "state",
			"state cannot be written: "+(*err).Error(),
			"make room in the state directory, which pannier notices, or make it writable; the next change tries again"))
	}
	return conditions
}

// lenientStore is the store for what no client asks to be kept, such as the version of the snapshot, or which skills are blocked. No
// client can be refused: it is written wherever the directory is by now, and is there once that is moved back. Nothing else is
// asked of the disk.
type lenientStore struct{ *store }

// Put keeps a value.
func (s lenientStore) Put(bucket, key string, value any) error {
	return s.recordWrite(s.Store.Put(bucket, key, value))
}

// Delete removes a value.
func (s lenientStore) Delete(bucket, key string) error {
	return s.recordWrite(s.Store.Delete(bucket, key))
}

const keyContents = "contents"

// maxKeptContents bounds their JSON in bytes. A restart reads the skills that are left out as if they were new.
const maxKeptContents = 8 << 20

type contentsStore struct {
	store  *store
	log    hclog.Logger
	writer *latest.Writer[map[string]pannier.Contents]
}

type contentsRow struct {
	Path     []byte           `json:"path"` // of any bytes
	Contents pannier.Contents `json:"contents"`
}

func newContentsStore(s *store, log hclog.Logger) *contentsStore {
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
	if err := (lenientStore{c.store}).Put(bucketSnapshot, keyContents, rows); err != nil {
		c.log.Warn("contents of skill files not written to the state; the next start reads the files again", "error", err)
	}
}
