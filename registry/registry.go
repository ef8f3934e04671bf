// Package registry turns what is known of a workspace - its catalog, its config.yaml, the environment - into an
// immutable [pannier.Snapshot], and hands out the newest one.
//
// There is one writer at a time, and readers take no lock: [Registry.Current] is one atomic load. A snapshot is replaced
// as a whole, and only when its digest changes, so whoever holds one never sees half of a change.
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
	// Runtime names the agent's adapter; empty leaves it to config.yaml.
	Runtime string
}

// Options configure a [Registry].
type Options struct {
	// Inputs are those that do not come with a batch.
	Inputs Inputs
	// FirstVersion is the version of the first snapshot; 0 means 1.
	FirstVersion uint64
	// Registerer takes the metrics; nil leaves them out.
	Registerer prometheus.Registerer
}

// Registry holds the newest snapshot. All methods are for any number of callers.
type Registry struct {
	current atomic.Pointer[pannier.Snapshot]
	metrics *metrics

	mu          sync.Mutex
	inputs      Inputs
	nextVersion uint64
	updated     chan struct{} // closed and replaced by every update
	subscribers map[chan *pannier.Snapshot]struct{}
}

// New returns a registry without a snapshot.
func New(o Options) *Registry {
	return &Registry{
		metrics: newMetrics(o.Registerer), inputs: o.Inputs, nextVersion: max(1, o.FirstVersion),
		updated: make(chan struct{}), subscribers: map[chan *pannier.Snapshot]struct{}{},
	}
}

// Current returns the newest snapshot, nil before the first one.
func (r *Registry) Current() *pannier.Snapshot { return r.current.Load() }

// Update changes the inputs and returns the snapshot that follows from them: a new one, or the current one where nothing
// that shows has changed. change must not keep the pointer.
func (r *Registry) Update(change func(*Inputs)) *pannier.Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.inputs)
	s := build(r.inputs)
	if current := r.current.Load(); current == nil || current.Digest != s.Digest {
		s.Version, s.Time = r.nextVersion, time.Now().UTC()
		r.nextVersion++
		r.current.Store(s)
		r.metrics.observe(s)
		r.announceLocked(s)
	}
	close(r.updated)
	r.updated = make(chan struct{})
	return r.current.Load()
}

// announceLocked puts the snapshot into the slot of every subscriber, in the place of one that was not fetched.
func (r *Registry) announceLocked(s *pannier.Snapshot) {
	for slot := range r.subscribers {
		select {
		case <-slot:
		default:
		}
		slot <- s // only this method sends, under the lock, so the slot is empty
	}
}

// Subscribe returns a channel that has the newest snapshot whenever it is one that the subscriber has not seen; whoever
// is slow misses those between. The current one, where there is one, is there at once. cancel ends the subscription and
// closes the channel.
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
