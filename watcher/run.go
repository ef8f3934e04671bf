package watcher

import (
	"context"
	"time"

	"pannier"
)

// todo is what the drain goroutine and the consumer leave to the goroutine of Run, which may block. Any order of coming
// has the same result: gone directories are dropped first, and what is there then is read from the disk.
type todo struct {
	gone           map[string]struct{} // watched directories that were removed or renamed
	fresh          map[string]arrival  // entries that may be new directories or links
	relist         map[string]struct{} // directories in which a SKILL.md came, changed or went
	all            bool                // so many entries that everything is explored instead
	recheckPlaces  bool                // an entry on the chain to a place changed
	changedEntries map[string]struct{} // changed entries on the chains to what the consumer wants
	wanted         bool                // there is a new WatchSet, or what the last one named may be found elsewhere
	verify         bool                // the caller that asked for a scan may know of a change without an event
	rearm          bool                // the kernel lost events
	jumped         bool                // the clock did
	backendEnded   bool                // the backend ended by itself
	err            error               // the latest that the backend reported
}

// maxFresh bounds the entries that are armed one by one.
const maxFresh = 4096

// arrival is when an entry came, and the directory that it was moved from, where that is known.
type arrival struct {
	at   time.Time
	from string
}

// start arms everything that there is and asks for the start batch.
func (w *Watcher) start(ctx context.Context) {
	w.scheduleResync(time.Now())
	w.open()
	w.armUnmarked(ctx)
	if ctx.Err() != nil { // not everything is armed
		return
	}
	w.markAll(pannier.TriggerStart, true)
	close(w.started)
}

// armUnmarked arms everything that there is without marking it: a full batch follows.
func (w *Watcher) armUnmarked(ctx context.Context) {
	w.verifying = true
	defer func() { w.verifying = false }()
	w.armAll(ctx)
	w.reportHealth()
}

// next does what there is to do and returns the batch to offer, with a nil channel where none is due, and how long to
// wait for one.
func (w *Watcher) next(ctx context.Context) (batch pannier.Batch, offer chan<- pannier.Batch, wait time.Duration) {
	w.mu.Lock()
	w.pending.withdraw()
	w.mu.Unlock()
	w.poll(ctx, false)
	if at := w.backoff.at; !at.IsZero() && !time.Now().Before(at) { // what failed is tried again
		w.backoff.at = time.Time{}
		w.changed = true
		w.retryWatches(ctx)
		if w.armable() && w.failedSomewhere() {
			w.armFailed(ctx)
		}
	}
	w.handleTodo(ctx)
	// Everything is compared at the interval, if there is one, and after each jump of the clock, which moves the time of the next.
	if now := time.Now(); (w.jumped || w.resync > 0) && !now.Before(w.nextResync.Add(w.resyncDelay())) {
		w.scheduleResync(now)
		w.poll(ctx, true) // what it finds, the resync did not
		w.handleTodo(ctx)
		w.verify(ctx)
		w.markAll(pannier.TriggerResync, true)
	}
	w.mu.Lock()
	if now := time.Now(); !w.revisit.IsZero() && !now.Before(w.revisit) {
		w.revisit = time.Time{}
		w.pending.own.recordReason(pannier.TriggerGrace, now)
	}
	revisit := w.revisit
	due, coming := w.pending.due()
	w.mu.Unlock()
	if coming && time.Until(due) <= 0 {
		if w.rearm { // events were lost, so neither the watches of the kernel nor the table can be believed
			w.rearm = false
			w.metrics.rearms.WithLabelValues(rearmOverflow).Inc()
			w.closeBackend()
			w.open()
			w.armUnmarked(ctx)
		}
		// The scan that follows may find what was missing.
		if w.watchRequests.lacking && w.armable() {
			w.armWanted(nil)
			w.reportHealth()
		}
		w.mu.Lock()
		batch, offer = w.pending.offer(time.Now()), w.batches
		w.mu.Unlock()
		due = time.Time{}
	}
	wait = time.Hour // any long time
	if w.resync > 0 || w.jumped {
		wait = time.Until(w.nextResync.Add(w.resyncDelay()))
	}
	for _, at := range []time.Time{w.backoff.at, w.poller.next, revisit, due} {
		if !at.IsZero() {
			wait = min(wait, time.Until(at))
		}
	}
	return batch, offer, wait
}

