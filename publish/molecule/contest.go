package molecule

import (
	"context"
	"fmt"
	"time"

	"pannier"
	"pannier/publish/card"
)

const (
	// contestQuiet is how long nobody must have replaced our card before the next time counts as the first. It is more
	// than the waits of two sidecars together, each at most backoffCap, so that they can not calm each other down.
	contestQuiet = 5 * time.Minute
	// contestTold is from which replacement on it is no agent that starts.
	contestTold = 4
	// checkApart is the least between two checks of the card, however many events there are. The platform counts requests.
	checkApart = 2 * time.Second
)

// contest counts how often something else has replaced our card in a row.
type contest struct {
	count       int
	first, last time.Time
}

func (c *contest) note(now time.Time) int {
	if now.Sub(c.last) > contestQuiet {
		c.count, c.first = 0, now
	}
	c.count++
	c.last = now
	return c.count
}

// running reports whether more than an agent's start goes on.
func (c *contest) running(now time.Time) bool {
	return c.count >= contestTold && now.Sub(c.last) <= contestQuiet
}

// suspect says that the platform may hold another card, so that what was read of it before is not to be relied on any more;
// overwritten, that it was heard to take one.
func (p *Publisher) suspect(overwritten bool) {
	p.mu.Lock()
	p.overwritten = p.overwritten || overwritten
	p.mu.Unlock()
	p.outdate()
	ring(p.alarm)
}

// outdate has the next push ask what is registered, and not rely on what was read before.
func (p *Publisher) outdate() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = time.Now()
}

// reconcile brings the platform back to our card after an alarm. Where somebody else keeps replacing it, as a second
// sidecar would, each answer comes later than the one before, so that two of them do not push at each other for ever as
// fast as they can. Alarms that come while it waits are one.
func (p *Publisher) reconcile(ctx context.Context) {
	wait(ctx, p.calm(), p.wake)
	p.mu.Lock()
	overwritten := p.overwritten
	p.overwritten = false
	p.mu.Unlock()
	c, ok := p.inStep()
	switch {
	case ctx.Err() != nil:
	case !ok:
		p.refusal.hasten(time.Now(), slowLeast+p.jitter(slowSpread))
	case p.registry.off:
		p.believe(c, overwritten)
	default:
		p.answer(c, p.check(ctx, c), overwritten)
	}
}

// answer follows a check after an alarm. Where the platform was heard to take another card and shows ours all the same, it
// may be one whose reads lag behind what it takes, so it is looked at once more.
func (p *Publisher) answer(c card.Card, result string, overwritten bool) {
	switch {
	case result == resultUnreadable:
		p.believe(c, overwritten)
	case result == resultSame && overwritten:
		ring(p.alarm)
	}
}

// believe takes an event for true, which is all that is known where the card can not be read.
func (p *Publisher) believe(c card.Card, overwritten bool) {
	if overwritten {
		p.replaced(c)
		p.metrics.reconciles.WithLabelValues(resultReplaced).Inc()
	}
}

// calm is how long an alarm waits.
func (p *Publisher) calm() time.Duration {
	p.mu.Lock()
	c := p.contest
	p.mu.Unlock()
	var row time.Duration
	if c.count > 0 && time.Since(c.last) <= contestQuiet {
		row = p.jitter(backoff(c.count))
	}
	return max(row, checkApart-time.Since(p.registry.checked)) // which without read-back is long ago
}

// replaced has a card pushed again that the platform does not hold any more.
func (p *Publisher) replaced(c card.Card) {
	p.mu.Lock()
	restarted := p.registered
	p.registered = false
	times := 0
	if !restarted {
		times = p.contest.note(time.Now())
	}
	p.mu.Unlock()
	switch {
	case restarted:
		p.log.Info("the agent has registered the card that it knows, pushing the newest again", "digest", c.Digest.String())
	case times < contestTold:
		p.log.Info("the platform does not hold the card any more, pushing it again", "digest", c.Digest.String())
	case times == contestTold:
		p.log.Warn("something else keeps replacing the card", "times", times, "hint", hintContest)
	}
	p.amend((*slot).deny)
}

const hintContest = "see what else pushes a card for this workspace, such as a second sidecar, and stop one of the two; until then each replaces the other's at longer and longer intervals"

func (c *contest) condition(subject string, now time.Time) []pannier.Condition {
	if !c.running(now) {
		return nil
	}
	return []pannier.Condition{{
		Code: "card_contested", Severity: pannier.SeverityWarning, Since: c.first, Subject: subject,
		Message: fmt.Sprintf("something else has replaced the card %d times in a row", c.count), Hint: hintContest,
	}}
}
