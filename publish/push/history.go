package push

import (
	"encoding/json"
	"slices"
	"time"

	"pannier"
	"pannier/publish/card"
)

// maxHistory bounds the attempts that are kept.
const maxHistory = 50

// history is what a target showed last, and the last attempts, newest last.
type history struct {
	shown    json.RawMessage // nil for none
	shownAt  time.Time       // zero before the first reading
	missing  string
	failure  string // of the newest reading, empty after a success
	attempts []pannier.PushAttempt
}

func (s *state) recordAttempt(c card.Card, a attempt, begun, ended time.Time) {
	tried := pannier.PushAttempt{At: begun.UTC(), Outcome: "pushed", MS: ended.Sub(begun).Milliseconds(), Version: c.SnapshotVersion}
	if a.err != nil {
		tried.Outcome, tried.Error = string(a.Reason), a.err.Error()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h := &s.history
	if len(h.attempts) == maxHistory {
		h.attempts = slices.Delete(h.attempts, 0, 1)
	}
	h.attempts = append(h.attempts, tried)
}

func (s *state) recordShown(r readResult, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := &s.history
	if r.err != nil {
		h.failure = r.err.Error()
		return
	}
	h.missing, h.failure = r.Missing(), ""
	h.show(r.Reading, now)
}

func (h *history) show(r Reading, now time.Time) {
	h.shown, h.shownAt = nil, now.UTC()
	if shower, ok := r.(Shower); ok {
		h.shown = shower.Shown()
	}
}

// Cards returns what the target is to hold, what it showed last, and the last attempts.
func (p *Publisher) Cards() pannier.PlatformCard {
	p.state.mu.Lock()
	defer p.state.mu.Unlock()
	h, slot := &p.state.history, &p.state.slot
	cards := pannier.PlatformCard{Platform: p.name, Wanted: slot.card.JSON, Has: h.shown, ReadAt: h.shownAt, Pushes: slices.Clone(h.attempts)}
	slices.Reverse(cards.Pushes)
	if cards.Pushes == nil {
		cards.Pushes = []pannier.PushAttempt{}
	}
	switch {
	case p.reader == nil:
		cards.Reason = "the card is not read back: platform.follow is off"
	case h.missing != "":
		cards.Reason = h.missing
	case h.failure != "":
		cards.Reason = "the platform could not be read: " + h.failure
	case h.shownAt.IsZero():
		cards.Reason = "the platform was not read yet"
	case h.shown == nil:
		cards.Reason = "the platform shows no card"
	}
	return cards
}
