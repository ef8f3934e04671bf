package state

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync/atomic"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"pannier/internal/fsx"
)

// maxKeyBytes is bbolt's bound on keys, to which names of buckets are held as well.
const maxKeyBytes = bbolt.MaxKeySize

// disk is an engine over a bbolt file.
type disk struct {
	db   *database
	lock *os.File // its own Close makes closing twice harmless
	// stuck says that a call has panicked in bbolt. It may have kept a lock then, so that the next one, and the
	// closing, would wait for ever.
	stuck atomic.Bool
	// named says that the name of the database has reached the disk. It is synced before the first write.
	named atomic.Bool
}

func (d *disk) get(bucket, key string) (raw []byte, err error) {
	err = d.view(bucket, func(b *bbolt.Bucket) error {
		raw = bytes.Clone(b.Get([]byte(key)))
		return nil
	})
	return raw, err
}

func (d *disk) put(bucket, key string, raw []byte) error {
	if err := checkNames(bucket, key); err != nil {
		return d.unlessClosed(err)
	}
	if err := d.syncName(); err != nil {
		return err
	}
	return d.guard(func() error {
		return d.db.Update(func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte(bucket))
			if err != nil {
				return err
			}
			return b.Put([]byte(key), raw)
		})
	})
}

// syncName has the name of the database reach the disk. A directory that was moved away is synced once it is back.
func (d *disk) syncName() error {
	if d.named.Load() {
		return nil
	}
	err := fsx.SyncDir(filepath.Dir(d.db.file.Name()))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	d.named.Store(err == nil)
	return err
}

// remove begins a writing transaction only where there is something to remove, since each costs a sync.
func (d *disk) remove(bucket, key string) error {
	raw, err := d.get(bucket, key)
	if err != nil || raw == nil {
		return err
	}
	return d.guard(func() error {
		return d.db.Update(func(tx *bbolt.Tx) error { return tx.Bucket([]byte(bucket)).Delete([]byte(key)) })
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

// close leaves a database that is stuck to the end of the process.
func (d *disk) close() error {
	err := d.guard(d.db.Close)
	if d.lock == nil {
		return err
	}
	if unlock := d.lock.Close(); !errors.Is(unlock, os.ErrClosed) {
		err = errors.Join(err, unlock)
	}
	return err
}

// view calls read with a bucket, unless nothing was ever put into it.
func (d *disk) view(bucket string, read func(*bbolt.Bucket) error) error {
	return d.guard(func() error {
		return d.db.View(func(tx *bbolt.Tx) error {
			if b := tx.Bucket([]byte(bucket)); b != nil {
				return read(b)
			}
			return nil
		})
	})
}

// unlessClosed keeps the order of complaints the same as in memory: a closed store says so whatever it is asked.
func (d *disk) unlessClosed(err error) error {
	if closed := d.view("-", nil); closed != nil {
		return closed
	}
	return err
}

// guard runs a call of bbolt. A page that makes no sense panics in there, and one that the disk does not give is a fault
// in the mapping, which would end the process; both become an error, and so does every later call.
func (d *disk) guard(call func() error) error {
	if d.stuck.Load() {
		return fmt.Errorf("%w: an earlier call has failed in it", errBroken)
	}
	err := contain(call)
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
