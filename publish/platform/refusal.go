package platform

import (
	"time"

	"pannier"
)

// A card that was refused is tried again after refusedLeast and a random part of refusedSpread: about every 15 minutes. What
// was wrong may have been mended on the platform's side, where nobody tells of it.
const (
	refusedLeast  = 13*time.Minute + 30*time.Second
	refusedSpread = 3 * time.Minute
)

// refusal is when a card that the platform refused is tried again.
type refusal struct {
	at, next time.Time
	// told is the card that was last told to be refused.
	told pannier.Digest
}

func (r *refusal) note(now time.Time, every time.Duration) { r.at, r.next = now, now.Add(every) }

// hasten brings the next try forward, after something that may have changed the platform's mind, but not closer to the
// newest one than least: there may be many such things.
func (r *refusal) hasten(now time.Time, least time.Duration) {
	soon := r.at.Add(least)
	if soon.Before(now) {
		soon = now
	}
	if soon.Before(r.next) {
		r.next = soon
	}
}

// Retry has a card pushed again that the platform refused. It never blocks, and does nothing where none was.
func (p *Publisher) Retry() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.slot.blocked() {
		p.slot.again = true
		ring(p.wake)
	}
}
