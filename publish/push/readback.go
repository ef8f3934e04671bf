package push

import (
	"bytes"
	"context"
	"errors"
	"time"

	"pannier"
	"pannier/publish/card"
)

// When a target is read.
const (
	// freshFor is how long a reading is good enough for the next push. It is short because an agent that starts
	// registers its new URL, and a push with the old one would take that away again.
	freshFor = 5 * time.Second
	// A check comes after checkLeast and a random part of checkSpread: about every five minutes.
	checkLeast  = 270 * time.Second
	checkSpread = 60 * time.Second
	// eventWithin is how long the event of a card that was accepted may take. It is sent before the answer.
	eventWithin = 500 * time.Millisecond
	// verifyAgain is how long a card that was accepted has to be shown if the first reading shows something else: a
	// replica or a cache may answer reads, and lag behind writes.
	verifyAgain = 2 * time.Second
	// firstReadTimeout is how long a first push waits for a first reading. Without one, the push removes what other
	// writers keep in the target, such as the URL of the agent. It is enough for a platform that starts.
	firstReadTimeout = 30 * time.Second
)

// The results of a check, as metrics report them.
const (
	resultSame       = "same"
	resultReplaced   = "replaced"
	resultUnreadable = "unreadable"
)

const (
	hintUnreadable = "until it does, a card that it accepts counts as stored, one that something else overwrites is noticed by its event stream alone, and what others have written beside the card may be lost; it is asked again every five minutes. If it cannot be read at all, set platform.follow to off: "
	hintMissing    = "stop this sidecar if the workspace is no longer needed; else restore the workspace on the platform, or give the id of the new one with --workspace-id"
)

type readResult struct {
	Reading // nil if err is not
	attempt
}

// readSchedule is what was read last, and when to read next.
type readSchedule struct {
	last readResult // the newest successful one
	at   time.Time  // when its answer came, zero before the first
	sent time.Time  // when its request was sent
	// failed is the newest failed reading.
	failed        readResult
	checked, next time.Time // the newest check, and the next
	// Until skip, reads around a push are left out, since the answer would be the same failure. Until quiet the target
	// wants no read at all.
	skip, quiet time.Time
	// waitingSince is when the first push began to wait for a first reading, zero if none has.
	waitingSince time.Time
}

func (s *readSchedule) record(r readResult, sent, now time.Time, interval time.Duration) {
	s.next, s.skip, s.quiet = now.Add(interval), time.Time{}, time.Time{}
	if r.err == nil {
		s.last, s.at, s.sent = r, now, sent
		return
	}
	s.failed, s.quiet = r, now.Add(r.After)
	if r.Final || r.Reason == Timeout {
		s.skip = s.next
	}
	s.next = later(s.next, s.quiet)
}

// mustWait reports whether a push has to wait for another reading after one that failed. A target that was not reached
// at all would not accept the push either.
func (s *readSchedule) mustWait(r readResult, begun time.Time) bool {
	if r.err == nil || r.Final || !s.at.IsZero() || r.Plan != Retry || r.Reason == Unauthorized {
		return false
	}
	if r.Untouched && r.Reason == Connect {
		return true
	}
	if s.waitingSince.IsZero() {
		s.waitingSince = begun
	}
	return time.Since(s.waitingSince) < firstReadTimeout
}

func (p *Publisher) checkInterval() time.Duration { return checkLeast + p.jitter(checkSpread) }

func (p *Publisher) read(ctx context.Context) readResult {
	if time.Now().Before(p.loop.reads.quiet) {
		return p.loop.reads.failed
	}
	newest, _ := p.newest()
	sent := time.Now()
	shown, o, err := p.reader.Read(ctx, newest)
	r := readResult{shown, attempt{o, err}}
	p.loop.reads.record(r, sent, time.Now(), p.checkInterval())
	p.state.recordShown(r, time.Now())
	if err != nil {
		p.log.Debug("registered card not read", "error", err)
	} else if p.readFault.clear() {
		p.log.Info("the platform shows what it holds again")
	}
	return r
}

// readBefore reads what the target holds if that is not known well enough for a push. It reports whether the push has
// to wait for another reading, and why.
func (p *Publisher) readBefore(ctx context.Context) (a attempt, waits bool) {
	s, begun := &p.loop.reads, time.Now()
	if p.reader == nil || p.isFresh(begun) || p.loop.failures.count == 0 && begun.Before(s.skip) {
		return attempt{}, false
	}
	r := p.read(ctx)
	if r.err == nil && !p.isFresh(time.Now()) { // an event came while the answer was on its way; after a second one, reconcile reads
		r = p.read(ctx)
	}
	return r.attempt, s.mustWait(r, begun)
}

// isFresh reports whether the last reading is good enough for a push. It is not after an event that may have changed
// it: an agent that starts twice has another URL the second time.
func (p *Publisher) isFresh(now time.Time) bool {
	p.state.mu.Lock()
	defer p.state.mu.Unlock()
	return now.Sub(p.loop.reads.at) < freshFor && !p.state.changed.After(p.loop.reads.sent)
}

