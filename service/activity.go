package api

import (
	"sync"
	"sync/atomic"
	"time"

	"pannier"
)

// activity holds when each skill of the newest snapshot was last used, in memory. It is not part of the snapshot, so using a
// skill changes no digest, no version and no ETag that covers them. Its zero value is empty; it is for any number of callers.
type activity struct {
	mu     sync.Mutex // serializes replacing newest
	newest atomic.Pointer[skillUses]
}

// skillUses holds the uses of the skills of one snapshot. A skill is the same one where slug and path are.
type skillUses struct {
	snapshot *pannier.Snapshot
	uses     map[useKey]*skillUse
}

type useKey struct{ slug, path string }

// skillUse holds Unix times in seconds; 0 is never. Writers skip a store that changes nothing, so that concurrent turns
// with a thousand skills write to the same memory once a second at most.
type skillUse struct{ loaded, active atomic.Int64 }

// of returns the uses of the skills of a snapshot, or of a newer one. Skills that are in both snapshots keep their times.
func (a *activity) of(s *pannier.Snapshot) *skillUses {
	if u := a.newest.Load(); u.isFor(s) {
		return u
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	u := a.newest.Load()
	if u.isFor(s) {
		return u
	}
	next := &skillUses{snapshot: s, uses: make(map[useKey]*skillUse, len(s.Entries))}
	for i := range s.Entries {
		key := useKey{s.Entries[i].Slug, s.Entries[i].Path}
		if u != nil {
			next.uses[key] = u.uses[key]
		}
		if next.uses[key] == nil {
			next.uses[key] = &skillUse{}
		}
	}
	a.newest.Store(next)
	return next
}

func (u *skillUses) isFor(s *pannier.Snapshot) bool {
	return u != nil && (u.snapshot == s || u.snapshot.Version > s.Version)
}

// of returns the use of a skill. That of one that is gone is kept nowhere.
func (u *skillUses) of(e *pannier.Entry) *skillUse {
	if use := u.uses[useKey{e.Slug, e.Path}]; use != nil {
		return use
	}
	return &skillUse{}
}

func (u *skillUses) times(e *pannier.Entry) *pannier.Activity {
	use := u.of(e)
	return &pannier.Activity{LoadedAt: unixTime(use.loaded.Load()), ActiveAt: unixTime(use.active.Load())}
}

func unixTime(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

func advance(at *atomic.Int64, now int64) {
	if at.Load() < now {
		at.Store(now)
	}
}

// recordLoad records that the body of a skill was handed out.
func (h *Handler) recordLoad(e *pannier.Entry) {
	advance(&h.activity.of(h.Snapshot()).of(e).loaded, time.Now().Unix())
}

// recordInvocation records that a skill was invoked by name, which hands out its body too.
func (h *Handler) recordInvocation(e *pannier.Entry) {
	h.recordLoad(e)
	advance(&h.activity.of(h.Snapshot()).of(e).active, time.Now().Unix())
}

// recordActive records the skills that are active in a turn.
func (h *Handler) recordActive(answer *turnAnswer) {
	uses, now := h.activity.of(h.Snapshot()), time.Now().Unix()
	for i := range answer.Active {
		if e, ok := answer.snapshot.Lookup(answer.Active[i].Slug); ok {
			advance(&uses.of(e).active, now)
		}
	}
	if answer.automatic != nil {
		for _, use := range answer.automatic.uses {
			advance(&use.active, now)
		}
	}
}
