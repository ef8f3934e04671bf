package watcher

import "time"

// debounce decides how long to wait for more changes. Time is passed in.
//
// A change that comes alone is most often a rename, complete in itself, and is given out as soon as the tree has been
// quiet for settle. Changes that follow soon after a scan are part of a longer work, and are given out when that pauses
// for quiet, or after maxWait, so that a tree that never rests is looked at all the same. What is only looked at once more, as
// polling and newly watched directories ask for, waits no longer than a change that comes alone.
type debounce struct {
	settle, quiet, maxWait time.Duration
	// scanned is when a batch with a change was last handed over. Every change of that batch had been noticed by then, so it is also
	// the latest that anything else can have been noticed before the first change of the next batch.
	scanned time.Time
}

// due returns when marks are given out of which the first was made at first, and the first and the latest change noticed at told
// and last. With a zero told there is no change, and last is the latest mark.
func (d debounce) due(first, told, last time.Time) time.Time {
	wait := d.quiet
	if d.settle > 0 && (told.IsZero() || told.Sub(d.scanned) >= d.quiet) {
		wait = d.settle
	}
	quiet, latest := last.Add(wait), first.Add(d.maxWait)
	if latest.Before(quiet) {
		return latest
	}
	return quiet
}
