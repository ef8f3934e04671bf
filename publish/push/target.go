package push

import (
	"context"
	"encoding/json"
	"time"

	"pannier"
	"pannier/publish/card"
)

// Target is a place that holds one card. A target may also be a [Reader], [Follower], [PeerLister], [Authenticator],
// [Throttler] or [Conditioner]. Push and Read are called from the goroutine of [Publisher.Run] alone; the other methods
// may be called at the same time.
type Target interface {
	// Push makes one attempt to store c. The error is nil if and only if the plan is [Done], and holds no secret.
	Push(ctx context.Context, c card.Card) (Outcome, error)
}

// Reader is a target that shows what it holds. It protects from targets that report success for a card that they have
// not stored, and from other writers.
type Reader interface {
	// Read asks the target what it holds. newest is what the publisher compares the answer with; a reader may bound the
	// answer by its size.
	Read(ctx context.Context, newest card.Card) (Reading, Outcome, error)
}

// Reading is what a target showed.
type Reading interface {
	// Holds reports whether the target holds c.
	Holds(c card.Card) bool
	// Missing says in the target's words why it has no place for a card any more; it is empty if it has.
	Missing() string
	// Difference says in which way c is not held, with a hint. It holds no secret.
	Difference(c card.Card) (text, hint string)
}

// Shower is a reading that has the card that the target showed.
type Shower interface {
	// Shown returns it as JSON, nil for none. It is not changed.
	Shown() json.RawMessage
}

// Follower is a target that reports changes.
type Follower interface {
	// Follow connects and calls handle with each event, [Connected] first, until the connection ends or ctx is done. It
	// says why it ended.
	Follow(ctx context.Context, handle func(Event)) (Outcome, error)
}

// PeerLister is a target that lists the peers of a workspace.
type PeerLister interface {
	// Peers returns them ordered by id, each once. The publisher owns the list.
	Peers(ctx context.Context) ([]pannier.Peer, Outcome, error)
}

// Authenticator is a target whose credentials may be replaced at any time.
type Authenticator interface {
	// CredentialsChanged reports whether they are not those of the newest Push any more.
	CredentialsChanged() bool
}

// Throttler is a target that asks for fewer requests.
type Throttler interface {
	// Wait returns for how long requests are to be left out that can wait: all but pushes.
	Wait() time.Duration
}

// Conditioner is a target that has conditions of its own for health.
type Conditioner interface {
	Conditions(subject string) []pannier.Condition
}

// Plan says what follows an attempt.
type Plan int

const (
	Done           Plan = iota // nothing
	Retry                      // another attempt after a backoff
	RetryWithToken             // another attempt at once, then one about every 30 s and whenever the credentials change
	RetrySlowly                // another attempt about every 30 s: an operator has to act
	AwaitChange                // no attempt before the card changes, but one about every 15 minutes
	NoService                  // the target has no such service: another attempt about every five minutes; not for a push
)

// Reason is why an attempt failed, as metrics report it.
type Reason string

const (
	Connect      Reason = "connect"
	Timeout      Reason = "timeout"
	Unauthorized Reason = "unauthorized"
	Rejected     Reason = "rejected"
	NotFound     Reason = "not_found"
	Throttled    Reason = "throttled"
	Server       Reason = "server"
	Redirect     Reason = "redirect"
	Other        Reason = "other"
	NotStored    Reason = "not_stored" // the target accepted a card and does not show it
)

// Outcome is the result of one request to a target. The zero value is success.
type Outcome struct {
	Plan   Plan
	Reason Reason
	// Hint says what an operator can do about a failure.
	Hint string
	// After is how long the target asked to be left alone.
	After time.Duration
	// Untouched says that the target certainly did not store the card.
	Untouched bool
	// Refused says that nothing listens at the address, so that an attempt costs the target nothing.
	Refused bool
	// Final says that the same request will fail again if it is repeated soon.
	Final bool
}

// EventKind is the kind of an [Event].
type EventKind int

const (
	Connected    EventKind = iota // a connection begins: anything may have changed before
	Uncertain                     // anything may have changed
	CardChanged                   // the card of the workspace
	PeerChanged                   // one workspace that may be a peer
	PeersChanged                  // the set of peers
)

// Event is a change that a target reports.
type Event struct {
	Kind EventKind
	// Shown is the card of the workspace with CardChanged; nil if the event does not say.
	Shown Reading
	// Restarted says that the agent has registered its card, as it does when it starts.
	Restarted bool
	// Beside says that what other writers keep in the target may have changed, so that it is read before the next push.
	Beside bool
	// Peer is the change with PeerChanged.
	Peer PeerChange
}

// PeerChange is a change of one workspace that may be a peer.
type PeerChange struct {
	ID string
	// Card is the new card if HasCard is set.
	Card    json.RawMessage
	HasCard bool
	// Status is the new status; empty for no change.
	Status  string
	Removed bool
}
