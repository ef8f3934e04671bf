package push

import (
	"time"

	"pannier"
)

// A refused card is pushed again after refusedLeast and a random part of refusedSpread, about every 15 minutes: what
// was wrong may have been repaired in the target, which reports no such thing.
const (
	refusedLeast  = 13*time.Minute + 30*time.Second
	refusedSpread = 3 * time.Minute
	// retryApart is the least between two attempts of a refused card, however often they are asked for.
	retryApart = 2 * time.Second
)

type refusedRetry struct {
	at, next time.Time // of the newest attempt, and of the next
	reported pannier.Digest
}

// Retry pushes a card again that the target refused: at once, or two seconds after the newest attempt. It never blocks,
// and does nothing if no card was refused.
func (p *Publisher) Retry() {
	p.state.mu.Lock()
	defer p.state.mu.Unlock()
	if p.state.slot.blocked() {
		p.state.slot.again = true
		signal(p.cardReady)
	}
}
