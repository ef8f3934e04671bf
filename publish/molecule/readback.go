package molecule

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"pannier"
	"pannier/publish/card"
)

const (
	// maxDescriptionBytes is how much of a description of a workspace is read at most. What is no card in it is read past.
	maxDescriptionBytes = 64 << 20
	// maxRegisteredBytes is the largest registered card that is kept, beside what our own card may take in it.
	maxRegisteredBytes = 4 << 20
)

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
	// verifyAgain is how long a card that was accepted has to be shown where the first look shows something else: a replica
	// or a cache may answer reads, and lag behind what was written.
	verifyAgain = 2 * time.Second
)

// The results of a check, as the metrics have them.
const (
	resultSame       = "same"
	resultReplaced   = "replaced"
	resultUnreadable = "unreadable"
)

// registry is what is known of the card that the platform has for the workspace.
type registry struct {
	// off says that it is not asked, because nobody wants it.
	off bool
	// card is nil where there is none or where that is not known.
	card json.RawMessage
	// seen is when the platform last told, asked when that was asked for, checked when it was last asked for a check, and
	// next when the next is due.
	seen, asked, checked, next time.Time
	// failed is what the newest read that told nothing came to.
	failed view
	// rest is until when reads around a push are left out, after one that will hardly tell more when it is made again at
	// once, and quiet until when the platform wants none at all.
	rest, quiet time.Time
	// waits is since when the first push waits for a first read, zero where none has.
	waits time.Time
}

// view is what came of asking.
type view struct {
	// card is the registered one, null or nil where there is none.
	card json.RawMessage
	// gone is what the platform said where it does not have the workspace any more, or never had.
	gone string
	// err says that nothing was learned, and final that asking again at once will not help.
	err   error
	final bool
	// o is the outcome that err is of.
	o outcome
}

// look asks the platform what it holds.
func (p *Publisher) look(ctx context.Context) view {
	if time.Now().Before(p.registry.quiet) {
		return p.registry.failed
	}
	begun := time.Now()
	v := p.read(ctx)
	p.registry.note(v, begun, time.Now(), checkLeast+p.jitter(checkSpread))
	if v.err == nil {
		p.sighted(v.card)
	} else {
		p.log.Debug("registered card not read", "error", v.err)
	}
	return v
}

// note takes over what a read that began then came to. The next is due after every.
func (r *registry) note(v view, begun, now time.Time, every time.Duration) {
	r.next, r.rest, r.quiet = now.Add(every), time.Time{}, time.Time{}
	if v.err == nil {
		r.card, r.seen, r.asked = v.card, now, begun
		return
	}
	r.failed, r.quiet = v, now.Add(v.o.after)
	if v.final || v.o.reason == reasonTimeout {
		r.rest = r.next
	}
	if r.next.Before(r.quiet) {
		r.next = r.quiet
	}
}

// read makes the request. Its errors are free of secrets.
func (p *Publisher) read(ctx context.Context) view {
	_ = p.step("read")
	token, err := p.readToken()
	var a answer
	var info map[string]json.RawMessage
	if err == nil {
		a, err = p.exchange(ctx, call{method: http.MethodGet, target: p.workspace, token: token, most: maxDescriptionBytes, take: func(body io.Reader) (err error) {
			info, err = descriptionOf(body, p.beyondOurs(maxRegisteredBytes))
			return err
		}})
	}
	v := viewOf(a, info, err)
	v.gone = secretsOf(token, p.header).clean(v.gone)
	if v.err != nil {
		v.o = p.besides("read card", token, a, cmp.Or(err, a.broken))
		v.err = v.o.err
	}
	return v
}

var errNoDescription = errors.New("the answer is no JSON object")

// descriptionOf reads what counts of a description of a workspace. A card of more than most bytes is [foreign].
func descriptionOf(body io.Reader, most int64) (info map[string]json.RawMessage, err error) {
	s := newSkim(body)
	ok, err := s.enter('{')
	if ok {
		info, err = s.members(func(key string) int {
			switch key {
			case "agent_card":
				return int(most)
			case "status":
				return maxKeyBytes
			}
			return 0
		})
	}
	switch {
	case !ok && err == nil, errors.Is(err, io.EOF):
		return nil, errNoDescription
	case err != nil:
		return nil, err
	}
	if card, has := info["agent_card"]; has && card == nil {
		info["agent_card"] = foreign
	}
	_, _ = io.CopyN(io.Discard, body, maxKeyBytes) // so that the connection can be used again
	return info, nil
}

// beyondOurs returns a bound that nothing is over which has our newest card in it, in whatever way that is written, and so
// much beside it.
func (p *Publisher) beyondOurs(beside int64) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return beside + maxEscape*int64(len(p.slot.card.JSON))
}

