package molecule

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"pannier"
	"pannier/publish/card"
)

// How long to wait between tries.
const (
	backoffBase = 100 * time.Millisecond
	backoffCap  = 30 * time.Second
	// refusedCap is the most that is waited where nothing listens: such a try costs no platform anything, and the card
	// should be there soon after the platform is back.
	refusedCap = 2 * time.Second
	// A slow retry comes after slowLeast and a random part of slowSpread: about every 30 s.
	slowLeast  = 24 * time.Second
	slowSpread = 12 * time.Second
	// maxRetryAfter bounds what the platform can ask for.
	maxRetryAfter = 5 * time.Minute
)

// warnAfter is the failure of a row that is logged as a warning. The first one is ordinary, since the platform often starts
// after its sidecars; between and after the two, only a failure for another reason is logged.
const warnAfter = 5

// row counts failures in a row.
type row struct {
	failures     int
	unauthorized int    // of them, the newest that were about the token
	ended        int    // of the row that the newest success ended
	reason       string // of the newest failure
	changed      bool   // the newest failure has another reason than the one before it, or there is none before it
}

func (r *row) note(o outcome) {
	if o.err == nil {
		*r = row{ended: r.failures}
		return
	}
	r.failures++
	r.changed, r.reason = o.reason != r.reason, o.reason
	if o.plan == planToken {
		r.unauthorized++
	} else {
		r.unauthorized = 0
	}
}

// Offer makes c the card that the platform should hold; the newest wins. It never blocks. A card without content is
// ignored. c must not be changed afterwards.
func (p *Publisher) Offer(c card.Card) {
	if len(c.JSON) == 0 {
		return
	}
	if c.Digest.IsZero() {
		c.Digest = pannier.DigestOf(c.JSON)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	changed, coalesced := p.slot.put(c)
	if coalesced {
		p.metrics.coalesced.Inc()
	}
	if changed {
		p.metrics.pending(p.slot.pending())
		ring(p.wake)
	}
}

// ring signals on a channel with room for one. With a signal already waiting, one more would say nothing new.
func ring(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Health tells how far the platform is behind. Since is when the failures in a row began.
func (p *Publisher) Health() pannier.PushHealth {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.slot.health(p.name)
}

// Run pushes what is offered, and follows events and peers, until ctx is done, and then returns nil. A request that is in
// flight at that moment has two seconds to finish. Run must be called once.
func (p *Publisher) Run(ctx context.Context) error {
	defer p.closeIdle()
	var beside sync.WaitGroup
	defer beside.Wait()
	if p.stream != nil {
		beside.Go(func() { p.follow(ctx) })
	}
	beside.Go(func() { p.sendPromotions(ctx) })
	if p.family != nil {
		beside.Go(func() { p.keepPeers(ctx) })
	}
	p.confirm(ctx)
	for ctx.Err() == nil {
		p.turn(ctx)
	}
	p.keep()
	return p.records.Wait(context.WithoutCancel(ctx)) // the caller does not wait for a disk that does not answer
}

// turn makes one try with the card that is due, or waits until one is. A card that is offered after due has been asked is
// left to the next turn, since nobody has looked for it.
func (p *Publisher) turn(ctx context.Context) {
	if !p.due() {
		p.keep()
		p.idle(ctx)
		return
	}
	begun := time.Now()
	o, waits := p.lookBefore(ctx)
	if ctx.Err() != nil {
		return
	}
	if waits {
		p.putOff(ctx, o, begun)
		return
	}
	if p.shown(begun) {
		return
	}
	c, ok := p.take()
	p.keep()
	if !ok {
		return
	}
	if o := p.try(ctx, c); o.err != nil && o.plan != planStop {
		p.pause(ctx, o)
	}
}

// due reports whether a card is worth a request.
func (p *Publisher) due() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.slot.sendable() && !p.resting(time.Now())
}

// inStep returns the newest card, and whether the platform is known to hold it.
func (p *Publisher) inStep() (card.Card, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.slot.card, !p.slot.pending() && !p.slot.card.Digest.IsZero()
}

// amend changes what is known of the platform.
func (p *Publisher) amend(change func(*slot)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.slot)
	p.metrics.pending(p.slot.pending())
}

// take returns the card to send and takes back the signal for it: a signal that waits after this is for a newer card.
func (p *Publisher) take() (card.Card, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.wake:
	default:
	}
	c, ok := p.slot.take()
	if ok {
		p.overwritten = false // by what the push now replaces
		p.echoes.note(c.JSON, time.Now())
	}
	return c, ok
}

// idle waits for a card, and checks those that are there when it is time to, or tries one again that was refused.
func (p *Publisher) idle(ctx context.Context) {
	var due <-chan time.Time
	at, act := p.upkeep()
	if act != nil {
		timer := time.NewTimer(time.Until(at))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-ctx.Done():
	case <-p.wake:
	case <-p.alarm:
		p.reconcile(ctx)
	case <-due:
		act(ctx)
	}
}

// upkeep returns what is to be done while no card is due, and when; nil where that is nothing.
func (p *Publisher) upkeep() (at time.Time, act func(context.Context)) {
	c, ok := p.inStep()
	switch {
	case ok && !p.registry.off:
		return later(p.registry.next, time.Now().Add(p.throttle.left(time.Now()))), func(ctx context.Context) { p.check(ctx, c) }
	case !ok && p.Health().Blocked:
		return p.retryAt(), func(context.Context) { p.Retry() }
	}
	return time.Time{}, nil
}

