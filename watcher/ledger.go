package watcher

import (
	"slices"
	"time"

	"pannier"
)

// ledger keeps the marks from the moment that they are made until the batch that carries them is handed over. It does no
// I/O and knows no clock; the lock of the [Watcher] guards it.
//
// Marks are kept in two lanes: what was noticed, which waits until the tree has settled, and what pannier itself has changed,
// which is complete and waits for nothing. A batch of the second alone leaves the first to settle.
type ledger struct {
	debounce debounce
	seq      uint64 // of the batch last handed over
	offering bool
	lane     // what was noticed
	own      lane
}

// lane keeps marks on their way into a batch.
//
// While a batch is on offer nobody can tell whether the consumer has taken it already: the channel knows first. So marks
// that come meanwhile are kept apart. If the batch was taken they stay for the next one; if the offer is withdrawn, they
// are put together again, with the time that they need to settle.
type lane struct {
	// pending is in no batch yet, offered is in the one on offer, and later is what must not join that one, even if it is
	// withdrawn and offered again: whoever made it while that was on offer was promised the batch behind it.
	pending, offered, later marks
}

func (l *lane) offer() { l.offered, l.pending = l.pending, marks{} }

func (l *lane) withdraw() {
	l.offered.merge(l.pending)
	l.pending, l.offered = l.offered, marks{}
}

func (l *lane) delivered() {
	l.offered = marks{}
	l.pending.merge(l.later)
	l.later = marks{}
}

// promise returns the marks of a lane that are sure to be in the batch with that Seq, which is not handed over yet.
//
// That holds because of the lock. With nothing on offer the batch after the last one is still to be evaluated, by a
// goroutine that needs the lock for that. With a batch on offer it may have been taken a moment ago, so the promise is the
// one behind it.
func (l *ledger) promise(in *lane) (m *marks, seq uint64) {
	if l.offering {
		return &in.later, l.seq + 2
	}
	return &in.pending, l.seq + 1
}

// rescan asks for everything at once and returns the Seq of the batch that will carry it, which is not handed over yet.
func (l *ledger) rescan(at time.Time) uint64 {
	m, seq := l.promise(&l.lane)
	m.all(pannier.TriggerManual, at)
	m.urgent = true
	return seq
}

// look asks for a look at directories that pannier itself has changed, as rescan does for everything.
func (l *ledger) look(dirs []string, at time.Time) uint64 {
	m, seq := l.promise(&l.own)
	m.changed(dirs, at)
	return seq
}

// due returns when the next batch is to be offered, if there is anything to offer.
func (l *ledger) due() (at time.Time, ok bool) {
	for _, promised := range []*marks{&l.later, &l.own.later, &l.own.pending} {
		if !promised.empty() {
			return promised.first, true
		}
	}
	if l.pending.empty() {
		return time.Time{}, false
	}
	return l.settled(), true
}

// settled returns when what is pending is given out on its own account.
func (l *ledger) settled() time.Time {
	if l.pending.urgent {
		return l.pending.first
	}
	return l.debounce.due(l.pending.first, l.pending.told, l.pending.last)
}

// offer returns a batch of all that is to be given out at a time: what pannier itself has changed, and what is pending too,
// unless that is still settling and can wait.
func (l *ledger) offer(at time.Time) pannier.Batch {
	if l.own.pending.empty() || !l.pending.empty() && !at.Before(l.settled()) {
		l.lane.offer()
	}
	l.own.offer()
	l.offering = true
	m := l.offered
	if !l.own.offered.empty() {
		m = marks{}
		m.merge(l.offered)
		m.merge(l.own.offered)
	}
	return pannier.Batch{
		Seq:     l.seq + 1,
		Full:    m.full,
		Dirs:    slices.Clip(m.dirs),
		Sure:    slices.Clip(m.sure),
		Trigger: m.trigger,
		Since:   m.first,
	}
}

// withdraw takes the batch on offer back; the consumer has not taken it.
func (l *ledger) withdraw() {
	if !l.offering {
		return
	}
	l.lane.withdraw()
	l.own.withdraw()
	l.offering = false
}

// delivered notes that the consumer took the batch on offer.
func (l *ledger) delivered(at time.Time) {
	l.seq++
	if l.offered.noticed() {
		l.debounce.scanned = at
	}
	l.lane.delivered()
	l.own.delivered()
	l.offering = false
}
