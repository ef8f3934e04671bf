package watcher

import (
	"time"

	"pannier"
)

// Backend lets tests stand in for the kernel.
type Backend = backend

// NewWith returns a watcher that opens its backend by open.
func NewWith(o Options, open func() (Backend, error)) (*Watcher, error) {
	w, err := New(o)
	if err == nil {
		w.openBackend = open
	}
	return w, err
}

// OpenNotify opens the backend of the product.
var OpenNotify = openNotify

// MaxDirty is the bound on the directories of a batch.
const MaxDirty = maxDirty

// Due asks the debounce when changes are given out. All times are on one scale.
func Due(settle, quiet, maxWait time.Duration, scanned, first, last time.Time) time.Time {
	return debounce{settle: settle, quiet: quiet, maxWait: maxWait, scanned: scanned}.due(first, last)
}

// Ledger is the ledger alone, with everything due at once.
type Ledger struct{ ledger }

// The steps of a ledger.
func (l *Ledger) Dirty(dir string, at time.Time)            { l.pending.dirty(dir, at) }
func (l *Ledger) All(trigger pannier.Trigger, at time.Time) { l.pending.all(trigger, at) }
func (l *Ledger) Rescan(at time.Time) uint64                { return l.rescan(at) }
func (l *Ledger) Offer() pannier.Batch                      { return l.offer() }
func (l *Ledger) Withdraw()                                 { l.withdraw() }
func (l *Ledger) Delivered(at time.Time)                    { l.delivered(at) }
func (l *Ledger) Due() (time.Time, bool)                    { return l.due() }

// FindWay returns where a path leads, and what is watched to learn that it leads elsewhere.
func FindWay(path string) (real string, anchors []string, err error) {
	w := findWay(path)
	return w.real, w.anchors, w.err
}
