package push

import (
	"time"

	"pannier"
	"pannier/publish/card"
)

// slot is the newest card and the state of its push. It is level-triggered: it holds the desired card, never a list of
// events.
//
// A push is beginPush, a request, endPush. During the request the target may hold the card before or the new one, so held is
// zero. endPush sets it: to the new card if the target accepted it, back to the one before if the request did not reach the
// target, and otherwise it stays unknown, so that the card is pushed again.
type slot struct {
	// card is the newest; its digest is zero before the first.
	card card.Card
	// held is the digest of the card that the target is known to hold. It is zero while that is unknown: before the
	// first answer, while a request is in flight, and after a request that ended without an answer.
	held pannier.Digest
	// before is the value of held before the request in flight.
	before pannier.Digest
	// inFlight is the card of the request in flight.
	inFlight pannier.Digest
	// refused is the card that the target rejected, so that sending it again at once is useless.
	refused pannier.Digest
	// again says that the refused card is pushed once more.
	again bool

	acknowledged pannier.Digest
	lastSuccess  time.Time
	lastError    string
	hint         string
	since        time.Time
}

// put makes c the desired card. It reports whether that is a change, and whether it replaces a card that was not sent.
func (s *slot) put(c card.Card) (changed, coalesced bool) {
	if c.Digest == s.card.Digest {
		return false, false
	}
	coalesced = s.waits()
	s.card, s.refused = c, pannier.Digest{}
	s.forgetError()
	return true, coalesced
}

func (s *slot) pending() bool { return s.card.Digest != s.held }

// sendable reports whether the newest card is worth a request.
func (s *slot) sendable() bool { return s.pending() && (!s.blocked() || s.again) }

func (s *slot) blocked() bool { return s.pending() && s.card.Digest == s.refused }

func (s *slot) waits() bool { return s.sendable() && s.card.Digest != s.inFlight }

// beginPush returns the card to send, if there is one. It is in flight until endPush.
func (s *slot) beginPush() (card.Card, bool) {
	if !s.sendable() {
		return card.Card{}, false
	}
	s.inFlight, s.before, s.held, s.again = s.card.Digest, s.held, pannier.Digest{}, false
	return s.card, true
}

// endPush records the result of the push in flight.
func (s *slot) endPush(a attempt, now time.Time) {
	if s.inFlight == s.refused {
		s.refused = pannier.Digest{}
	}
	if a.err == nil {
		s.held, s.acknowledged, s.lastSuccess = s.inFlight, s.inFlight, now
		s.lastError, s.hint, s.since = "", "", time.Time{}
	} else {
		if a.Untouched {
			s.held = s.before
		}
		if a.Plan == AwaitChange {
			s.refused = s.inFlight
		}
		if s.since.IsZero() {
			s.since = now
		}
		s.lastError, s.hint = a.err.Error(), a.Hint
	}
	s.inFlight = pannier.Digest{}
	s.forgetError()
}

// recordShown records that the target was seen to hold a card, and reports whether it was not acknowledged before.
func (s *slot) recordShown(d pannier.Digest, now time.Time) (news bool) {
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

func (s *slot) restore(r record) {
	s.card = card.Card{JSON: r.Card, Digest: r.Digest, SnapshotVersion: r.SnapshotVersion}
	s.acknowledged, s.lastSuccess = r.Acknowledged, r.AcknowledgedAt
	if !r.Pending {
		s.held = r.Digest
	}
}

func (s *slot) record() record {
	return record{
		Card: s.card.JSON, Digest: s.card.Digest, SnapshotVersion: s.card.SnapshotVersion, Pending: s.pending(),
		Acknowledged: s.acknowledged, AcknowledgedAt: s.lastSuccess,
	}
}

// forgetHeld records that the target may not hold any card of ours.
func (s *slot) forgetHeld() { s.held = pannier.Digest{} }

// forgetError drops the error of an older card once the target holds the newest. No answer is needed for that if the
// card went back to what it was.
func (s *slot) forgetError() {
	if !s.pending() {
		s.lastError, s.hint, s.since = "", "", time.Time{}
	}
}

func (s *slot) health(target string) pannier.PushHealth {
	return pannier.PushHealth{
		Platform: target, Desired: s.card.Digest, Acknowledged: s.acknowledged, LastSuccess: s.lastSuccess,
		LastError: s.lastError, Hint: s.hint, Blocked: s.blocked(), Since: s.since,
	}
}
