package state

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"pannier/internal/fsx"
)

// maxKeyBytes is bbolt's bound on keys, to which names of buckets are held as well.
const maxKeyBytes = bbolt.MaxKeySize

// disk is an engine over a bbolt file. Creating one waits for the disk, and there is nothing to read in it, so a file
// that does not exist is created in the background: only writes wait for it.
type disk struct {
	path string
	lock *os.File // its own Close makes closing twice harmless

	db       atomic.Pointer[database] // nil until the file exists
	creating sync.Mutex               // held while the file is created
	closed   atomic.Bool

	// stuck says that a call has panicked in bbolt. It may have kept a lock then, so that the next one, and the
	// closing, would wait for ever.
	stuck atomic.Bool
	// named says that the name of the database has reached the disk. It is synced before the first write.
	named atomic.Bool
}

func newDisk(path string, lock *os.File, db *database) *disk {
	d := &disk{path: path, lock: lock}
	if d.db.Store(db); db == nil {
		d.creating.Lock() // so that closing waits for the creation
		go func() {
			defer d.creating.Unlock()
			_ = d.createLocked() // where it fails, the first write tries again
		}()
	}
	return d
}

// createLocked creates the file where that is missing.
func (d *disk) createLocked() error {
	if d.db.Load() != nil {
		return nil
	}
	if d.closed.Load() {
		return ErrClosed
	}
	if err := placeOf(d.lock); err != nil { // another process may use what is there now
		return err
	}
	db, err := openDatabase(d.path, false)
	if err != nil {
		return fmt.Errorf("create %s: %w", d.path, err)
	}
	d.db.Store(db)
	return nil
}

func (d *disk) get(bucket, key string) (raw []byte, err error) {
	err = d.view(bucket, func(b *bbolt.Bucket) error {
		raw = bytes.Clone(b.Get([]byte(key)))
		return nil
	})
	return raw, err
}

func (d *disk) put(bucket, key string, raw []byte) error {
	if d.closed.Load() {
		return ErrClosed
	}
	if err := checkNames(bucket, key); err != nil {
		return err
	}
	if d.db.Load() == nil {
		d.creating.Lock()
		err := d.createLocked()
		d.creating.Unlock()
		if err != nil {
			return err
		}
	}
	if !d.named.Load() {
		err := fsx.SyncDir(filepath.Dir(d.path))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a directory that was moved away is synced once it is back
			return err
		}
		d.named.Store(err == nil)
	}
	return d.guard(func(db *database) error {
		return db.Update(func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte(bucket))
			if err != nil {
				return err
			}
			return b.Put([]byte(key), raw)
		})
	})
}

// remove begins a writing transaction only where there is something to remove, since each costs a sync.
func (d *disk) remove(bucket, key string) error {
	raw, err := d.get(bucket, key)
	if err != nil || raw == nil {
		return err
	}
	return d.guard(func(db *database) error {
		return db.Update(func(tx *bbolt.Tx) error { return tx.Bucket([]byte(bucket)).Delete([]byte(key)) })
	})
}

func (d *disk) all(bucket string) (entries []entry, err error) {
	err = d.view(bucket, func(b *bbolt.Bucket) error {
		return b.ForEach(func(k, v []byte) error {
			entries = append(entries, entry{string(k), bytes.Clone(v)})
			return nil
		})
	})
	return entries, err
}

// close waits for the creation, and leaves a database that is stuck to the end of the process.
func (d *disk) close() error {
	d.creating.Lock()
	defer d.creating.Unlock()
	if d.closed.Load() {
		return nil
	}
	err := d.guard((*database).Close)
	d.closed.Store(true)
	if d.lock != nil {
		err = errors.Join(err, d.lock.Close())
	}
	return err
}

func (d *disk) inPlace() error {
	if db := d.db.Load(); db != nil {
		return placeOf(db.file, d.lock)
	}
	return placeOf(d.lock)
}

// view calls read with a bucket, unless nothing was ever put into it.
func (d *disk) view(bucket string, read func(*bbolt.Bucket) error) error {
	return d.guard(func(db *database) error {
		return db.View(func(tx *bbolt.Tx) error {
			if b := tx.Bucket([]byte(bucket)); b != nil {
				return read(b)
			}
			return nil
		})
	})
}

// guard runs a call of bbolt, unless the file does not exist yet. A page that makes no sense panics in there, and one
// that the disk does not give is a fault in the mapping, which would end the process; both become an error, and so does
// every later call.
func (d *disk) guard(call func(*database) error) error {
	db := d.db.Load()
	switch {
	case d.stuck.Load():
		return fmt.Errorf("%w: an earlier call has failed in it", errBroken)
	case db == nil && d.closed.Load():
		return ErrClosed
	case db == nil:
		return nil
	}
	err := contain(func() error { return call(db) })
	switch {
	case errors.Is(err, bolterrors.ErrDatabaseNotOpen):
		return ErrClosed
	case errors.Is(err, errBroken):
		d.stuck.Store(true)
	}
	return err
}

// errBroken says that bytes are not those of a database.
var errBroken = errors.New("the database is broken")

func contain(call func() error) (err error) {
	before := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(before)
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", errBroken, r)
		}
	}()
	return call()
}
