// Package registry turns what is known of a workspace - its catalog, its config.yaml, the environment - into an
// immutable [pannier.Snapshot], and hands out the newest one.
//
// There is one writer at a time, and readers take no lock: [Registry.Current] is one atomic load. A snapshot is
// replaced as a whole, and only when its digest changes, so a holder never sees half of a change.
package registry

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pannier"
)

// Inputs are all that a snapshot is made from.
type Inputs struct {
	Catalog   pannier.Catalog
	Workspace pannier.Workspace
	// Environment is what requirements are judged against.
	Environment pannier.Environment
	// Policies are the layers above the start values.
	Policies pannier.Policies
	// MinimumTrust is what a skill's origin must have at least; empty asks for nothing.
	MinimumTrust pannier.Trust
	// Config are the items of [pannier.Requirements] that the workspace has: files, and dotted keys of config.yaml;
	// sorted.
	Config []string
	// Judges say what modules know of skills. Each returns its newest [Judge]; the list does not change while the
	// registry is used.
	Judges []func() Judge
	// Paced is [pannier.Snapshot.Paced]. It counts for one update.
	Paced bool
}

// Judge is what a module knows of the skills at one time. It is never changed: other answers are another Judge.
type Judge struct {
	// Version differs from that of each other Judge of the module whose answers differ.
	Version uint64
	// Of returns what is known of a skill. It must be fast: it is called for every skill. Nil knows nothing of any.
	Of func(*pannier.Skill) Judgement
	// Problems are reported with those of the workspace.
	Problems []pannier.Problem
}

// Judgement is what a module knows of one skill.
type Judgement struct {
	// Reasons are against the skill. The list is never changed.
	Reasons []pannier.Reason
	// Found is what was found in the files of the skill; nil for nothing.
	Found *pannier.Contents
}

// Options configure a [Registry].
type Options struct {
	// Inputs are those that do not come with a batch.
	Inputs Inputs
	// Last is the newest snapshot of the process before. A snapshot with its digest gets its version again; every other
	// one gets a higher version. Last has no digest where the process before may have served later snapshots.
	Last Mark
	// FirstVersion is the least version of a snapshot that is not Last; 0 means 1.
	FirstVersion uint64
	// Remember receives the mark of each new snapshot after the snapshot is served. It must not block. Nil is allowed.
	Remember func(Mark)
	// Registerer takes the metrics; nil leaves them out.
	Registerer prometheus.Registerer
}

// Mark tells one snapshot from others.
type Mark struct {
	Version uint64         `json:"version"`
	Digest  pannier.Digest `json:"digest"`
}

// Registry holds the newest snapshot. All methods are for any number of callers.
type Registry struct {
	current atomic.Pointer[pannier.Snapshot]
	metrics *metrics

	remember func(Mark)

	mu          sync.Mutex
	inputs      Inputs
	assessment  *assessment // of the newest inputs that a snapshot was made of; nil before the first
	last        Mark
	first       uint64        // the least version of a snapshot that is not last
	updated     chan struct{} // closed and replaced by every update
	subscribers map[chan *pannier.Snapshot]struct{}
}

// New returns a registry without a snapshot.
func New(o Options) *Registry {
	return &Registry{
		metrics: newMetrics(o.Registerer), remember: o.Remember, inputs: o.Inputs, last: o.Last, first: o.FirstVersion,
		updated: make(chan struct{}), subscribers: map[chan *pannier.Snapshot]struct{}{},
	}
}

// Prepare changes the inputs of the snapshots to come, and makes none.
func (r *Registry) Prepare(change func(*Inputs)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.inputs)
}

// Current returns the newest snapshot, nil before the first one.
func (r *Registry) Current() *pannier.Snapshot { return r.current.Load() }

// Update changes the inputs and returns the snapshot that follows from them: a new one, or the current one where
// nothing that shows has changed. change must not keep the pointer.
func (r *Registry) Update(change func(*Inputs)) *pannier.Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inputs.Paced = false
	change(&r.inputs)
	if a := r.assessment; a != nil && samePolicies(&r.inputs, &a.in) {
		r.inputs.Policies = a.in.Policies // all further comparisons are of one map
	}
	if !r.assessment.covers(&r.inputs) {
		var s *pannier.Snapshot
		s, r.assessment = assess(r.inputs, r.assessment)
		s.Digest, s.Paced = r.assessment.digest(s), r.inputs.Paced
		if current := r.current.Load(); current == nil || current.Digest != s.Digest {
			r.serveLocked(s)
		}
	}
	close(r.updated)
	r.updated = make(chan struct{})
	return r.current.Load()
}

// Rejudge returns the snapshot that follows from what the judges say now.
func (r *Registry) Rejudge() *pannier.Snapshot { return r.Update(func(*Inputs) {}) }

// serveLocked replaces the current snapshot. One with the digest of the last one keeps its version, also over a
// restart.
func (r *Registry) serveLocked(s *pannier.Snapshot) {
	if s.Digest != r.last.Digest || r.last.Version == 0 {
		r.last = Mark{Version: max(r.last.Version+1, r.first), Digest: s.Digest}
	}
	s.Version, s.Time = r.last.Version, time.Now().UTC()
	r.current.Store(s)
	r.metrics.observe(s)
	for slot := range r.subscribers { // takes the place of one that was not fetched
		select {
		case <-slot:
		default:
		}
		slot <- s // only this method sends, under the lock, so the slot is empty
	}
	if r.remember != nil {
		r.remember(r.last)
	}
}

// Subscribe returns a channel that has the newest snapshot whenever it is one that the subscriber has not seen; a
// subscriber that is slow misses those between. The current one, where there is one, is there at once. cancel ends the
// subscription and closes the channel.
func (r *Registry) Subscribe() (snapshots <-chan *pannier.Snapshot, cancel func()) {
	slot := make(chan *pannier.Snapshot, 1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.subscribers[slot] = struct{}{}
	if s := r.current.Load(); s != nil {
		slot <- s
	}
	return slot, sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.subscribers, slot)
		close(slot)
	})
}

// Wait returns the snapshot that is served once everything up to the batch with that Seq has been taken in. It fails
// only when ctx is done.
func (r *Registry) Wait(ctx context.Context, seq uint64) (*pannier.Snapshot, error) {
	for {
		r.mu.Lock()
		served, updated := r.inputs.Catalog.Seq, r.updated
		r.mu.Unlock()
		if s := r.current.Load(); s != nil && served >= seq {
			return s, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-updated:
		}
	}
}
