package watcher

import (
	"slices"
	"time"

	"pannier"
)

// ledger keeps the marks from the moment that they are made until the batch that carries them is handed over. It does no
// I/O and knows no clock; the lock of the [Watcher] guards it.
//
// While a batch is on offer nobody can tell whether the consumer has taken it already: the channel knows first. So marks
// that come meanwhile are kept apart. If the batch was taken they stay for the next one; if the offer is withdrawn, they
// are put together again, with the time that they need to settle.
type ledger struct {
	debounce debounce
	seq      uint64 // of the batch last handed over
	offering bool
	// pending is in no batch yet, offered is in the one on offer, and later is what must not join that one, even if it is
	// withdrawn and offered again: a Rescan made while it was on offer was promised the batch behind it.
	pending, offered, later marks
}

// rescan asks for everything at once and returns the Seq of the batch that will carry it, which is not handed over yet.
//
// That holds because of the lock. With nothing on offer the batch after the last one is still to be evaluated, by a
// goroutine that needs the lock for that. With a batch on offer it may have been taken a moment ago, so the promise is the
// one behind it.
func (l *ledger) rescan(at time.Time) uint64 {
	m, seq := &l.pending, l.seq+1
	if l.offering {
		m, seq = &l.later, l.seq+2
	}
	m.all(pannier.TriggerManual, at)
	m.urgent = true
	return seq
}

// due returns when the next batch is to be offered, if there is anything to offer.
func (l *ledger) due() (at time.Time, ok bool) {
	switch {
	case !l.later.empty():
		return l.later.first, true
	case l.pending.urgent:
		return l.pending.first, true
	case l.pending.empty():
		return time.Time{}, false
	}
	return l.debounce.due(l.pending.first, l.pending.last), true
}

// offer returns a batch of all that is pending.
func (l *ledger) offer() pannier.Batch {
	l.offered, l.pending, l.offering = l.pending, marks{}, true
	return pannier.Batch{
		Seq:     l.seq + 1,
		Full:    l.offered.full,
		Dirs:    slices.Clip(l.offered.dirs),
		Trigger: l.offered.trigger,
		Since:   l.offered.first,
	}
}

// withdraw takes the batch on offer back; the consumer has not taken it.
func (l *ledger) withdraw() {
	if !l.offering {
		return
	}
	l.offered.merge(l.pending)
	l.pending, l.offered, l.offering = l.offered, marks{}, false
}

// delivered notes that the consumer took the batch on offer.
func (l *ledger) delivered(at time.Time) {
	l.seq++
	if l.offered.noticed() {
		l.debounce.scanned = at
	}
	l.offered, l.offering = marks{}, false
	l.pending.merge(l.later)
	l.later = marks{}
}
