package api

import (
	"cmp"
	"slices"
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

// skillUses holds the uses of the skills of one snapshot, by the index of the entry.
type skillUses struct {
	snapshot *pannier.Snapshot
	uses     []*skillUse
}

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
	if !u.isFor(s) {
		u = u.carriedTo(s)
		a.newest.Store(u)
	}
	return u
}

func (u *skillUses) isFor(s *pannier.Snapshot) bool {
	return u != nil && (u.snapshot == s || u.snapshot.Version > s.Version)
}

// carriedTo returns the uses for another snapshot. A skill is the same one where slug and path are.
func (u *skillUses) carriedTo(s *pannier.Snapshot) *skillUses {
	next := &skillUses{snapshot: s, uses: make([]*skillUse, len(s.Entries))}
	for i := range s.Entries {
		if u != nil {
			next.uses[i] = u.find(s.Entries[i].Slug, s.Entries[i].Path)
		}
		if next.uses[i] == nil {
			next.uses[i] = &skillUse{}
		}
	}
	return next
}

// find returns the use of a skill, nil where there is none. An empty path is that of the skill that owns the slug.
func (u *skillUses) find(slug, path string) *skillUse {
	entries := u.snapshot.Entries
	i, _ := slices.BinarySearchFunc(entries, slug, func(e pannier.Entry, slug string) int { return cmp.Compare(e.Slug, slug) })
	for ; i < len(entries) && entries[i].Slug == slug; i++ {
		if path == "" || entries[i].Path == path {
			return u.uses[i]
		}
	}
	return nil
}

func (u *skillUses) times(e *pannier.Entry) *pannier.Activity {
	use := u.find(e.Slug, e.Path)
	if use == nil {
		return &pannier.Activity{}
	}
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

func (h *Handler) recordLoad(e *pannier.Entry) {
	if use := h.activity.of(h.Snapshot()).find(e.Slug, e.Path); use != nil {
		advance(&use.loaded, time.Now().Unix())
	}
}

func (h *Handler) recordBodies(shown []readBody) {
	if len(shown) == 0 {
		return
	}
	uses, now := h.activity.of(h.Snapshot()), time.Now().Unix()
	for _, b := range shown {
		if use := uses.find(b.Slug, ""); use != nil {
			advance(&use.loaded, now)
		}
	}
}

// recordInvocation records that a skill was invoked by name, which hands out its body too.
func (h *Handler) recordInvocation(e *pannier.Entry) {
	if use := h.activity.of(h.Snapshot()).find(e.Slug, e.Path); use != nil {
		now := time.Now().Unix()
		advance(&use.loaded, now)
		advance(&use.active, now)
	}
}

func (h *Handler) recordActive(answer *turnAnswer) {
	uses, now := h.activity.of(h.Snapshot()), time.Now().Unix()
	for i := range answer.Active {
		if use := uses.find(answer.Active[i].Slug, ""); use != nil {
			advance(&use.active, now)
		}
	}
	if answer.automatic == nil {
		return
	}
	for _, use := range answer.automatic.uses {
		advance(&use.active, now)
	}
}