// resyncDelay returns how much longer a resync waits: while something is settling, so that no half of it is scanned.
func (w *Watcher) resyncDelay() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pending.units) == 0 && !w.pending.offering {
		return 0
	}
	return w.pending.maxWait
}

func (w *Watcher) scheduleResync(now time.Time) {
	w.nextResync, w.jumped = now.Add(spread(w.resync)), false
}

// handleTodo does what the drain goroutine and the consumer left to do.
func (w *Watcher) handleTodo(ctx context.Context) {
	w.mu.Lock()
	t := w.todo
	w.todo = todo{}
	w.mu.Unlock()
	if t.err != nil {
		w.log.Warn("watching failed, so everything is compared", "error", t.err)
	}
	if t.rearm { // marked here and not where it was noticed, so that no batch carries the mark before the arming is done
		w.rearm = true
		w.markAll(pannier.TriggerOverflow, false)
	}
	if t.jumped {
		w.jumped, w.nextResync = true, time.Now()
	}
	if t.backendEnded {
		// It is marked here and not where it was noticed, so that no batch carries the mark before the polling has begun.
		w.closeBackend()
		w.fail("", errQueueClosed)
		w.armAll(ctx)
		w.markAll(pannier.TriggerError, false)
	}
	if w.armable() {
		if t.verify {
			// They are armed again as if an event had reported each.
			for _, path := range w.lost() {
				put(&t.gone, path)
			}
		}
		w.armChanged(ctx, &t)
		// What does not hang in a tree: the places themselves, and what the consumer wants besides.
		recheck := t.recheckPlaces || w.recheck
		w.recheck = false
		if recheck && w.armPlaces() {
			w.armReached(ctx)
			w.markAll(pannier.TriggerEvent, false)
		}
		if recheck || t.wanted || len(t.changedEntries) > 0 {
			w.armWanted(t.changedEntries)
		}
	}
	w.reportHealth()
}

// armChanged arms what changed in the trees.
func (w *Watcher) armChanged(ctx context.Context, t *todo) {
	for path := range t.gone {
		if dir := w.table.byPath[path]; dir != nil {
			w.drop(dir)
		}
		t.add(path, arrival{at: time.Now()})
	}
	for path := range t.relist {
		if dir := w.table.byPath[path]; dir != nil {
			w.explore(ctx, false, dir)
		}
	}
	if t.all { // which of them are links is not known
		w.armReached(ctx)
		w.markAll(pannier.TriggerEvent, false)
	}
	for path, a := range t.fresh {
		w.armFresh(ctx, path, a)
	}
}

// verify finds at a resync what no event reported, and retries what failed.
func (w *Watcher) verify(ctx context.Context) {
	w.verifying = true
	defer func() { w.verifying = false }()
	w.changed = true
	clear(w.kinds) // numbers of devices are given again
	defer w.reportHealth()
	if !w.armable() {
		w.retryWatches(ctx)
		return
	}
	anew := false
	for _, path := range w.lost() {
		if dir := w.table.byPath[path]; dir != nil { // else it went with the one above it
			w.drop(dir)
			anew = true
		}
	}
	if w.armPlaces() || anew || w.failedSomewhere() {
		w.armFailed(ctx)
	} else {
		w.armWanted(nil)
	}
}

// lost returns the directories whose kernel watch reports nothing any more: the backend has lost the watch, as it does
// when a file system is unmounted, or the watch is on what is not at the path any more, as when something was mounted over it.
func (w *Watcher) lost() (paths []string) {
	if w.backend == nil {
		return nil
	}
	held := make(map[string]struct{}, len(w.table.byPath))
	for _, path := range w.backend.WatchList() {
		held[path] = struct{}{}
	}
	for path, dir := range w.table.byPath {
		if _, ok := held[path]; dir.confirmed && (!ok || dir.replaced()) {
			paths = append(paths, path)
		}
	}
	return paths
}
