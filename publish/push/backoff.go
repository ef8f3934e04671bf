package push

import (
	"context"
	"time"
)

// How long to wait between attempts.
const (
	backoffBase = 100 * time.Millisecond
	backoffCap  = 30 * time.Second
	// refusedCap bounds the wait if nothing listens: such an attempt costs no target anything, and the card should be
	// there soon after the target is back.
	refusedCap = 2 * time.Second
	// A slow retry comes after slowLeast and a random part of slowSpread: about every 30 s.
	slowLeast  = 24 * time.Second
	slowSpread = 12 * time.Second
	// credentialsPoll is how often credentials that were refused are compared with the present ones: a platform revokes
	// a token a moment before it writes the next one.
	credentialsPoll = time.Second
)

type failureRow struct {
	count        int
	unauthorized int    // of them, the newest that were about credentials
	ended        int    // the length of the row that the newest success ended
	reason       Reason // of the newest failure
	changed      bool   // the newest failure is the first, or has another reason than the one before it
}

func (r *failureRow) record(a attempt) {
	if a.err == nil {
		*r = failureRow{ended: r.count}
		return
	}
	r.count++
	r.changed, r.reason = a.Reason != r.reason, a.Reason
	if a.Plan == RetryWithToken {
		r.unauthorized++
	} else {
		r.unauthorized = 0
	}
}

// pause waits until the next attempt, which is of the newest card. One that is offered ends the wait, but not before the
// time that the target asked for; one that is not offered yet does not.
func (p *Publisher) pause(ctx context.Context, a attempt) {
	defer func() { p.Offer(p.waiting()) }()
	var delay time.Duration
	if a.Plan != RetryWithToken || p.loop.failures.unauthorized > 1 {
		delay = p.delay(a.Outcome, p.loop.failures.count)
	}
	wait(ctx, a.After, nil)
	if a.Plan == RetryWithToken {
		p.awaitCredentials(ctx, delay-a.After)
		return
	}
	wait(ctx, delay-a.After, p.cardReady)
}

// awaitCredentials waits for d, or until there are other credentials than those that were refused.
func (p *Publisher) awaitCredentials(ctx context.Context, d time.Duration) {
	target, ok := p.target.(Authenticator)
	end := time.Now().Add(d)
	for left := d; left > 0 && ctx.Err() == nil; left = time.Until(end) {
		if wait(ctx, min(left, credentialsPoll), p.cardReady) || ok && target.CredentialsChanged() {
			return
		}
	}
}

// delay is how long the next request waits after so many failures in a row, without what the target asks for.
func (p *Publisher) delay(o Outcome, failures int) time.Duration {
	switch o.Plan {
	case NoService:
		return p.checkInterval()
	case Retry:
		longest := backoff(failures)
		if o.Refused {
			longest = min(longest, refusedCap)
		}
		return p.jitter(longest)
	}
	return slowLeast + p.jitter(slowSpread)
}

// backoff is the longest wait after so many failures in a row, counted from 1.
func backoff(failures int) time.Duration {
	return min(backoffBase<<min(failures-1, 16), backoffCap)
}

// wait returns after d, or earlier if ctx is done or wake is signalled, and reports whether it was the latter.
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

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
