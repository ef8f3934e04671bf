package state

import (
	"bytes"
	"maps"
	"slices"
	"sync"

	bolterrors "go.etcd.io/bbolt/errors"
)

// memory is an engine without a disk. It refuses what the disk refuses, so that one can stand in for the other.
type memory struct {
	mu      sync.RWMutex
	closed  bool
	buckets map[string]map[string][]byte
}

func (m *memory) get(bucket, key string) ([]byte, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.closed {
		return nil, ErrClosed
	}
	return bytes.Clone(m.buckets[bucket][key]), nil
}

func (m *memory) put(bucket, key string, raw []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	if err := checkNames(bucket, key); err != nil {
		return err
	}
	if m.buckets[bucket] == nil {
		m.buckets[bucket] = map[string][]byte{}
	}
	m.buckets[bucket][key] = raw
	return nil
}

func (m *memory) remove(bucket, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	delete(m.buckets[bucket], key)
	return nil
}

func (m *memory) all(bucket string) ([]entry, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.closed {
		return nil, ErrClosed
	}
	var entries []entry
	for _, key := range slices.Sorted(maps.Keys(m.buckets[bucket])) {
		entries = append(entries, entry{key, bytes.Clone(m.buckets[bucket][key])})
	}
	return entries, nil
}

func (m *memory) inPlace() error { return nil }

func (m *memory) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed, m.buckets = true, nil
	return nil
}

// checkNames says beforehand what bbolt would say of the names.
func checkNames(bucket, key string) error {
	switch {
	case bucket == "":
		return bolterrors.ErrBucketNameRequired
	case key == "":
		return bolterrors.ErrKeyRequired
	case len(key) > maxKeyBytes || len(bucket) > maxKeyBytes:
		return bolterrors.ErrKeyTooLarge
	}
	return nil
}
