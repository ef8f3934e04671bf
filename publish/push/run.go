package push

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"pannier"
	"pannier/publish/card"
)

type attempt struct {
	Outcome
	err error
}

// Offer makes c the card that the target should hold; the newest wins. It never blocks. A card without content is
// ignored. c must not be changed afterwards.
func (p *Publisher) Offer(c card.Card) {
	if len(c.JSON) == 0 {
		return
	}
	if c.Digest.IsZero() {
		c.Digest = pannier.DigestOf(c.JSON)
	}
	p.state.mu.Lock()
	defer p.state.mu.Unlock()
	changed, coalesced := p.state.slot.put(c)
	if coalesced {
		p.metrics.coalesced.Inc()
	}
	if changed {
		p.metrics.setPending(p.state.slot.pending())
		signal(p.cardReady)
	}
}

// signal signals on a channel with room for one. If a signal is waiting, another adds nothing.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func clearSignal(c <-chan struct{}) {
	select {
	case <-c:
	default:
	}
}

// Run pushes what is offered, and follows events and peers, until ctx is done, and then returns nil. It waits for every
// goroutine that it started, and for the request in flight. Run must be called once.
func (p *Publisher) Run(ctx context.Context) error {
	var others sync.WaitGroup
	defer others.Wait()
	if p.follower != nil {
		others.Go(func() { p.follow(ctx) })
	}
	if p.lister != nil {
		others.Go(func() { p.readPeers(ctx) })
	}
	if p.loop.unconfirmed {
		// The target may hold another card than that of the outbox. If that cannot be read the card is pushed, which does no harm.
		p.loop.unconfirmed = false
		if c, ok := p.newest(); (!ok || p.check(ctx, c) != resultSame) && ctx.Err() == nil {
			p.updateSlot((*slot).forgetHeld)
		}
	}
	for ctx.Err() == nil {
		p.step(ctx)
	}
	p.saveRecord()
	return p.Flush(context.WithoutCancel(ctx)) // the caller does not wait for a disk that does not answer
}

// step makes one attempt with the card that is due, or waits until one is. A card that is offered after sendable was
// checked is left to the next step.
func (p *Publisher) step(ctx context.Context) {
	if !p.sendable() {
		p.saveRecord()
		p.idle(ctx)
		return
	}
	begun := time.Now()
	a, waits := p.readBefore(ctx)
	if ctx.Err() != nil {
		return
	}
	if waits {
		p.postpone(ctx, a, begun)
		return
	}
	if p.acceptShown(begun) {
		return
	}
	p.state.mu.Lock()
	clearSignal(p.cardReady)
	c, ok := p.state.slot.beginPush()
	if ok {
		p.state.overwritten = false // this push replaces the other card
		p.state.recent.record(c, time.Now())
		clearSignal(p.shown)
	}
	p.state.mu.Unlock()
	p.saveRecord()
	if !ok {
		return
	}
	begun = time.Now()
	o, err := p.target.Push(ctx, c)
	a = attempt{o, err}
	ended := time.Now()
	if err == nil {
		a = p.verify(ctx, c, a)
	}
	p.conclude(c, a, begun, ended)
	if a.err != nil && a.Plan != AwaitChange {
		p.pause(ctx, a)
	}
}

func (p *Publisher) sendable() bool {
	p.state.mu.Lock()
	defer p.state.mu.Unlock()
	s := &p.state.slot
	return s.sendable() && !(s.blocked() && time.Now().Before(p.loop.retry.at.Add(retryApart)))
}

func (p *Publisher) newest() (c card.Card, stored bool) {
	p.state.mu.Lock()
	defer p.state.mu.Unlock()
	return p.state.slot.card, !p.state.slot.pending() && !p.state.slot.card.Digest.IsZero()
}

func (p *Publisher) updateSlot(change func(*slot)) {
	p.state.mu.Lock()
	defer p.state.mu.Unlock()
	change(&p.state.slot)
	p.metrics.setPending(p.state.slot.pending())
}

// idle waits for a card, and meanwhile checks the one that the target holds, or retries one that was refused.
func (p *Publisher) idle(ctx context.Context) {
	p.endAttempted()
	var due <-chan time.Time
	at, act := p.nextTask()
	if act != nil {
		timer := time.NewTimer(time.Until(at))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-ctx.Done():
	case <-p.cardReady:
	case <-p.retryNow:
		p.reconcile(ctx)
	case <-due:
		act(ctx)
	}
}

