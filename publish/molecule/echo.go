package molecule

import (
	"bytes"
	"encoding/json"
	"time"
)

const (
	// echoCards is how many of the cards that were pushed last are known again.
	echoCards = 4
	// echoLasts is how late the platform may tell of a card. One of ours that comes later has been put there by somebody.
	echoLasts = time.Minute
)

// echo is a card of ours that was pushed lately.
type echo struct {
	card json.RawMessage
	at   time.Time // when its push began
}

// echoes are the cards that were pushed last. The platform may tell of one when a newer one is there already, and that is
// no card of somebody else.
type echoes [echoCards]echo

// note takes a card over that is about to be pushed.
func (e *echoes) note(card json.RawMessage, now time.Time) {
	copy(e[1:], e[:])
	e[0] = echo{card, now}
}

// endIn reports whether no other card than this one was pushed last.
func (e *echoes) endIn(card json.RawMessage) bool {
	return e[0].card == nil || bytes.Equal(e[0].card, card)
}

// have reports whether what the platform tells of is one of them.
func (e *echoes) have(registered json.RawMessage, now time.Time) bool {
	for _, pushed := range e {
		if pushed.card != nil && now.Sub(pushed.at) <= echoLasts && holds(registered, pushed.card) {
			return true
		}
	}
	return false
}
