package journal

import (
	"errors"
	"sync"
)

// maxSyncs bounds the syncs under way. A file that finds no room is closed without one: the kernel has what is in it, and only a
// power cut would tell.
const maxSyncs = segmentShare

// syncs are syncs of files and directories in the background, so that no event waits for them.
type syncs struct {
	failed func(error) // is told of each error; nil is allowed

	all sync.WaitGroup
	mu  sync.Mutex
	n   int
	err error // the newest
}

// begin runs sync, then end, in the background.
func (s *syncs) begin(sync, end func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n == maxSyncs {
		_ = end()
		return
	}
	s.n++
	s.all.Go(func() {
		err := errors.Join(sync(), end())
		if err != nil && s.failed != nil {
			s.failed(err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.n--
		if err != nil {
			s.err = err
		}
	})
}

// wait returns once all syncs have ended, with the newest error.
func (s *syncs) wait() error {
	s.all.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}