// viewOf says what an answer, or the error that came instead of it, tells of the card.
func viewOf(a answer, info map[string]json.RawMessage, err error) view {
	if err != nil {
		_, redirected := errors.AsType[*redirectError](err)
		return view{err: err, final: redirected}
	}
	if a.status/100 == 2 {
		return viewOfBody(a, info)
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

func viewOfBody(a answer, info map[string]json.RawMessage) view {
	if a.broken != nil {
		return view{err: a.broken, final: errors.Is(a.broken, errNoDescription) || errors.Is(a.broken, errTooLarge)}
	}
	v := view{card: unwrapped(info["agent_card"])}
	if status, _ := decode(info["status"]).(string); status == "removed" {
		v.gone = "workspace removed"
	}
	return v
}

// unwrapped returns the card in a text: some servers hold cards as texts.
func unwrapped(card json.RawMessage) json.RawMessage {
	if len(card) == 0 || card[0] != '"' {
		return card
	}
	if text, _ := decode(card).(string); objectOf(json.RawMessage(text)) != nil {
		return json.RawMessage(text)
	}
	return card
}

// lookBefore learns what the platform holds where that is not known well enough for a push. It may well fail; where the
// push has to wait for it, it returns why.
func (p *Publisher) lookBefore(ctx context.Context) (o outcome, waits bool) {
	r, begun := &p.registry, time.Now()
	if r.off || p.fresh(begun) || p.row.failures == 0 && begun.Before(r.rest) {
		return outcome{}, false
	}
	v := p.look(ctx)
	if v.err == nil && !p.fresh(time.Now()) { // something was told of while the answer was on its way; after that, the alarm looks
		v = p.look(ctx)
	}
	return v.o, r.keepsWaiting(v, begun)
}

// fresh reports whether what was read last is good enough for a push. Once something was heard of that may have changed it,
// it is not: an agent that starts twice has another URL the second time.
func (p *Publisher) fresh(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return now.Sub(p.registry.seen) < freshFor && !p.told.After(p.registry.asked)
}

// verify asks whether an accepted card is stored. An answer that does not tell leaves it accepted.
func (p *Publisher) verify(ctx context.Context, c card.Card, accepted outcome) outcome {
	if p.registry.off || ctx.Err() != nil {
		return accepted
	}
	v := p.registry.failed
	if !time.Now().Before(p.registry.rest) {
		v = p.lookFor(ctx, c)
	}
	p.noteRemoved(v)
	switch {
	case v.err != nil:
		p.unsighted(v)
		return accepted
	case ctx.Err() != nil, holds(v.card, c.JSON): // a start asks again
		return accepted
	}
	return p.notStored(v, c)
}

// lookFor asks what the platform holds, where that is not c once more after a while. A workspace that is not there does not
// come by waiting.
func (p *Publisher) lookFor(ctx context.Context, c card.Card) view {
	v := p.look(ctx)
	if v.err != nil || v.gone != "" || holds(v.card, c.JSON) {
		return v
	}
	if wait(ctx, verifyAgain, nil); ctx.Err() != nil {
		return v
	}
	return p.look(ctx)
}

// shown settles the newest card without a push where the platform was asked since then and shows it already. A card that
// another one was pushed behind is pushed again all the same: what is shown may be from before.
func (p *Publisher) shown(since time.Time) bool {
	p.mu.Lock()
	c, repeated := p.slot.card, p.echoes.endIn(p.slot.card.JSON)
	p.mu.Unlock()
	if p.registry.asked.Before(since) || !repeated || !holds(p.registry.card, c.JSON) {
		return false
	}
	p.settle(c, time.Now())
	return true
}

// settle counts a card as taken that was not pushed now.
func (p *Publisher) settle(c card.Card, now time.Time) {
	p.row.note(outcome{})
	p.mu.Lock()
	news := p.slot.show(c.Digest, now)
	p.metrics.pending(p.slot.pending())
	p.mu.Unlock()
	p.keep()
	p.log.Debug("the platform holds the card already", "digest", c.Digest.String())
	if news || p.row.ended > 0 {
		p.metrics.took(now)
		p.report(c, outcome{}, 0)
	}
}

// hintRemoved is what to do about a workspace that is gone.
const hintRemoved = "stop this sidecar if the workspace is no longer needed; else restore the workspace on the platform, or give the id of the new one with --workspace-id"

// noteRemoved takes in whether the platform still has the workspace. It may keep the card of one that was removed.
func (p *Publisher) noteRemoved(v view) {
	switch {
	case v.err != nil:
	case v.gone == "":
		p.acquit(&p.removed)
	case p.blame(&p.removed, &fault{err: v.gone, hint: hintRemoved, severity: pannier.SeverityWarning, since: time.Now()}):
		p.log.Warn("the platform does not have the workspace any more", "answer", v.gone, "hint", hintRemoved)
	}
}

// notStored is what became of a card that was accepted, where the platform shows something else.
func (p *Publisher) notStored(v view, c card.Card) outcome {
	o := outcome{plan: planSlow, reason: reasonNotStored, hint: hintUnknown}
	text := "it shows none"
	switch {
	case v.gone != "":
		text = v.gone
	case objectOf(v.card) != nil:
		place, altered := difference(v.card, c.JSON)
		token, _ := p.readToken() // that a key of somebody else could be
		text = "it shows another one, which differs in " + secretsOf(token, p.header).clean(place)
		if o.hint = hintLost; altered {
			o.hint = hintAltered
		}
	}
	o.err = errors.New("push card: the platform accepted the card but has not stored it: " + text)
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
	p.noteRemoved(v)
	switch {
	case v.err != nil:
		result = resultUnreadable
		p.unsighted(v)
	case holds(v.card, c.JSON):
		result = resultSame
	default:
		result = resultReplaced
		p.replaced(c)
	}
	p.metrics.reconciles.WithLabelValues(result).Inc()
	return result
}
