package sidecar

import (
	"context"
	"sync/atomic"
	"time"

	"pannier"
	"pannier/loader"
)

// censusEvery is how often a tree in which discovery sees no change is counted again. Directories inside of skills are not
// watched, so nothing else tells of a SKILL.md that appears there.
const censusEvery = 5 * time.Minute

// census counts, apart from the reload path, the SKILL.md that discovery does not go into, so that none is dropped
// silently.
type census struct {
	loader *loader.Loader
	due    chan struct{} // has one where a count is due
	asked  time.Time     // when one was last asked for; its owner is who takes batches in
	found  atomic.Pointer[[]pannier.Problem]
}

func newCensus(l *loader.Loader) *census {
	return &census{loader: l, due: make(chan struct{}, 1)}
}

// request makes a count due after a look, where the look changed something or the last count is old.
func (c *census) request(changed bool) {
	if !changed && time.Since(c.asked) < censusEvery {
		return
	}
	c.asked = time.Now()
	select {
	case c.due <- struct{}{}:
	default: // one is due already
	}
}

// run counts whenever a count is due, until ctx is done.
func (c *census) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.due:
		}
		problems, err := c.loader.Census(ctx)
		if err != nil {
			return // ctx is done
		}
		c.found.Store(&problems)
		releaseMemory() // a count is the last thing that follows upon a change
	}
}

// problems returns what the last count found.
func (c *census) problems() []pannier.Problem {
	if found := c.found.Load(); found != nil {
		return *found
	}
	return nil
}
