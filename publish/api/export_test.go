package api

import (
	"maps"
	"net"
	"net/netip"
	"slices"
	"time"
)

// Patterns are the routes of a handler, with the names that the query of each may hold.
func (h *Handler) Patterns() map[string][]string {
	patterns := map[string][]string{}
	for pattern, route := range h.routes {
		patterns[pattern] = route.query()
	}
	return patterns
}

// FieldSchemas returns the fields whose schemas are written down.
func FieldSchemas() []string { return slices.Sorted(maps.Keys(fieldSchemas)) }

// WhileHeld is done when a token does not hold any more.
var WhileHeld = cancelOnRevoke

// MaxFailing is how many addresses a [Throttle] remembers.
const MaxFailing = maxFailing

// Throttle delays answers to addresses.
type Throttle struct{ throttle }

// NewThrottle returns a throttle that remembers no address.
func NewThrottle() *Throttle { return &Throttle{} }

// Fail counts a failure.
func (t *Throttle) Fail(a netip.Prefix, now time.Time) time.Duration { return t.fail(a, now) }

// Forget drops the failures of an address.
func (t *Throttle) Forget(a netip.Prefix) { t.forget(a) }

// Len is how many addresses are remembered.
func (t *Throttle) Len() int { return len(t.failing) }

// AddressOf is what counts as one address.
var AddressOf = addressOf

// LimitAnonymous limits a listener, and the connections of an address that have brought no valid token.
func LimitAnonymous(ln net.Listener, conns, anonymous int) net.Listener {
	l := limit(ln, conns)
	l.anonymous = anonymous
	return l
}

// Prove notes that a valid token came on a connection of such a listener.
func Prove(conn net.Conn) { conn.(*limitedConn).markAuthenticated() }
