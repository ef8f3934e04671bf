package tools

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"pannier"
)

// waitingPerCall is how many calls wait for each one that can run at a time.
const waitingPerCall = 8

// schedule lets a bounded number of calls run at a time, and at most one with each key. The others wait in the order in which they
// came; a call whose key is taken does not hold up those behind it.
type schedule struct {
	mu      sync.Mutex
	max     int
	running int
	held    map[string]bool
	waiting []*waiter
}

type waiter struct {
	key   string
	ready chan struct{} // closed once the call may run
}

// acquire waits for the turn of a call. An empty key is none. release has to be called after it.
func (s *schedule) acquire(ctx context.Context, key string) (release func(), err error) {
	s.mu.Lock()
	if s.free(key) {
		s.take(key)
		s.mu.Unlock()
		return func() { s.release(key) }, nil
	}
	if len(s.waiting) >= waitingPerCall*s.max {
		s.mu.Unlock()
		return nil, refuse(pannier.ToolBusy, fmt.Sprintf("%d calls run and %d wait", s.max, waitingPerCall*s.max), "retry when some have ended")
	}
	w := &waiter{key, make(chan struct{})}
	s.waiting = append(s.waiting, w)
	s.mu.Unlock()
	select {
	case <-w.ready:
		return func() { s.release(key) }, nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	i := slices.Index(s.waiting, w)
	if i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
	}
	s.mu.Unlock()
	if i < 0 { // it may run already
		s.release(key)
	}
	return nil, errCanceled
}

func (s *schedule) free(key string) bool { return s.running < s.max && (key == "" || !s.held[key]) }

func (s *schedule) take(key string) {
	s.running++
	if key != "" {
		s.held[key] = true
	}
}

func (s *schedule) release(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	delete(s.held, key)
	for i := 0; i < len(s.waiting); {
		w := s.waiting[i]
		if !s.free(w.key) {
			i++
			continue
		}
		s.take(w.key)
		s.waiting = slices.Delete(s.waiting, i, i+1)
		close(w.ready)
	}
}
