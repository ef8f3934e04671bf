package molecule

import (
	"time"

	"pannier"
	"pannier/publish/card"
)

// slot is the newest card and how far the platform is with it. It is level-triggered: it knows what ought to be there,
// never a list of what happened. It has no lock and no clock of its own.
type slot struct {
	// card is the newest; its digest is zero before the first.
	card card.Card
	// held is the digest of the card that the platform is known to hold, zero while that is not known: before the first
	// answer, while a request is in flight, and after one whose end was not seen.
	held pannier.Digest
	// before is what held was when the request in flight began.
	before pannier.Digest
	// flying is the card of the request in flight.
	flying pannier.Digest
	// refused is the card that the platform will not take, so that sending it again at once is of no use.
	refused pannier.Digest
	// again says that the refused card is to be tried once more.
	again bool

	acknowledged pannier.Digest
	lastSuccess  time.Time
	lastError    string
	hint         string
	since        time.Time
}

// put makes c the card that ought to be there. It reports whether that is a change, and whether the card that was
// overwritten had still to be sent.
func (s *slot) put(c card.Card) (changed, coalesced bool) {
	if c.Digest == s.card.Digest {
		return false, false
	}
	coalesced = s.waits()
	s.card, s.refused = c, pannier.Digest{}
	s.forgetError()
	return true, coalesced
}

// pending reports whether the platform is not known to hold the newest card.
func (s *slot) pending() bool { return s.card.Digest != s.held }

// sendable reports whether the newest card is worth a request.
func (s *slot) sendable() bool { return s.pending() && (!s.blocked() || s.again) }

// blocked reports whether the newest card was refused.
func (s *slot) blocked() bool { return s.pending() && s.card.Digest == s.refused }

// waits reports whether a push is still to begin.
func (s *slot) waits() bool { return s.sendable() && s.card.Digest != s.flying }

// take returns the card to send, if there is one, and counts it as in flight until settle.
func (s *slot) take() (card.Card, bool) {
	if !s.sendable() {
		return card.Card{}, false
	}
	s.flying, s.before, s.held, s.again = s.card.Digest, s.held, pannier.Digest{}, false
	return s.card, true
}

// settle notes what became of the card in flight.
func (s *slot) settle(o outcome, now time.Time) {
	if s.flying == s.refused { // what it is now is said below
		s.refused = pannier.Digest{}
	}
	if o.err == nil {
		s.held, s.acknowledged, s.lastSuccess = s.flying, s.flying, now
		s.lastError, s.hint, s.since = "", "", time.Time{}
	} else {
		s.fail(o, now)
	}
	s.flying = pannier.Digest{}
	s.forgetError()
}

func (s *slot) fail(o outcome, now time.Time) {
	if o.untouched {
		s.held = s.before
	}
	if o.plan == planStop {
		s.refused = s.flying
	}
	if s.since.IsZero() {
		s.since = now
	}
	s.lastError, s.hint = o.err.Error(), o.hint
}

// show notes that the platform was seen to hold a card, and reports whether that is news.
func (s *slot) show(d pannier.Digest, now time.Time) (news bool) {
	s.held, s.again = d, false
	if s.refused == d {
		s.refused = pannier.Digest{}
	}
	if news = s.acknowledged != d; news {
		s.acknowledged, s.lastSuccess = d, now
	}
	s.forgetError()
	return news
}

// restore takes over what an outbox remembers. It comes before everything else.
func (s *slot) restore(r record) {
	s.card, s.acknowledged, s.lastSuccess = r.card, r.acknowledged, r.at
	if !r.pending {
		s.held = r.card.Digest
	}
}

// record is what an outbox should remember.
func (s *slot) record() record {
	return record{card: s.card, pending: s.pending(), acknowledged: s.acknowledged, at: s.lastSuccess}
}

// doubt says that the platform may not hold any card of ours, and deny that it does not.
func (s *slot) doubt() { s.held = pannier.Digest{} }

func (s *slot) deny() { s.held, s.acknowledged = pannier.Digest{}, pannier.Digest{} }

// forgetError drops the error of an older card once the platform holds the newest, which an answer is not needed for
// where the card went back to what it was.
func (s *slot) forgetError() {
	if !s.pending() {
		s.lastError, s.hint, s.since = "", "", time.Time{}
	}
}

func (s *slot) health(platform string) pannier.PushHealth {
	return pannier.PushHealth{
		Platform:     platform,
		Desired:      s.card.Digest,
		Acknowledged: s.acknowledged,
		LastSuccess:  s.lastSuccess,
		LastError:    s.lastError,
		Hint:         s.hint,
		Blocked:      s.blocked(),
		Since:        s.since,
	}
}
