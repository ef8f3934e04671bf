package sidecar

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// shutdownTimeout is how long the parts of a sidecar may take to end after it is asked to: requests under way have three seconds,
// a push has two. What has not ended by then waits for a disk that does not answer, and the process ends without it.
const shutdownTimeout = 5 * time.Second

// closeTimeout is how long the state may take to close. What it holds is on disk already.
const closeTimeout = time.Second

// tasks are the goroutines of a sidecar, by name. The first that fails ends them all.
type tasks struct {
	group *errgroup.Group

	mu      sync.Mutex
	running []string
	failed  error // of the first part that failed
}

// newTasks returns no tasks yet, and the context to run them with, which is done when they have to end.
func newTasks(ctx context.Context) (*tasks, context.Context) {
	group, ctx := errgroup.WithContext(ctx)
	return &tasks{group: group}, ctx
}

// run runs a part in a goroutine of its own, until ctx is done. That it was interrupted by that, in the
// midst of its start for instance, is not a failure.
func (t *tasks) run(ctx context.Context, name string, f func(context.Context) error) {
	t.mu.Lock()
	t.running = append(t.running, name)
	t.mu.Unlock()
	t.group.Go(func() error {
		err := f(ctx)
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			err = nil
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		i := slices.Index(t.running, name)
		t.running = slices.Delete(t.running, i, i+1)
		if t.failed == nil {
			t.failed = err
		}
		return err
	})
}

// wait returns once all parts have ended, or timeout after they had to, with the names of those that have not ended,
// sorted, and the error of the first that failed.
func (t *tasks) wait(ctx context.Context, timeout time.Duration) (left []string, err error) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = t.group.Wait() // the error is failed
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		within(timeout, ended)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(slices.Values(t.running)), t.failed
}

// within reports whether ended is closed before the timeout.
func within(timeout time.Duration, ended <-chan struct{}) bool {
	late := time.NewTimer(timeout)
	defer late.Stop()
	select {
	case <-ended:
		return true
	case <-late.C:
		return false
	}
}
