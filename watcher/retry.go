package watcher

import (
	"context"

	"pannier"
)

// isUnconfirmed reports whether the kernel is to be asked again about a directory.
func (w *Watcher) isUnconfirmed(dir *watch) bool { return !dir.confirmed && w.mode.asks() }

// failedSomewhere reports whether there is a directory that could not be armed or read.
func (w *Watcher) failedSomewhere() bool {
	_, altogether := w.failed[""]
	return len(w.failed) > 1 || len(w.failed) == 1 && !altogether
}

// retryWatches asks the kernel again for all watches that it refused.
func (w *Watcher) retryWatches(ctx context.Context) {
	if w.backend == nil {
		if !w.open() {
			return
		}
		w.metrics.rearms.WithLabelValues(rearmRetry).Inc()
		if !w.mode.polls() { // nothing was watched until now
			w.armAll(ctx)
			w.markAll(pannier.TriggerError, true)
			return
		}
		w.recheck = true // the chains to what is wanted need more watches than polling does
	}
	for dir := range w.table.polled {
		if !w.isUnconfirmed(dir) {
			continue
		}
		if err := w.retryWatch(dir); limited(err) || ctx.Err() != nil { // no other would fare better
			return
		}
	}
}

// retryWatch adds a kernel watch on a polled directory. It is visited once more after that, so that no change is lost
// between the last poll and the first event.
func (w *Watcher) retryWatch(dir *watch) error {
	var err error
	if w.table.byID[dir.id] != dir { // another path may have been watched for it
		if err = w.evict(dir.id); err == nil {
			w.mu.Lock()
			w.table.byID[dir.id] = dir
			w.mu.Unlock()
		}
	}
	if err == nil {
		err = w.tryAdd(dir)
	}
	if err != nil {
		w.refuse(dir, err)
		return err
	}
	w.refuse(dir, nil)
	w.metrics.rearms.WithLabelValues(rearmRetry).Inc()
	w.visit(dir)
	return nil
}

// armFailed arms what could not be, and all that would have been found through it.
func (w *Watcher) armFailed(ctx context.Context) {
	before := w.failed
	w.failed = make(failures)
	if err := before[""]; err != nil && w.backend == nil {
		w.failed[""] = err
	}
	w.armPlaces()
	w.armReached(ctx)
	w.armWanted(nil)
	for path := range before {
		if _, still := w.failed[path]; !still {
			w.metrics.rearms.WithLabelValues(rearmRetry).Inc()
		}
	}
}
