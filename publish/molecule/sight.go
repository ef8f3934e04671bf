package molecule

import (
	"context"
	"encoding/json"
	"time"

	"pannier"
)

const (
	// firstReadPatience is how long a first push waits for a first read of what is registered: without it the push takes away
	// what others have written beside our card. It is enough for a platform that starts.
	firstReadPatience = 30 * time.Second
	// unreadTold is how long is told of a push that was made without.
	unreadTold = time.Hour
)

const (
	hintBlind  = "until it does, a card that it accepts counts as stored, one that something else overwrites is noticed by its event stream alone, and a push takes away what others have written beside the card, such as its url. It is asked again every five minutes. If it has no GET /workspaces/{id}, set platform.read_back to false; a hosted one answers so when the header X-Molecule-Org-Id is missing"
	hintUnread = "have the agent register again, as it does when it is restarted"
)

// keepsWaiting reports whether a push has to wait for another read behind one that began then. A platform that was not
// reached at all would not take the push either.
func (r *registry) keepsWaiting(v view, begun time.Time) bool {
	if v.err == nil || v.final || !r.seen.IsZero() || v.o.plan != planRetry || v.o.reason == reasonUnauthorized {
		return false
	}
	if v.o.untouched && v.o.reason == reasonConnect {
		return true
	}
	if r.waits.IsZero() {
		r.waits = begun
	}
	return time.Since(r.waits) < firstReadPatience
}

// putOff counts a read that a push waits for as a try that failed.
func (p *Publisher) putOff(ctx context.Context, o outcome, begun time.Time) {
	p.mu.Lock()
	select {
	case <-p.wake: // the next turn looks for the newest card
	default:
	}
	c := p.slot.card
	p.mu.Unlock()
	o.untouched = false // nothing was taken from the slot
	p.conclude(c, o, begun, time.Now())
	if left := firstReadPatience - time.Since(p.registry.waits); !p.registry.waits.IsZero() {
		o.after = min(o.after, left)
	}
	p.pause(ctx, o)
}

// sighted notes that the platform has told what it holds.
func (p *Publisher) sighted(registered json.RawMessage) {
	if p.acquit(&p.blind) {
		p.log.Info("the platform shows what it holds again")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(membersBeside(objectOf(p.slot.card.JSON), objectOf(registered))) > 0 {
		p.unread = time.Time{} // somebody has written beside our card since
	}
}

// unsighted notes that the platform does not tell what it holds, while it takes cards.
func (p *Publisher) unsighted(v view) {
	f := &fault{err: v.err.Error(), hint: hintBlind, severity: pannier.SeverityInfo, since: time.Now()}
	if p.blame(&p.blind, f) && v.final {
		p.log.Info("the platform does not show what it holds, so each card that it accepts counts as stored", "cause", v.err)
	}
}

// noteUnread notes a push that the platform took while nothing had ever been read of it.
func (p *Publisher) noteUnread() {
	if p.registry.off || !p.registry.seen.IsZero() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unread = time.Now()
}

// sightConditions tells what is not known of the registered card. The caller holds mu.
func (p *Publisher) sightConditions() []pannier.Condition {
	if f := p.blind; f != nil {
		return []pannier.Condition{f.condition("read_back_unavailable", p.name, "the platform does not show what it holds: "+f.err)}
	}
	if p.unread.IsZero() || time.Since(p.unread) > unreadTold {
		return nil
	}
	f := fault{hint: hintUnread, severity: pannier.SeverityInfo, since: p.unread}
	return []pannier.Condition{f.condition("card_pushed_unread", p.name,
		"the card was pushed while the registered one could not be read, so what others had written beside it, such as its url, may be gone")}
}
