package molecule

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"pannier"
	"pannier/internal/latest"
)

// DefaultPath is where Molecule's platform takes cards.
const DefaultPath = "/registry/update-card"

// The bounds of one request.
const (
	dialTimeout      = 5 * time.Second
	handshakeTimeout = 5 * time.Second
	headerTimeout    = 10 * time.Second
	totalTimeout     = 15 * time.Second
	idleTimeout      = 90 * time.Second
	// A connection of HTTP/2 on which nothing came for silenceTimeout is asked for a sign of life, and given up without one
	// after silencePing. Requests that end by their own time leave it in use: the next ones would go down the same hole.
	silenceTimeout = 10 * time.Second
	silencePing    = 5 * time.Second
	maxAnswerBytes = 64 << 10
)

// Options say which platform a [Publisher] pushes to and how. URL and WorkspaceID are required.
type Options struct {
	// URL is the base URL of the platform, http or https, without credentials, query or fragment.
	URL string
	// Path is the endpoint below URL; empty means [DefaultPath].
	Path string
	// WorkspaceID is the platform's id for the workspace.
	WorkspaceID string
	// Name is what health and events call the platform; empty is the address of the endpoint. It is for those that have
	// the same address as another one.
	Name string
	// Label is what metrics and logs call the platform; empty is its host. It must not hold a secret.
	Label string
	// Token returns the workspace's bearer token and is called before each request, from the goroutine of Run. An empty token
	// sends no Authorization header, and so does a nil Token. See [TokenFile].
	Token func() (string, error)
	// Header holds further headers, such as X-Molecule-Org-Id. It is copied.
	Header http.Header
	// CAFile names a file of PEM certificates that are trusted besides the system's. It is read by New, and again whenever it is
	// another one. Nothing is sent before it could be read once.
	CAFile string
	// Dial, where it is set, opens every connection to the platform, and no proxy is used: the platform is in this process.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Outbox is a directory in which the newest card outlasts a restart; empty means that it does not. It is made when it
	// is needed, what holds it is not. One process at a time may use it for a platform and a workspace.
	Outbox string
	// OutboxStale says that the process before did not stop cleanly, so that it may have pushed a later card than the outbox says. A
	// card of which only the outbox says that the platform holds it is then pushed again, unless it is read back.
	OutboxStale bool
	// CardMaxBytes bounds a card with what is kept of the registered one, in bytes; 0 is no bound. Our own card is not cut.
	CardMaxBytes int
	// ReadBack has the platform asked what it holds: before and after a push, and every five minutes.
	ReadBack bool
	// Events has the platform's event stream followed.
	Events bool
	// Peers has the platform asked who the workspace's peers are.
	Peers bool
	// Logger gets what happens to the pushes; nil means none.
	Logger hclog.Logger
	// Registerer gets the metrics. Publishers may share one; those with the same label then share their series. Nil means
	// none.
	Registerer prometheus.Registerer
	// Emit is told of each card that was taken or refused for good, with a [pannier.CardPush], from the goroutine of Run;
	// nil means nobody.
	Emit func(pannier.EventType, any)
}

// Publisher keeps one platform holding the newest card. Its methods may be called from any goroutine, Run once.
type Publisher struct {
	name        string // in health and events
	endpoint    *url.URL
	workspace   *url.URL // where the card is read back
	activity    *url.URL // where activities are told of
	heartbeat   *url.URL
	stream      *url.URL // of events; nil where it is not followed
	family      *url.URL // where peers are read; nil where they are not
	workspaceID string
	cardMost    int // bytes; 0 is no bound
	header      http.Header
	token       func() (string, error)
	log         hclog.Logger
	emit        func(pannier.EventType, any)
	metrics     *metrics
	network     *network
	throttle    throttle

	// transport, which is network, jitter, which returns a random duration in [0, most], and how much of a list of peers is read, in bytes, are
	// fields for the tests.
	transport http.RoundTripper
	jitter    func(most time.Duration) time.Duration
	peersMost int64

	// step is called before each request and each step of a write to the outbox, with its name, for the tests.
	step func(name string) error

	// The fields down to wake are only touched by the goroutine of Run, so they need no lock.
	row      row
	registry registry
	// unsure says that it is only known from the outbox that the platform holds the card.
	unsure  bool
	refusal refusal
	// dropped is the card that was last told to be accepted and not stored.
	dropped pannier.Digest
	// tried is the digest of the token of the newest push.
	tried pannier.Digest

	// records writes to the outbox in the background. outbox and outboxFails, which says that the newest access to the outbox
	// failed and that this has been logged, belong to it.
	records     *latest.Writer[record]
	outbox      outbox
	outboxFails bool

	// These have room for one signal each, and whoever takes it looks at what there is: wake, that the slot holds a card
	// which Run has not looked at; alarm, that the platform may hold another card; kin, that it may have other peers.
	wake, alarm, kin chan struct{}
	// promoted signals that a promotion waits.
	promoted chan struct{}

	// mu guards the fields that follow. Nothing is called with it held that could block.
	mu   sync.Mutex
	slot slot
	// overwritten says that the event stream told of another card, and was not only interrupted.
	overwritten bool
	// registered says that the newest other card came with a registration: that is the agent, which starts, and no rival.
	registered bool
	// told is when something last was heard of that may have changed the registered card, other than by ourselves.
	told time.Time
	// sent is the card that was pushed last, with what went along; nil before the first. lacksURL says that it has no url.
	sent     json.RawMessage
	lacksURL bool
	echoes   echoes
	contest  contest
	unkept   unkept
	peers    peerList
	// unknown are workspaces that an event named since the last reading of the peers, strangers those that are no peers, by
	// their ids in lower case.
	unknown, strangers map[string]struct{}
	// promotions wait to be sent again.
	promotions []pendingPromotion
	// deaf says why the event stream is not followed, stale why the peers are not those of now, and blind why the registered
	// card is not known; nil where all is well.
	deaf, stale, blind *fault
	// removed says that the platform does not have the workspace; nil while it does.
	removed *fault
	// unread is when a card was pushed while no registered card had ever been read, zero where that is of no concern any more.
	unread time.Time
}

