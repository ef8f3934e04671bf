package watcher

import (
	"math/rand/v2"
	"time"
)

// What the kernel refused is asked for again soon, and then less and less often.
const (
	retryFirst = time.Second
	retryLast  = time.Minute
)

// backoff says when what failed is tried again. Time is passed in.
type backoff struct {
	at     time.Time // zero where nothing is to be tried
	delay  time.Duration
	failed time.Time
}

// fail plans the next try. What worked for a short while only goes on with the delay that it had.
func (b *backoff) fail(now time.Time, first, last time.Duration) {
	b.delay = min(2*b.delay, last)
	if b.delay == 0 || now.Sub(b.failed) > 2*last {
		b.delay = first
	}
	b.failed = now
	b.at = now.Add(spread(b.delay))
}

// spread changes a duration by a tenth at most, so that many sidecars on one node do not all do the same at once.
func spread(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.9 + 0.2*rand.Float64()))
}
