package sidecar

import (
	"context"
	"sync/atomic"
	"time"

	"pannier"
	"pannier/loader"
)

// censusEvery is how often a tree in which discovery sees no change is counted again. Directories inside of skills are not
// watched, so nothing else reports a SKILL.md that appears there.
const censusEvery = 5 * time.Minute

// census counts, apart from the reload path, the SKILL.md that discovery does not go into, so that none is dropped
// silently.
type census struct {
	loader *loader.Loader
	due    chan struct{} // has one where a count is due
	full   time.Time     // when all directories were last asked for; its owner is who takes batches in
	hints  hints         // the directories to read again
	found  atomic.Pointer[[]pannier.Problem]
}

func newCensus(l *loader.Loader) *census {
	return &census{loader: l, due: make(chan struct{}, 1)}
}

// request makes a count due after a scan, where the scan changed something or the last count of everything is old.
func (c *census) request(b pannier.Batch, changed bool) {
	switch old := time.Since(c.full) >= censusEvery; {
	case old || changed && b.Full:
		c.full = time.Now()
		c.hints.addAll()
	case changed:
		c.hints.add(b.Dirs)
	default:
		return
	}
	signal(c.due)
}

// run counts whenever a count is due, until ctx is done.
func (c *census) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.due:
		}
		dirs, all := c.hints.drain()
		problems, err := c.loader.Census(ctx, loader.Again{Dirs: dirs, All: all})
		if err != nil {
			return // ctx is done
		}
		c.found.Store(&problems)
		if all {
			releaseMemory() // a count is the last thing that follows upon a change
		}
	}
}

// problems returns what the last count found.
func (c *census) problems() []pannier.Problem {
	if found := c.found.Load(); found != nil {
		return *found
	}
	return nil
}
