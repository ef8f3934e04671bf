// Package policy keeps the workspace layer of policy: what clients set of skills, over restarts.
//
// A [Store] has a row for each slug and kind of root that somebody has set a switch of. A row without a switch left is
// removed, so what is kept is what differs from the layers below. Nothing in here judges skills; the registry does, by the
// map that [Store.All] returns.
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

// Bucket is where the rows lie in the state store. A key is the kind of root, a slash and the slug.
const Bucket = "policy"

// MaxRows bounds the rows, since a slug needs no skill.
const MaxRows = 20_000

// ErrFull says that there are MaxRows rows already.
var ErrFull = fmt.Errorf("there are %d policies already", MaxRows)

// Rows is what is needed of the state store. A change is on disk when a call returns, or not made where it fails.
type Rows interface {
	Put(bucket, key string, value any) error
	Delete(bucket, key string) error
	All(bucket string) (iter.Seq2[string, json.RawMessage], error)
}

// Store is the workspace layer. It is for any number of callers, and the only one that writes its rows.
type Store struct {
	rows Rows
	mu   sync.Mutex // held while a row is written
	all  atomic.Pointer[map[pannier.PolicyKey]pannier.PolicyEntry]
}

// Open reads the rows that are kept. It fails where one makes no sense: it may be the one that disables a skill.
func Open(rows Rows) (*Store, error) {
	kept, err := rows.All(Bucket)
	if err != nil {
		return nil, fmt.Errorf("open policy: %w", err)
	}
	all := map[pannier.PolicyKey]pannier.PolicyEntry{}
	for name, raw := range kept {
		kind, slug, ok := strings.Cut(name, "/")
		var entry pannier.PolicyEntry
		if err := json.Unmarshal(raw, &entry); err != nil || !ok {
			return nil, fmt.Errorf("open policy: row %q is %.100s: %w", name, raw, errors.Join(err, errName(ok)))
		}
		all[pannier.PolicyKey{Slug: slug, SourceKind: pannier.SourceKind(kind)}] = entry
	}
	s := &Store{rows: rows}
	s.all.Store(&all)
	return s, nil
}

func errName(ok bool) error {
	if ok {
		return nil
	}
	return errors.New("its name has no kind of root")
}

// All returns every row. The map is never changed.
func (s *Store) All() map[pannier.PolicyKey]pannier.PolicyEntry { return *s.all.Load() }

// Set changes what one row says of the skill at a path, and returns how it was before and how it is then. Where it fails, it
// is as it was. A change that changes nothing does not reach the disk, and a row that [ErrFull] keeps out is not made.
func (s *Store) Set(key pannier.PolicyKey, path string, change pannier.PolicyChange) (before, after pannier.PolicyEntry, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.All()
	before = all[key]
	after = own(before.Change(change, path))
	if after.Equal(before) {
		return before, before, nil
	}
	if before.IsZero() && len(all) >= MaxRows {
		return before, before, ErrFull
	}
	if err := s.write(key, after); err != nil {
		return before, before, fmt.Errorf("keep the policy of %s: %w", key.Slug, err)
	}
	next := maps.Clone(all)
	if next[key] = after; after.IsZero() {
		delete(next, key)
	}
	s.all.Store(&next)
	return before, after, nil
}

// Restore sets one row to what it was known to be, whatever it is now.
func (s *Store) Restore(key pannier.PolicyKey, to pannier.PolicyEntry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if to.Equal(s.All()[key]) {
		return nil
	}
	if err := s.write(key, to); err != nil {
		return fmt.Errorf("restore the policy of %s: %w", key.Slug, err)
	}
	next := maps.Clone(s.All())
	if next[key] = to; to.IsZero() {
		delete(next, key)
	}
	s.all.Store(&next)
	return nil
}

func (s *Store) write(key pannier.PolicyKey, entry pannier.PolicyEntry) error {
	name := string(key.SourceKind) + "/" + key.Slug
	if entry.IsZero() {
		return s.rows.Delete(Bucket, name)
	}
	return s.rows.Put(Bucket, name, entry)
}

// Unbound reports whether there is a row without a path. Only an older version writes one.
func (s *Store) Unbound() bool {
	for _, e := range s.All() {
		if e.Path == "" {
			return true
		}
	}
	return false
}

// Bind gives every row without a path the one that path returns. Where it fails, the paths hold for as long as the process
// runs.
func (s *Store) Bind(path func(pannier.PolicyKey) string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := maps.Clone(s.All())
	var failed error
	for key, e := range next {
		if e.Path != "" {
			continue
		}
		e.Path = path(key)
		next[key] = e
		if failed == nil {
			failed = s.write(key, e)
		}
	}
	s.all.Store(&next)
	if failed != nil {
		return fmt.Errorf("keep the paths of policies: %w", failed)
	}
	return nil
}

// own returns an entry that shares no pointer with the caller's.
func own(s pannier.PolicyEntry) pannier.PolicyEntry {
	if s.Enabled != nil {
		s.Enabled = new(*s.Enabled)
	}
	if s.AllowImplicit != nil {
		s.AllowImplicit = new(*s.AllowImplicit)
	}
	return s
}
