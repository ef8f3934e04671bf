package platform

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"pannier/publish/card"
)

// maxWorkspaceBytes is the largest description of a workspace that is read, beside what our own card may take in it.
const maxWorkspaceBytes = 4 << 20

// maxEscape is how much longer a text becomes at most where somebody writes it with other escapes: one byte as \u003c.
const maxEscape = 6

// foreign stands for a registered card that is too large to be ours, and so not read.
var foreign = json.RawMessage(`{}`)

// When the platform is asked what it holds.
const (
	// freshFor is how long an answer is good enough for the next push. It is short because an agent that starts registers
	// its new URL, and a push with the old one would take that away again.
	freshFor = 5 * time.Second
	// A check comes after checkLeast and a random part of checkSpread: every five minutes, give or take a tenth.
	checkLeast  = 270 * time.Second
	checkSpread = 60 * time.Second
)

// The results of a check, as the metrics have them.
const (
	resultSame       = "same"
	resultReplaced   = "replaced"
	resultUnreadable = "unreadable"
)

// registry is what is known of the card that the platform has for the workspace.
type registry struct {
	// off says that it is not asked, because nobody wants it or because it can not tell.
	off bool
	// proven says that it has told before, so that it will again.
	proven bool
	// card is nil where there is none or where that is not known.
	card json.RawMessage
	// seen is when the platform last told, checked when it was last asked for a check, and next when the next is due.
	seen, checked, next time.Time
}

// view is what came of asking.
type view struct {
	// card is the registered one, null or nil where there is none.
	card json.RawMessage
	// gone is what the platform said where it does not have the workspace any more, or never had.
	gone string
	// err says that nothing was learned, and final that asking again will not help.
	err   error
	final bool
}

// look asks the platform what it holds.
func (p *Publisher) look(ctx context.Context) view {
	v := p.read(ctx)
	r := &p.registry
	r.next = time.Now().Add(checkLeast + p.jitter(checkSpread))
	switch {
	case v.err == nil:
		r.card, r.seen, r.proven = v.card, time.Now(), true
	case v.final && !r.proven:
		r.off = true
		p.log.Info("the platform does not show what it holds, so each card that it accepts counts as stored", "cause", v.err)
	default:
		p.log.Debug("registered card not read", "error", v.err)
	}
	return v
}

// read makes the request. Its errors are free of secrets.
func (p *Publisher) read(ctx context.Context) view {
	_ = p.step("read")
	token, err := p.readToken()
	var a answer
	if err == nil {
		a, err = p.exchange(ctx, call{method: http.MethodGet, target: p.workspace, token: token, most: p.beyondOurs(maxWorkspaceBytes)})
	}
	hide := secretsOf(token, p.header)
	v := viewOf(a, err)
	v.gone = hide.clean(v.gone)
	if v.err != nil && a.status/100 == 2 {
		err = v.err
	}
	if v.err != nil {
		v.err = errors.New("read card: " + hide.complaint(a, err))
	}
	return v
}

// beyondOurs returns a bound that nothing is over which has our newest card in it, in whatever way that is written, and so
// much beside it.
func (p *Publisher) beyondOurs(beside int64) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return beside + maxEscape*int64(len(p.slot.card.JSON))
}

// viewOf says what an answer, or the error that came instead of it, tells of the card.
func viewOf(a answer, err error) view {
	if err != nil {
		_, redirected := errors.AsType[*redirectError](err)
		return view{err: err, final: redirected}
	}
	if a.status/100 == 2 {
		return viewOfBody(a)
	}
	v := view{err: errors.New(http.StatusText(a.status))}
	switch a.status {
	case http.StatusNotFound, http.StatusGone:
		// A server without the route says so in other words.
		if strings.Contains(strings.ToLower(a.message), "workspace") {
			return view{gone: a.message}
		}
		v.final = true
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
	default:
		v.final = a.status/100 != 5 || a.status == http.StatusNotImplemented
	}
	return v
}

func viewOfBody(a answer) view {
	switch {
	case errors.Is(a.broken, errTooLarge):
		return view{card: foreign}
	case a.broken != nil:
		return view{err: a.broken}
	}
	info := objectOf(a.body)
	if info == nil {
		return view{err: errors.New("the answer is no JSON object"), final: true}
	}
	v := view{card: info["agent_card"]}
	if status, _ := decode(info["status"]).(string); status == "removed" {
		v.gone = "workspace removed"
	}
	return v
}

// lookBefore learns what the platform holds where that is not known well enough for a push. It may well fail.
func (p *Publisher) lookBefore(ctx context.Context) {
	if !p.registry.off && time.Since(p.registry.seen) >= freshFor {
		p.look(ctx)
	}
}

// verify asks whether an accepted card is stored. An answer that does not tell leaves it accepted.
func (p *Publisher) verify(ctx context.Context, c card.Card, accepted outcome) outcome {
	if p.registry.off || ctx.Err() != nil {
		return accepted
	}
	v := p.look(ctx)
	if v.err != nil || holds(v.card, c.JSON) {
		return accepted
	}
	o := outcome{plan: planSlow, reason: reasonNotStored, hint: hintLost}
	text := "the platform accepted the card but has not stored it: it shows another one"
	switch {
	case v.gone != "":
		o.hint, text = hintUnknown, "the platform accepted the card but has not stored it: "+v.gone
	case objectOf(v.card) == nil:
		o.hint, text = hintUnknown, "the platform accepted the card but has not stored it: it shows none"
	}
	o.err = errors.New("push card: " + text)
	return o
}

// confirm asks whether the platform still holds the card that it took before the restart. Where that can not be learned,
// the card is pushed: once too often does no harm.
func (p *Publisher) confirm(ctx context.Context) {
	if !p.unsure {
		return
	}
	p.unsure = false
	if c, ok := p.inStep(); ok && p.check(ctx, c) == resultSame || ctx.Err() != nil {
		return
	}
	p.amend((*slot).doubt)
}

// check asks whether the platform still holds the card that it took, and has it pushed again if it does not.
func (p *Publisher) check(ctx context.Context, c card.Card) (result string) {
	p.registry.checked = time.Now()
	v := p.look(ctx)
	switch {
	case v.err != nil:
		result = resultUnreadable
	case holds(v.card, c.JSON):
		result = resultSame
	default:
		result = resultReplaced
		p.replaced(c)
	}
	p.metrics.reconciles.WithLabelValues(result).Inc()
	return result
}

// checkTimer returns what fires when a check is due; nil where there is nothing to check.
func (p *Publisher) checkTimer() *time.Timer {
	if _, ok := p.inStep(); !ok || p.registry.off {
		return nil
	}
	return time.NewTimer(time.Until(p.registry.next))
}
