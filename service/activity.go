package service

import (
	"sync"
	"sync/atomic"
	"time"

	"pannier"
)

// Activity holds when each skill of the newest snapshot was last used, in memory. It is not part of the snapshot, so
// using a skill changes no digest, no version and no ETag that covers them. Its zero value is empty; it is for any
// number of callers.
type Activity struct {
	mu     sync.Mutex // serializes replacing newest
	newest atomic.Pointer[Uses]
}

// Uses holds the uses of the skills of one snapshot. A skill is the same one where slug and path are.
type Uses struct {
	snapshot *pannier.Snapshot
	uses     map[useKey]*Use
}

type useKey struct{ slug, path string }

// Use holds Unix times in seconds; 0 is never. Writers skip a store that changes nothing, so that concurrent turns
// with a thousand skills write to the same memory once a second at most.
type Use struct{ loaded, active atomic.Int64 }

// Of returns the uses of the skills of a snapshot, or of a newer one. Skills that are in both snapshots keep their
// times.
func (a *Activity) Of(s *pannier.Snapshot) *Uses {
	if u := a.newest.Load(); u.isFor(s) {
		return u
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	u := a.newest.Load()
	if u.isFor(s) {
		return u
	}
	next := &Uses{snapshot: s, uses: make(map[useKey]*Use, len(s.Entries))}
	for i := range s.Entries {
		key := useKey{s.Entries[i].Slug, s.Entries[i].Path}
		if u != nil {
			next.uses[key] = u.uses[key]
		}
		if next.uses[key] == nil {
			next.uses[key] = &Use{}
		}
	}
	a.newest.Store(next)
	return next
}

func (u *Uses) isFor(s *pannier.Snapshot) bool {
	return u != nil && (u.snapshot == s || u.snapshot.Version > s.Version)
}

// Of returns the use of a skill. That of one that is gone is kept nowhere.
func (u *Uses) Of(e *pannier.Entry) *Use {
	if use := u.uses[useKey{e.Slug, e.Path}]; use != nil {
		return use
	}
	return &Use{}
}

// Times returns when a skill was last used.
func (u *Uses) Times(e *pannier.Entry) *pannier.Activity {
	use := u.Of(e)
	return &pannier.Activity{LoadedAt: unixTime(use.loaded.Load()), ActiveAt: unixTime(use.active.Load())}
}

func unixTime(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

// Activate records that a skill is active at a Unix time in seconds.
func (u *Use) Activate(now int64) { advance(&u.active, now) }

func advance(at *atomic.Int64, now int64) {
	if at.Load() < now {
		at.Store(now)
	}
}
