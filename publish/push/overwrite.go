package push

import (
	"context"
	"fmt"
	"time"

	"pannier"
	"pannier/publish/card"
)

const (
	// contestQuiet is how long the card must stay in place before the next replacement counts as the first. It is
	// longer than the waits of two sidecars together, each at most backoffCap, so that they cannot reset each other's
	// count.
	contestQuiet = 5 * time.Minute
	// contestAfter is the replacement in a row from which on it is not an agent that starts.
	contestAfter = 4
	// checkApart is the least between two checks, however many events there are: platforms limit requests.
	checkApart = 2 * time.Second
	// recentCards is how many of our cards are recognized in events, and recentFor for how long: an event may come when
	// a newer card was pushed already. One of ours that is reported later was put there by another writer.
	recentCards = 4
	recentFor   = time.Minute
	// While a newer card is about to be offered, a replaced one is not pushed again: peers would see an older card for
	// a moment. settleLongest bounds that for a workspace that is written all the time.
	settlePoll    = 20 * time.Millisecond
	settleLongest = 3 * time.Second
)

// overwriteDetector counts how often another writer has replaced our card in a row. It tells a second sidecar on the
// same workspace from an agent that starts, and slows the answers down: without it two sidecars would replace each
// other's card as fast as they can, for ever.
type overwriteDetector struct {
	count       int
	first, last time.Time
}

func (d *overwriteDetector) record(now time.Time) (count int) {
	if now.Sub(d.last) > contestQuiet {
		d.count, d.first = 0, now
	}
	d.count++
	d.last = now
	return d.count
}

const hintContest = "see what else pushes a card for this workspace, such as a second sidecar, and stop one of the two; until then each replaces the other's at longer and longer intervals"

func (d *overwriteDetector) conditions(subject string, now time.Time) []pannier.Condition {
	if d.count < contestAfter || now.Sub(d.last) > contestQuiet {
		return nil
	}
	return []pannier.Condition{{
		Code: "card_contested", Severity: pannier.SeverityWarning, Since: d.first, Subject: subject,
		Message: fmt.Sprintf("something else has replaced the card %d times in a row", d.count), Hint: hintContest,
	}}
}

// recentPushes are the cards that were pushed last, newest first. An event about one of them is an echo of our own
// push, not another writer: without it, quick edits would be pushed twice and reported as contested where nothing can
// be read back.
type recentPushes [recentCards]struct {
	card card.Card
	at   time.Time // when the push began
}

func (r *recentPushes) record(c card.Card, now time.Time) {
	copy(r[1:], r[:])
	r[0].card, r[0].at = c, now
}

func (r *recentPushes) contain(shown Reading, now time.Time) bool {
	for _, pushed := range r {
		if !pushed.at.IsZero() && now.Sub(pushed.at) <= recentFor && shown.Holds(pushed.card) {
			return true
		}
	}
	return false
}

// cardChanged handles an event about the card of the workspace. An event from before a push begins is settled by that
// push, which reads anew what it keeps, and an echo of a recent push is worth a check at most. An event during a push
// may be from before or after it, so it counts.
func (p *Publisher) cardChanged(e Event) {
	if e.Beside {
		p.outdate()
	}
	p.state.mu.Lock()
	newest, waits, recent := p.state.slot.card, p.state.slot.waits(), p.state.recent
	if e.Shown != nil {
		p.state.history.show(e.Shown, time.Now())
	}
	p.state.mu.Unlock()
	if e.Shown != nil && !recent[0].at.IsZero() && e.Shown.Holds(recent[0].card) {
		signal(p.shown)
	}
	switch {
	case e.Shown != nil && len(newest.JSON) > 0 && e.Shown.Holds(newest):
	case e.Shown != nil && recent.contain(e.Shown, time.Now()):
		signal(p.retryNow)
	default:
		p.state.mu.Lock()
		p.state.restarted = e.Shown != nil && e.Restarted
		p.state.mu.Unlock()
		p.suspect(e.Shown != nil && !waits)
	}
}

// suspect records that the target may hold another card; overwritten, that an event showed one.
func (p *Publisher) suspect(overwritten bool) {
	p.state.mu.Lock()
	p.state.overwritten = p.state.overwritten || overwritten
	p.state.mu.Unlock()
	p.outdate()
	signal(p.retryNow)
}

func (p *Publisher) outdate() {
	p.state.mu.Lock()
	defer p.state.mu.Unlock()
	p.state.changed = time.Now()
}

// reconcile brings the target back to our card after events. While another writer keeps replacing it, each answer comes
// later than the one before. Events during the wait are answered together.
func (p *Publisher) reconcile(ctx context.Context) {
	p.state.mu.Lock()
	rivals := p.state.rivals
	p.state.mu.Unlock()
	var delay time.Duration
	if rivals.count > 0 && time.Since(rivals.last) <= contestQuiet {
		delay = p.jitter(backoff(rivals.count))
	}
	wait(ctx, max(delay, checkApart-time.Since(p.loop.reads.checked)), p.cardReady) // without a reader, checked is long ago
	c, stored := p.newest()
	for end := time.Now().Add(settleLongest); stored && p.settling(c.Digest) && time.Now().Before(end) && ctx.Err() == nil; c, stored = p.newest() {
		wait(ctx, settlePoll, p.cardReady)
	}
	p.state.mu.Lock()
	overwritten := p.state.overwritten
	p.state.overwritten = false
	p.state.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	if !stored {
		// What the event tells of may have changed the target's mind.
		if soon := later(time.Now(), p.loop.retry.at.Add(slowLeast+p.jitter(slowSpread))); soon.Before(p.loop.retry.next) {
			p.loop.retry.next = soon
		}
		return
	}
	result := resultUnreadable
	switch {
	case p.reader == nil:
	case p.throttled() > 0:
		p.loop.reads.next = time.Now() // idle checks once the target allows it
		if !overwritten {
			return
		}
	default:
		result = p.check(ctx, c)
	}
	switch {
	case !overwritten:
	case result == resultUnreadable: // the event is all that is known
		p.recordReplaced(c)
		p.metrics.reconciles.WithLabelValues(resultReplaced).Inc()
	case result == resultSame: // reads may lag behind what the event showed
		signal(p.retryNow)
	}
}

// recordReplaced has a card pushed again that the target does not hold any more. An agent that starts is not a rival.
func (p *Publisher) recordReplaced(c card.Card) {
	p.state.mu.Lock()
	restarted, times := p.state.restarted, 0
	p.state.restarted = false
	if !restarted {
		times = p.state.rivals.record(time.Now())
	}
	p.state.mu.Unlock()
	digest := c.Digest.String()
	switch {
	case restarted:
		p.log.Info("the agent has registered the card that it knows, pushing the newest again", "digest", digest)
	case times < contestAfter:
		p.log.Info("the platform does not hold the card any more, pushing it again", "digest", digest)
	case times == contestAfter:
		p.log.Warn("something else keeps replacing the card", "times", times, "hint", hintContest)
	}
	p.updateSlot(func(s *slot) { s.held, s.acknowledged = pannier.Digest{}, pannier.Digest{} })
}
