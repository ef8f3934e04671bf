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
	w.withdraw()
	w.poll(ctx, false)
	if at := w.backoff.at; !at.IsZero() && !time.Now().Before(at) {
		w.backoff.at = time.Time{}
		w.changed = true
		w.retryWatches(ctx)
		if w.armable() && w.failedSomewhere() {
			w.armFailed(ctx)
		}
	}
	w.handleTodo(ctx)
	if now := time.Now(); w.resyncDue(now) {
		w.scheduleResync(now)
		w.poll(ctx, true) // what it finds, the resync did not
		w.handleTodo(ctx)
		w.verify(ctx)
		w.markAll(pannier.TriggerResync, true)
	}
	w.rescanIfDue()
	due, ok := w.due()
	if ok && due <= 0 {
		if w.rearm {
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
		batch, offer = w.offer(), w.batches
	}
	return batch, offer, w.nextWake(due, ok && due > 0)
}

// resyncDue reports whether it is time to compare everything: at the interval, if there is one, and after each jump of the
// clock, which moves the time of the next.
func (w *Watcher) resyncDue(now time.Time) bool {
	if now.Before(w.nextResync.Add(w.resyncDelay())) {
		return false
	}
	return w.jumped || w.resync > 0
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

// rescanIfDue asks for a batch if it is time for the one that the consumer wants.
func (w *Watcher) rescanIfDue() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if w.revisit.IsZero() || now.Before(w.revisit) {
		return
	}
	w.revisit = time.Time{}
	w.pending.own.recordReason(pannier.TriggerGrace, now)
}

// revisitIn returns how long it is until the consumer wants a batch, if it does.
func (w *Watcher) revisitIn() (time.Duration, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Until(w.revisit), !w.revisit.IsZero()
}

// nextWake returns how long to wait when no event comes: until a batch is due, if one is to come, or there is something
// else to do.
func (w *Watcher) nextWake(due time.Duration, coming bool) time.Duration {
	wait := time.Hour // any long time
	if w.resync > 0 || w.jumped {
		wait = time.Until(w.nextResync.Add(w.resyncDelay()))
	}
	if at := w.backoff.at; !at.IsZero() {
		wait = min(wait, time.Until(at))
	}
	if at := w.poller.next; !at.IsZero() {
		wait = min(wait, time.Until(at))
	}
	if at, ok := w.revisitIn(); ok {
		wait = min(wait, at)
	}
	if coming {
		wait = min(wait, due)
	}
	return wait
}

func (w *Watcher) scheduleResync(now time.Time) {
	w.nextResync, w.jumped = now.Add(spread(w.resync)), false
}

// handleTodo does what the drain goroutine and the consumer left to do.
func (w *Watcher) handleTodo(ctx context.Context) {
	t := w.drainTodo()
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
	if !w.armable() {
		w.retryWatches(ctx)
	} else if lost, moved := w.dropLost(), w.armPlaces(); lost || moved || w.failedSomewhere() {
		w.armFailed(ctx)
	} else {
		w.armWanted(nil)
	}
	w.reportHealth()
}

// dropLost forgets the watches that report nothing any more.
func (w *Watcher) dropLost() (lost bool) {
	for _, path := range w.lost() {
		if dir := w.table.byPath[path]; dir != nil { // else it went with the one above it
			w.drop(dir)
			lost = true
		}
	}
	return lost
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

func (w *Watcher) drainTodo() todo {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.todo
	w.todo = todo{}
	return t
}

func (w *Watcher) withdraw() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending.withdraw()
}

// due returns how long it is until a batch is due, and whether one is.
func (w *Watcher) due() (time.Duration, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at, ok := w.pending.due()
	return time.Until(at), ok
}

func (w *Watcher) offer() pannier.Batch {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pending.offer(time.Now())
}

func (w *Watcher) delivered() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending.delivered(time.Now())
}
