package molecule

import (
	"fmt"
	"time"

	"pannier"
	"pannier/publish/card"
)

// A card that was refused is tried again after refusedLeast and a random part of refusedSpread: about every 15 minutes. What
// was wrong may have been mended on the platform's side, where nobody tells of it.
const (
	refusedLeast  = 13*time.Minute + 30*time.Second
	refusedSpread = 3 * time.Minute
	// retryApart is the least between two tries of a refused card that are asked for, however often that is.
	retryApart = 2 * time.Second
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

// Retry has a card pushed again that the platform refused: at once, or where it was tried within the last two seconds when
// they are over. It never blocks, and does nothing where none was.
func (p *Publisher) Retry() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.slot.blocked() {
		p.slot.again = true
		ring(p.wake)
	}
}

// resting reports whether the card was refused so short a time ago that it is not tried, even where that is asked for. The
// caller holds mu.
func (p *Publisher) resting(now time.Time) bool {
	return p.slot.blocked() && now.Before(p.refusal.at.Add(retryApart))
}

// retryAt is when a card that was refused is tried next.
func (p *Publisher) retryAt() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.slot.again {
		return p.refusal.at.Add(retryApart)
	}
	return p.refusal.next
}

const hintBeside = ". With the card go %d bytes of keys that others have registered beside it, which are carried along and may be what is refused: see what the agent registers"

// hintBeside is what there is to add to the hint on a card that was refused, where it had more in it than what is ours.
func (p *Publisher) hintBeside(c card.Card) string {
	merged, _ := merge(c.JSON, p.registry.card, p.cardMost)
	if beside := len(merged) - len(c.JSON); beside > 0 {
		return fmt.Sprintf(hintBeside, beside)
	}
	return ""
}