// New returns a publisher that has nothing to push but what is in the outbox. It checks the options, reads the CA file and
// the outbox, and registers the metrics; nothing is sent or written before [Publisher.Run].
func New(o Options) (*Publisher, error) {
	base, err := baseOf(o.URL)
	if err != nil {
		return nil, fmt.Errorf("platform url: %w", err)
	}
	if o.WorkspaceID == "" {
		return nil, errors.New("platform: the workspace id is missing")
	}
	header, err := headerOf(o.Header)
	if err != nil {
		return nil, fmt.Errorf("platform header: %w", err)
	}
	label := cmp.Or(o.Label, base.Host)
	metrics, err := newMetrics(o.Registerer, label, o)
	if err != nil {
		return nil, fmt.Errorf("platform metrics: %w", err)
	}
	endpoint := base.JoinPath(cmp.Or(o.Path, DefaultPath))
	way := newNetwork(o.CAFile, o.Dial)
	p := &Publisher{
		name:        cmp.Or(o.Name, endpoint.String()),
		endpoint:    endpoint,
		workspace:   base.JoinPath("workspaces", url.PathEscape(o.WorkspaceID)),
		activity:    base.JoinPath("workspaces", url.PathEscape(o.WorkspaceID), "activity"),
		heartbeat:   base.JoinPath(PathHeartbeat),
		workspaceID: o.WorkspaceID,
		cardMost:    o.CardMaxBytes,
		header:      header,
		token:       orNoToken(o.Token),
		log:         orNoLogger(o.Logger).Named("platform").With("platform", label),
		emit:        orNobody(o.Emit),
		metrics:     metrics,
		network:     way,
		transport:   way,
		jitter:      func(most time.Duration) time.Duration { return rand.N(most + 1) },
		peersMost:   maxPeersBytes,
		step:        func(string) error { return nil },
		registry:    registry{off: !o.ReadBack},
		wake:        make(chan struct{}, 1),
		alarm:       make(chan struct{}, 1),
		kin:         make(chan struct{}, 1),
		promoted:    make(chan struct{}, 1),
	}
	if o.Events {
		p.stream = base.JoinPath(PathEvents)
	}
	if o.Peers {
		p.family = base.JoinPath("registry", url.PathEscape(o.WorkspaceID), "peers")
	}
	p.outbox = outbox{
		dir: o.Outbox, platform: endpoint.String(), workspaceID: o.WorkspaceID,
		step: func(name string) error { return p.step(name) },
	}
	p.records = latest.NewWriter(p.writeRecord)
	p.restore(o.OutboxStale)
	p.restorePromotions()
	if f := way.broken.Load(); f != nil {
		p.log.Warn("ca_file not read, trying again before each request", "error", f.err, "hint", f.hint)
	}
	return p, nil
}

// baseOf parses the platform's URL. Its errors never quote it: what is wrong in it may be a password.
func baseOf(base string) (*url.URL, error) {
	u, err := url.Parse(base)
	switch {
	case err != nil:
		return nil, errors.New("not a valid URL (hint: write it as https://host:port)")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("the scheme must be http or https (hint: write it as https://host:port)")
	case u.User != nil:
		return nil, errors.New("credentials do not belong in it (hint: put the workspace's token into the token file)")
	case u.Hostname() == "":
		return nil, errors.New("the host is missing (hint: write it as https://host:port)")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("it must have no query and no fragment (hint: what the platform needs besides goes into headers)")
	}
	return u, nil
}

// headerOf copies the extra headers, under their canonical names so that those of each request can replace them. It
// refuses what net/http would refuse at each push, and names a header but never its value.
func headerOf(extra http.Header) (http.Header, error) {
	h := http.Header{}
	for name, values := range extra {
		if name == "" || strings.ContainsFunc(name, notToken) {
			return nil, fmt.Errorf("%q is not a name", name)
		}
		for _, v := range values {
			if strings.ContainsFunc(v, notValue) {
				return nil, fmt.Errorf("the value of %q has a line break or another control character in it", name)
			}
			h.Add(name, v)
		}
	}
	return h, nil
}

// notToken and notValue are what can not stand in the name and in the value of a header (RFC 9110, 5.5 and 5.6.2).
func notToken(r rune) bool {
	return r <= ' ' || r > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
}

func notValue(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

func orNoToken(token func() (string, error)) func() (string, error) {
	if token == nil {
		return func() (string, error) { return "", nil }
	}
	return token
}

func orNoLogger(l hclog.Logger) hclog.Logger {
	if l == nil {
		return hclog.NewNullLogger()
	}
	return l
}

func orNobody(emit func(pannier.EventType, any)) func(pannier.EventType, any) {
	if emit == nil {
		return func(pannier.EventType, any) {}
	}
	return emit
}
