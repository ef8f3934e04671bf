package push

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"pannier"
	"pannier/publish/card"
)

// Options say how a [Publisher] pushes. Endpoint and WorkspaceID are required.
type Options struct {
	// Endpoint identifies the target, WorkspaceID what it holds a card for. Both name the file in the outbox.
	Endpoint, WorkspaceID string
	// Name is the target's name in health and events; empty is Endpoint.
	Name string
	// Label is the target's name in metrics and logs.
	Label string
	// Outbox is a directory in which the newest card survives a restart; empty keeps cards in memory. It is created
	// when it is needed, its parent is not. Only one process at a time may use it for an endpoint and a workspace.
	Outbox string
	// OutboxStale says that the last process did not stop cleanly, so that it may have pushed a later card than the
	// outbox has. A card that the target holds only by the outbox is then pushed again, unless it is read back.
	OutboxStale bool
	// ReadBack uses the target as a [Reader]: before and after each push, and every five minutes.
	ReadBack bool
	// Follow uses the target as a [Follower], Peers as a [PeerLister].
	Follow, Peers bool
	// Logger is told what happens to the pushes; nil discards it.
	Logger hclog.Logger
	// Registerer gets the metrics; nil for none. Publishers may share one; those with the same label share their
	// series.
	Registerer prometheus.Registerer
	// Emit is called with a [pannier.CardPush] for each card that was stored or rejected, from the goroutine of Run;
	// nil discards it.
	Emit func(pannier.EventType, any)
	// Tried is called after each attempt to push a card; nil does nothing.
	Tried func(failed bool)
	// Settling reports whether a newer card than the one that was offered last is about to be offered, so that one that
	// another writer replaced is not pushed again before it; nil for never.
	Settling func(offered pannier.Digest) bool
	// Newest returns the newest card, also one that is not offered yet because pushes are paced; one without content is
	// ignored. A retry sends it, so that the target does not get a card that is older than the one that it holds. Nil is
	// the card that was offered last.
	Newest func() card.Card
	// Jitter returns a random duration in [0, most]; nil is math/rand. For tests.
	Jitter func(most time.Duration) time.Duration
	// BeforeOutbox is called with each step of a write to the outbox, and an error ends the write; nil does nothing.
	// For tests.
	BeforeOutbox func(step string) error
}

// Publisher keeps one target holding the newest card. Its methods may be called from any goroutine, Run once.
type Publisher struct {
	name     string
	target   Target
	reader   Reader     // nil if cards are not read back
	follower Follower   // nil if no events are followed
	lister   PeerLister // nil if no peers are read
	log      hclog.Logger
	metrics  *metrics
	outbox   *outbox
	hooks
	signals
	connected atomic.Bool // the event stream is

	loop  loop
	state state
	peers peerList
	faults
	// hinted is the hint that the log had last; nil after a success.
	hinted atomic.Pointer[string]
}

// hooks are those of [Options], each of which may be called.
type hooks struct {
	emit     func(pannier.EventType, any)
	tried    func(failed bool)
	settling func(offered pannier.Digest) bool
	waiting  func() card.Card
	jitter   func(most time.Duration) time.Duration
}

// signals wake the goroutines of a publisher.
type signals struct {
	// Each of these channels has room for one signal. retryNow says that the target may hold another card, peersChanged
	// that there may be other peers, peersAsked that a client asks for them, cardReady that Run has not looked at the
	// card in the slot, and shown that an event showed the card that was pushed last.
	cardReady, retryNow, peersChanged, peersAsked, shown chan struct{}
	// attempted is closed after the first attempt to push a card, or once there is nothing to push.
	attempted    chan struct{}
	endAttempted func()
}

// faults say why something other than the pushes fails: the event stream, the list of peers, reading back, and the workspace itself.
type faults struct{ streamFault, peersFault, readFault, missingFault faultSlot }

// loop is used by the goroutine of Run alone.
type loop struct {
	failures failureRow
	reads    readSchedule
	retry    refusedRetry
	// unconfirmed says that only the outbox says that the target holds the card.
	unconfirmed bool
	// notStored is the card that was last reported as accepted and not stored.
	notStored pannier.Digest
}

// state is shared by the goroutines of a publisher. Nothing is called with mu held that could block.
type state struct {
	mu   sync.Mutex
	slot slot
	// overwritten says that an event showed another card, restarted that it came with a registration.
	overwritten, restarted bool
	// changed is when an event last said that the target may hold something else than was read.
	changed time.Time
	recent  recentPushes
	rivals  overwriteDetector
	history history
}

// New returns a publisher that has only the card of the outbox to push. It reads the outbox and registers the metrics;
// nothing is sent or written before [Publisher.Run].
func New(target Target, o Options) (*Publisher, error) {
	if o.Endpoint == "" || o.WorkspaceID == "" {
		return nil, errors.New("the endpoint or the workspace id is missing")
	}
	reader, _ := target.(Reader)
	o.ReadBack = o.ReadBack && reader != nil
	metrics, err := newMetrics(o.Registerer, o.Label, o.ReadBack)
	if err != nil {
		return nil, err
	}
	p := &Publisher{
		name: cmp.Or(o.Name, o.Endpoint), target: target, metrics: metrics,
		log:   cmp.Or(o.Logger, hclog.NewNullLogger()).Named("platform").With("platform", o.Label),
		hooks: hooks{o.Emit, o.Tried, o.Settling, o.Newest, o.Jitter},
		signals: signals{
			cardReady: make(chan struct{}, 1), retryNow: make(chan struct{}, 1), peersChanged: make(chan struct{}, 1),
			peersAsked: make(chan struct{}, 1), shown: make(chan struct{}, 1), attempted: make(chan struct{}),
		},
	}
	p.endAttempted = sync.OnceFunc(func() { close(p.attempted) })
	if p.settling == nil {
		p.settling = func(pannier.Digest) bool { return false }
	}
	if p.waiting == nil {
		p.waiting = func() card.Card { return card.Card{} }
	}
	if p.emit == nil {
		p.emit = func(pannier.EventType, any) {}
	}
	if p.tried == nil {
		p.tried = func(bool) {}
	}
	if p.jitter == nil {
		p.jitter = func(most time.Duration) time.Duration { return rand.N(most + 1) }
	}
	if o.ReadBack {
		p.reader = reader
	}
	if o.Follow {
		p.follower, _ = target.(Follower)
	}
	if o.Peers {
		p.lister, _ = target.(PeerLister)
	}
	p.outbox = newOutbox(o, p.log, metrics)
	p.restore(o.OutboxStale)
	return p, nil
}