// try makes one request and tells everybody how it went.
func (p *Publisher) try(ctx context.Context, c card.Card) outcome {
	begun := time.Now()
	_ = p.step("send")
	o := p.push(ctx, c)
	if o.plan == planStop {
		o.hint += p.hintBeside(c)
	}
	ended := time.Now()
	_ = p.step("sent")
	if o.err == nil {
		o = p.verify(ctx, c, o)
	}
	p.conclude(c, o, begun, ended)
	return o
}

// conclude tells everybody how a try went.
func (p *Publisher) conclude(c card.Card, o outcome, begun, ended time.Time) {
	p.row.note(o)
	if o.plan == planStop {
		p.refusal.note(ended, refusedLeast+p.jitter(refusedSpread))
	}
	p.metrics.observe(o, begun, ended)
	p.amend(func(s *slot) { s.settle(o, ended) })
	p.keep()
	p.report(c, o, ended.Sub(begun))
}

// pause waits for the time of the next try. A newer card cuts it short, but not below what the platform asked for.
func (p *Publisher) pause(ctx context.Context, o outcome) {
	delay := p.delay(o)
	wait(ctx, o.after, nil)
	if o.plan == planToken {
		p.awaitToken(ctx, delay-o.after)
		return
	}
	wait(ctx, delay-o.after, p.wake)
}

// tokenPoll is how often it is looked whether a token that was refused has been replaced.
const tokenPoll = time.Second

// awaitToken waits for d, or until there is another token than the one that was refused: the platform ends a token a
// moment before it writes the next one.
func (p *Publisher) awaitToken(ctx context.Context, d time.Duration) {
	end := time.Now().Add(d)
	for left := d; left > 0 && ctx.Err() == nil; left = time.Until(end) {
		if wait(ctx, min(left, tokenPoll), p.wake) {
			return
		}
		if token, err := p.token(); err == nil && digestOfToken(token) != p.tried {
			return
		}
	}
}

func digestOfToken(token string) pannier.Digest {
	return pannier.DigestOf([]byte(strings.TrimSpace(token)))
}

// delay is how long the next try waits by our own rules.
func (p *Publisher) delay(o outcome) time.Duration {
	switch {
	case o.plan == planRetry:
		return p.jitter(o.mostWait(p.row.failures))
	case o.plan == planToken && p.row.unauthorized == 1:
		return 0
	}
	return slowLeast + p.jitter(slowSpread)
}

// mostWait is the most that is waited after so many failures in a row.
func (o outcome) mostWait(failures int) time.Duration {
	if o.refused {
		return min(backoff(failures), refusedCap)
	}
	return backoff(failures)
}

// backoff is the most that is waited after so many failures in a row, counted from 1.
func backoff(failures int) time.Duration {
	most := backoffBase
	for range failures - 1 {
		if most >= backoffCap {
			break
		}
		most *= 2
	}
	return min(most, backoffCap)
}

// wait returns after d, or earlier when ctx is done or wake is signalled, and reports whether it was the latter. A nil wake
// is never.
func wait(ctx context.Context, d time.Duration, wake <-chan struct{}) (woken bool) {
	if d <= 0 {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-wake:
		return true
	}
	return false
}

// report logs and emits what became of a card. It runs after the health has been brought up to date. took is the duration of
// the request, 0 where none was made.
func (p *Publisher) report(c card.Card, o outcome, took time.Duration) {
	push := pannier.CardPush{Platform: p.name, Digest: c.Digest}
	if took > 0 {
		push.DurationMS = max(1, took.Milliseconds())
	}
	switch {
	case o.err == nil:
		p.dropped, p.refusal.told = pannier.Digest{}, pannier.Digest{}
		p.logSuccess(c)
		p.emit(pannier.EventCardPushed, push)
	case o.reason == reasonNotStored && p.dropped != c.Digest:
		p.dropped = c.Digest
		p.log.Warn("card accepted but not stored, trying again", "digest", c.Digest.String(), "error", o.err, "hint", o.hint)
		push.Error = o.err.Error()
		p.emit(pannier.EventCardRejected, push)
	case o.plan == planStop && p.refusal.told == c.Digest:
		p.log.Debug("card refused again", "digest", c.Digest.String(), "error", o.err)
	case o.plan == planStop:
		p.refusal.told = c.Digest
		p.log.Warn("card refused, it is sent again once it changes, and now and then", "digest", c.Digest.String(), "error", o.err, "hint", o.hint)
		push.Error = o.err.Error()
		p.emit(pannier.EventCardRejected, push)
	default:
		p.log.Log(p.row.level(), "card not pushed, trying again",
			"digest", c.Digest.String(), "failures", p.row.failures, "error", o.err, "hint", o.hint)
	}
}

func (p *Publisher) logSuccess(c card.Card) {
	if p.row.ended > 0 {
		p.log.Info("card pushed, the platform is back", "digest", c.Digest.String(), "failures", p.row.ended)
		return
	}
	p.log.Debug("card pushed", "digest", c.Digest.String())
}

// level is that of the newest failure in the log.
func (r *row) level() hclog.Level {
	switch {
	case r.failures == warnAfter, r.changed && r.failures > warnAfter:
		return hclog.Warn
	case r.changed:
		return hclog.Info
	}
	return hclog.Debug
}

func (p *Publisher) closeIdle() {
	if t, ok := p.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}
