// Package policy stores the workspace layer of policy: what clients set, across restarts.
//
// A [Store] has a row for each slug and kind of root with a switch that was set. A row without a switch is removed. The
// registry applies the rows.
package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"pannier"
)

// Bucket is the bucket of the rows in the state store. A key is the kind of root, a slash and the slug.
const Bucket = "policy"

// MaxRows bounds the rows, because a policy can precede its skill.
const MaxRows = 20_000

// ErrFull says that there are MaxRows rows.
var ErrFull = fmt.Errorf("there are %d policies already", MaxRows)

// Rows is the state store. A change is on disk when a method returns, or not made if the method fails.
type Rows interface {
	Put(bucket, key string, value any) error
	Delete(bucket, key string) error
	All(bucket string) (iter.Seq2[string, json.RawMessage], error)
}

// Store is the workspace layer. It is safe for concurrent use, and the only writer of its rows.
type Store struct {
	rows Rows
	mu   sync.Mutex // guards writes of rows
	all  atomic.Pointer[map[pannier.PolicyKey]pannier.PolicyEntry]
}

// Open reads the rows. It fails if one is invalid: it may be the one that disables a skill.
func Open(rows Rows) (*Store, error) {
	kept, err := rows.All(Bucket)
	if err != nil {
		return nil, fmt.Errorf("open policy: %w", err)
	}
	all := map[pannier.PolicyKey]pannier.PolicyEntry{}
	for name, raw := range kept {
		kind, slug, ok := strings.Cut(name, "/")
		var entry pannier.PolicyEntry
		err := json.Unmarshal(raw, &entry)
		if !ok {
			err = errors.New("its key has no kind of root")
		}
		if err != nil {
			return nil, fmt.Errorf("open policy: row %q is %.100s: %w", name, raw, err)
		}
		all[pannier.PolicyKey{Slug: slug, SourceKind: pannier.SourceKind(kind)}] = entry
	}
	s := &Store{rows: rows}
	s.all.Store(&all)
	return s, nil
}

// All returns every row. The map is never changed.
func (s *Store) All() map[pannier.PolicyKey]pannier.PolicyEntry { return *s.all.Load() }

// Set changes the row of a key for the skill at a path, and returns the row before and after. An error leaves it
// unchanged. Nothing is written if nothing changes. [ErrFull] says that no row can be added.
func (s *Store) Set(key pannier.PolicyKey, path string, change pannier.PolicyChange) (before, after pannier.PolicyEntry, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.All()
	before = all[key]
	after = before.Change(change, path)
	if after.Equal(before) {
		return before, before, nil
	}
	if before.IsZero() && len(all) >= MaxRows {
		return before, before, ErrFull
	}
	if err := s.replaceLocked(key, after); err != nil {
		return before, before, fmt.Errorf("store the policy of %s: %w", key.Slug, err)
	}
	return before, after, nil
}

// Restore replaces a row.
func (s *Store) Restore(key pannier.PolicyKey, to pannier.PolicyEntry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if to.Equal(s.All()[key]) {
		return nil
	}
	if err := s.replaceLocked(key, to); err != nil {
		return fmt.Errorf("restore the policy of %s: %w", key.Slug, err)
	}
	return nil
}

func (s *Store) replaceLocked(key pannier.PolicyKey, entry pannier.PolicyEntry) error {
	name := string(key.SourceKind) + "/" + key.Slug
	var err error
	if entry.IsZero() {
		err = s.rows.Delete(Bucket, name)
	} else {
		err = s.rows.Put(Bucket, name, entry)
	}
	if err != nil {
		return err
	}
	next := maps.Clone(s.All())
	if next[key] = entry; entry.IsZero() {
		delete(next, key)
	}
	s.all.Store(&next)
	return nil
}
