package state

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
)

// fresh is the engine of a database that did not exist. Creating one waits for the disk, and there is nothing to read in it, so
// it is created in the background: only writes wait for it.
type fresh struct {
	path string
	lock *os.File

	disk   atomic.Pointer[disk] // nil until the database exists
	closed atomic.Bool
	mu     sync.Mutex // held while the database is created
}

func newFresh(path string, lock *os.File) *fresh {
	f := &fresh{path: path, lock: lock}
	f.mu.Lock() // so that closing waits for the creation
	go func() {
		defer f.mu.Unlock()
		_, _ = f.createLocked() // where it fails, the first write tries again
	}()
	return f
}

func (f *fresh) createLocked() (*disk, error) {
	if d := f.disk.Load(); d != nil {
		return d, nil
	}
	if f.closed.Load() {
		return nil, ErrClosed
	}
	if err := placeOf(f.lock); err != nil { // another process may use what is there now
		return nil, err
	}
	db, err := openDatabase(f.path, false)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", f.path, err)
	}
	d := &disk{db: db, lock: f.lock}
	f.disk.Store(d)
	return d, nil
}

// created returns the database, and creates it where that has failed before.
func (f *fresh) created() (*disk, error) {
	if d := f.disk.Load(); d != nil {
		return d, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.createLocked()
}

// read calls do with the database; before that exists, there is nothing to read.
func (f *fresh) read(do func(*disk) error) error {
	if d := f.disk.Load(); d != nil {
		return do(d)
	}
	if f.closed.Load() {
		return ErrClosed
	}
	return nil
}

func (f *fresh) get(bucket, key string) (raw []byte, err error) {
	err = f.read(func(d *disk) error { raw, err = d.get(bucket, key); return err })
	return raw, err
}

func (f *fresh) all(bucket string) (entries []entry, err error) {
	err = f.read(func(d *disk) error { entries, err = d.all(bucket); return err })
	return entries, err
}

func (f *fresh) remove(bucket, key string) error {
	return f.read(func(d *disk) error { return d.remove(bucket, key) })
}

func (f *fresh) put(bucket, key string, raw []byte) error {
	if err := checkNames(bucket, key); err != nil && !f.closed.Load() {
		return err
	}
	d, err := f.created()
	if err != nil {
		return err
	}
	return d.put(bucket, key, raw)
}

func (f *fresh) inPlace() error {
	if d := f.disk.Load(); d != nil {
		return d.inPlace()
	}
	return placeOf(f.lock)
}

// close waits for the creation.
func (f *fresh) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if d := f.disk.Load(); d != nil {
		f.closed.Store(true)
		return d.close()
	}
	if f.closed.Swap(true) {
		return nil
	}
	return f.lock.Close()
}
