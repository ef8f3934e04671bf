package molecule

import (
	"errors"
	"syscall"

	"pannier/internal/fsx"
)

const (
	hintOutbox = "free space on the disk, or make the state directory writable for the user that pannier runs as"
	// hintOccupied is for what lies where the record or its directory belongs.
	hintOccupied = "something else lies in the place that the error names, where the outbox keeps its record: remove it"
)

// outboxHint is what can be done where the outbox can not be used.
func outboxHint(err error) string {
	for _, occupied := range []error{fsx.ErrNotRegular, syscall.EISDIR, syscall.ENOTDIR, syscall.ENOTEMPTY, syscall.EEXIST, syscall.ELOOP, syscall.ENXIO} {
		if errors.Is(err, occupied) {
			return hintOccupied
		}
	}
	return hintOutbox
}

// restore takes over what the outbox holds. stale says that a later card may have been pushed.
func (p *Publisher) restore(stale bool) {
	r, found, err := p.outbox.load()
	if err != nil {
		p.noteOutbox(err, "outbox not readable, what it holds is ignored")
	}
	if !found {
		return
	}
	p.slot.restore(r)
	p.unsure = !r.pending && !p.registry.off
	if stale && p.registry.off {
		p.slot.doubt()
	}
	p.metrics.pending(p.slot.pending())
}

// keep brings the outbox up to date in the background.
func (p *Publisher) keep() {
	p.mu.Lock()
	r := p.slot.record()
	p.mu.Unlock()
	if !r.card.Digest.IsZero() {
		p.records.Put(r)
	}
}

// writeRecord brings the outbox up to date. Where it cannot, the card is only in memory from then on.
func (p *Publisher) writeRecord(r record) {
	err := p.outbox.keep(r)
	if err == nil && p.outboxFails && p.outbox.known {
		p.outboxFails = false
		p.log.Info("outbox written again")
	}
	if err != nil {
		p.noteOutbox(err, "outbox not writable, cards are kept in memory only")
	}
}

// noteOutbox counts an error and tells the first of a row.
func (p *Publisher) noteOutbox(err error, message string) {
	p.metrics.outboxFails.Inc()
	if p.outboxFails {
		return
	}
	p.outboxFails = true
	p.log.Warn(message, "error", err, "hint", outboxHint(err))
}
