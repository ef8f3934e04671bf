package watcher

import "time"

// debounce decides how long to wait for more changes. Time is passed in.
//
// A change that comes alone is most often a rename, complete in itself, and is given out as soon as the tree has been
// quiet for settle. Changes that follow soon after a scan are part of a longer work, and are given out when that pauses
// for quiet, or after maxWait, so that a tree that never rests is looked at all the same.
type debounce struct {
	settle, quiet, maxWait time.Duration
	// scanned is when a batch with a change was last handed over. Every change of that batch had been noticed by then, so it is also
	// the latest that anything else can have been noticed before the first change of the next batch.
	scanned time.Time
}

// due returns when changes are given out of which the first was noticed at first and the latest at last.
func (d debounce) due(first, last time.Time) time.Time {
	wait := d.quiet
	if d.isolated(first) {
		wait = d.settle
	}
	quiet, latest := last.Add(wait), first.Add(d.maxWait)
	if latest.Before(quiet) {
		return latest
	}
	return quiet
}

func (d debounce) isolated(first time.Time) bool {
	return d.settle > 0 && first.Sub(d.scanned) >= d.quiet
}
