package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
)

// ErrLocked says that another process has the directory.
var ErrLocked = errors.New("another pannier is using this state directory: stop it, or give this one a directory of its own")

// ErrClosed says that the store has been closed.
var ErrClosed = errors.New("the state store is closed")

// Store is a key-value store. It is for any number of callers.
type Store struct {
	engine    engine
	recovered string
	readOnly  error
}

// engine keeps raw values. Methods are for any number of callers and fail with ErrClosed once it is closed; bytes that
// go in or come out belong to the caller.
type engine interface {
	// get returns nil where there is no such key.
	get(bucket, key string) ([]byte, error)
	put(bucket, key string, raw []byte) error
	remove(bucket, key string) error
	// all returns what a bucket holds at one instant, in the order of the keys.
	all(bucket string) ([]entry, error)
	// inPlace asks what [Store.InPlace] says.
	inPlace() error
	close() error
}

type entry struct {
	key string
	raw json.RawMessage
}

// Open opens the store in a directory and makes both where they are missing, readable by the owner alone. It waits a
// second for a process that is about to let go of the directory, then fails with [ErrLocked]. A file that cannot be
// read as a database is moved aside; see [Store.Recovered]. Where the directory cannot be written, a database that is
// there is opened for reading; see [Store.ReadOnly].
func Open(dir string) (*Store, error) {
	s, err := openDisk(dir)
	if err != nil {
		return nil, fmt.Errorf("open state in %s: %w", dir, err)
	}
	return s, nil
}

// Memory returns an empty store that keeps nothing on disk.
func Memory() *Store { return &Store{engine: &memory{buckets: map[string]map[string][]byte{}}} }

// ReadOnly returns why the values can be read and not changed, and nil where they can.
func (s *Store) ReadOnly() error { return s.readOnly }

// Recovered returns where Open moved a broken database. It is empty where there was none.
func (s *Store) Recovered() string { return s.recovered }

// Get decodes what is kept under key into value, a pointer, by [json.Unmarshal], so value should be the zero value. It
// reports whether there is something, also where value cannot take it and an error is returned; value is undefined
// then.
func (s *Store) Get(bucket, key string, value any) (found bool, err error) {
	raw, err := s.engine.get(bucket, key)
	if err != nil || raw == nil {
		return false, wrap(err, "get", bucket, key)
	}
	return true, wrap(json.Unmarshal(raw, value), "get", bucket, key)
}

// Put keeps value under key, over what is there. It has reached the disk when Put returns. Where Put fails, be it that
// value has no JSON or that the disk is full, the old value stays. Neither bucket nor key may be empty.
func (s *Store) Put(bucket, key string, value any) error {
	raw, err := json.Marshal(value)
	if err == nil {
		err = s.engine.put(bucket, key, raw)
	}
	return wrap(err, "put", bucket, key)
}

// Delete removes a key. That it is gone has reached the disk when Delete returns. A key that is not there is no error.
func (s *Store) Delete(bucket, key string) error {
	return wrap(s.engine.remove(bucket, key), "delete", bucket, key)
}

// All returns the keys of a bucket with their JSON, ordered by bytes. It reads the whole bucket at once, so what it
// yields is the state of one instant, may be kept, and can be ranged over while the store is written. A bucket that
// nothing was put into is empty.
func (s *Store) All(bucket string) (iter.Seq2[string, json.RawMessage], error) {
	entries, err := s.engine.all(bucket)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", bucket, err)
	}
	return func(yield func(string, json.RawMessage) bool) {
		for _, e := range entries {
			if !yield(e.key, e.raw) {
				return
			}
		}
	}, nil
}

// Close waits for the calls under way and lets go of the directory. Later calls fail with [ErrClosed], but closing
// again does nothing.
func (s *Store) Close() error {
	if err := s.engine.close(); err != nil {
		return fmt.Errorf("close state: %w", err)
	}
	return nil
}

func wrap(err error, verb, bucket, key string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s/%s: %w", verb, bucket, key, err)
}