// postpone records a reading that a push waits for as an attempt that failed.
func (p *Publisher) postpone(ctx context.Context, a attempt, begun time.Time) {
	clearSignal(p.cardReady) // the next step takes the newest card
	c, _ := p.newest()
	a.Untouched = false // nothing was taken from the slot
	p.conclude(c, a, begun, time.Now())
	if since := p.loop.reads.waitingSince; !since.IsZero() {
		a.After = min(a.After, firstReadTimeout-time.Since(since))
	}
	p.pause(ctx, a)
}

// acceptShown settles the newest card without a push if the target was read since then and shows it. A card that
// another push came after is pushed again all the same: the reading may lag behind.
func (p *Publisher) acceptShown(since time.Time) bool {
	s := &p.loop.reads
	p.state.mu.Lock()
	c, last := p.state.slot.card, p.state.recent[0]
	p.state.mu.Unlock()
	repeated := last.at.IsZero() || bytes.Equal(last.card.JSON, c.JSON)
	if s.last.Reading == nil || s.sent.Before(since) || !repeated || !s.last.Holds(c) {
		return false
	}
	now := time.Now()
	p.loop.failures.record(attempt{})
	var news bool
	p.updateSlot(func(s *slot) { news = s.recordShown(c.Digest, now) })
	p.saveRecord()
	p.log.Debug("the platform holds the card already", "digest", c.Digest.String())
	if news || p.loop.failures.ended > 0 {
		p.metrics.recordSuccess(now)
		p.report(c, attempt{}, 0)
	}
	return true
}

// verify finds out whether an accepted card is stored: by the event that shows it, else by a reading. A reading that
// fails leaves it accepted. The first card of a workspace that the target has counts as stored until the event stream is
// connected, when the target is read anyway, and another one until the target allows a reading.
func (p *Publisher) verify(ctx context.Context, c card.Card, accepted attempt) attempt {
	if p.reader == nil || ctx.Err() != nil {
		return accepted
	}
	s := &p.loop.reads
	if known := s.last.Reading != nil && s.last.Missing() == ""; known {
		select {
		case <-p.attempted:
			if p.connected.Load() && wait(ctx, eventWithin, p.shown) {
				return accepted
			}
			if p.throttled() > 0 {
				s.next = time.Now()
				return accepted
			}
		default:
			if p.follower != nil {
				s.next = time.Now().Add(streamSpread + eventWithin)
				return accepted
			}
		}
	}
	r := p.loop.reads.failed
	if !time.Now().Before(p.loop.reads.skip) {
		r = p.read(ctx)
		// It is read once more after a while if it does not show c. A missing workspace does not come by waiting.
		if r.err == nil && r.Missing() == "" && !r.Holds(c) {
			if wait(ctx, verifyAgain, nil); ctx.Err() == nil {
				r = p.read(ctx)
			}
		}
	}
	p.recordMissing(r)
	switch {
	case r.err != nil:
		p.setReadBackUnavailable(r)
		return accepted
	case ctx.Err() != nil, r.Holds(c): // after a restart it is read again
		return accepted
	}
	text, hint := r.Difference(c)
	return attempt{
		Outcome{Plan: RetrySlowly, Reason: NotStored, Hint: hint},
		errors.New("push card: the platform accepted the card but has not stored it: " + text),
	}
}

// check reads whether the target still holds the card that it stored, and has it pushed again if it does not.
func (p *Publisher) check(ctx context.Context, c card.Card) (result string) {
	p.loop.reads.checked = time.Now()
	r := p.read(ctx)
	p.recordMissing(r)
	switch {
	case r.err != nil:
		result = resultUnreadable
		p.setReadBackUnavailable(r)
	case r.Holds(c):
		result = resultSame
	default:
		result = resultReplaced
		p.recordReplaced(c)
	}
	p.metrics.reconciles.WithLabelValues(result).Inc()
	return result
}

// setReadBackUnavailable records that the target accepts cards and does not show what it holds.
func (p *Publisher) setReadBackUnavailable(r readResult) {
	f := &fault{err: r.err.Error(), hint: hintUnreadable + r.Hint, severity: pannier.SeverityInfo}
	if p.readFault.set(f) && r.Final {
		p.log.Info("the platform does not show what it holds, so each card that it accepts counts as stored", "cause", r.err)
	}
}

// recordMissing records whether the target still has the workspace. It may keep the card of one that was removed.
func (p *Publisher) recordMissing(r readResult) {
	if r.err != nil {
		return
	}
	why := r.Missing()
	if why == "" {
		p.missingFault.clear()
	} else if p.missingFault.set(&fault{err: why, hint: hintMissing, severity: pannier.SeverityWarning}) {
		p.log.Warn("the platform does not have the workspace any more", "answer", why, "hint", hintMissing)
	}
}