// nextTask returns what to do while no card is due, and when; nil for nothing.
func (p *Publisher) nextTask() (at time.Time, act func(context.Context)) {
	c, stored := p.newest()
	switch {
	case stored && p.reader != nil:
		return p.loop.reads.next, func(ctx context.Context) {
			if d := p.throttled(); d > 0 {
				p.loop.reads.next = time.Now().Add(d + p.jitter(restSpread))
				return
			}
			p.check(ctx, c)
		}
	case !stored && p.Health().Blocked:
		at = p.loop.retry.next
		p.state.mu.Lock()
		defer p.state.mu.Unlock()
		if p.state.slot.again {
			at = p.loop.retry.at.Add(retryApart)
		}
		return at, func(context.Context) { p.Retry() }
	}
	return time.Time{}, nil
}

// restSpread is the random part by which a request comes after the time in which requests that can wait were to be left
// out. That time ends for all sidecars behind an address at once.
const restSpread = time.Minute

// rest waits while requests that can wait are to be left out.
func (p *Publisher) rest(ctx context.Context) {
	for d := p.throttled(); d > 0 && ctx.Err() == nil; d = p.throttled() {
		wait(ctx, d+p.jitter(restSpread), nil)
	}
}

func (p *Publisher) throttled() time.Duration {
	if t, ok := p.target.(Throttler); ok {
		return t.Wait()
	}
	return 0
}

// conclude records how an attempt ended, also one that a reading kept from the target.
func (p *Publisher) conclude(c card.Card, a attempt, begun, ended time.Time) {
	p.loop.failures.record(a)
	if a.Plan == AwaitChange {
		p.loop.retry.at, p.loop.retry.next = ended, ended.Add(refusedLeast+p.jitter(refusedSpread))
	}
	p.metrics.observe(a, begun, ended)
	p.state.recordAttempt(c, a, begun, ended)
	p.tried(a.err != nil)
	p.updateSlot(func(s *slot) { s.endPush(a, ended) })
	p.saveRecord()
	p.report(c, a, ended.Sub(begun))
	p.endAttempted()
}

// report logs and emits an attempt, after health has been updated. took is the duration of the request, 0 for none.
func (p *Publisher) report(c card.Card, a attempt, took time.Duration) {
	digest, event := c.Digest.String(), pannier.CardPush{Platform: p.name, Digest: c.Digest}
	if took > 0 {
		event.DurationMS = max(1, took.Milliseconds())
	}
	switch {
	case a.err == nil:
		p.loop.notStored, p.loop.retry.reported = pannier.Digest{}, pannier.Digest{}
		p.hinted.Store(nil)
		if failures := p.loop.failures.ended; failures > 0 {
			p.log.Info("card pushed, the platform is back", "digest", digest, "failures", failures)
		} else {
			p.log.Debug("card pushed", "digest", digest)
		}
		p.emit(pannier.EventCardPushed, event)
	case a.Reason == NotStored && p.loop.notStored != c.Digest:
		p.loop.notStored = c.Digest
		p.reject(event, a, "card accepted but not stored, trying again")
	case a.Plan == AwaitChange && p.loop.retry.reported == c.Digest:
		p.log.Debug("card refused again", "digest", digest, "error", a.err)
	case a.Plan == AwaitChange:
		p.loop.retry.reported = c.Digest
		p.reject(event, a, "card refused, it is sent again once it changes, and now and then")
	default:
		failures, level := p.loop.failures, hclog.Debug
		switch {
		case failures.count == warnAfter, failures.changed && failures.count > warnAfter:
			level = hclog.Warn
		case failures.changed:
			level = hclog.Info
		}
		p.log.Log(level, "card not pushed, trying again", append([]any{"digest", digest, "failures", failures.count, "error", a.err}, p.newHint(a.Hint)...)...)
	}
}

// newHint returns a hint for the log, and nothing if the last failure had the same hint.
func (p *Publisher) newHint(hint string) []any {
	if last := p.hinted.Swap(&hint); last != nil && *last == hint {
		return nil
	}
	return []any{"hint", hint}
}

func (p *Publisher) reject(event pannier.CardPush, a attempt, message string) {
	p.log.Warn(message, "digest", event.Digest.String(), "error", a.err, "hint", a.Hint)
	event.Error = a.err.Error()
	p.emit(pannier.EventCardRejected, event)
}

// warnAfter is the number of failures in a row that is logged as a warning. The first one is ordinary, since the
// platform often starts after its sidecars; of the others only a failure for another reason is logged.
const warnAfter = 5
