package molecule

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"pannier"
	"pannier/publish/card"
	"pannier/publish/push"
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
	// A connection of HTTP/2 on which nothing came for silenceTimeout is asked for a sign of life, and given up without
	// one after silencePing. Requests that end by their own time leave it in use: the next ones would go down the same
	// hole.
	silenceTimeout = 10 * time.Second
	silencePing    = 5 * time.Second
	maxAnswerBytes = 64 << 10
)

// Options say which workspace of which platform a [Target] is. URL and WorkspaceID are required.
type Options struct {
	// URL is the base URL of the platform, http or https, without credentials, query or fragment.
	URL string
	// Path is the endpoint below URL; empty means [DefaultPath].
	Path string
	// WorkspaceID is the platform's id for the workspace.
	WorkspaceID string
	// Token returns the workspace's bearer token and is called before each request. An empty token sends no
	// Authorization header, and so does a nil Token. See [FileToken].
	Token func() (string, error)
	// Header holds further headers, such as X-Molecule-Org-Id. It is copied.
	Header http.Header
	// CAFile names a file of PEM certificates that are trusted besides the system's. It is read by New, and again
	// whenever it changes. Nothing is sent before it could be read once.
	CAFile string
	// RootCAs are trusted in place of the system's; nil is those. They are not used with CAFile.
	RootCAs *x509.CertPool
	// HeaderTimeout bounds the time until an answer begins; 0 is 10 s.
	HeaderTimeout time.Duration
	// Dial, if it is set, opens every connection to the platform, and no proxy is used: the platform is in this
	// process.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// CardMaxBytes bounds a card with what is kept of the registered one, in bytes; 0 for no limit. Our own card is not
	// cut.
	CardMaxBytes int
	// Logger gets what is not part of an error; nil discards it.
	Logger hclog.Logger
}

// Target is a workspace of a Molecule platform. See [push.Target] for which methods may be called at the same time.
type Target struct {
	*Client
	endpoint  *url.URL
	workspace *url.URL // where the card is read back
	stream    *url.URL // of events
	peersURL  *url.URL
	cardMax   int   // bytes; 0 for no limit
	peersMax  int64 // bytes of a list of peers; a field for the tests
	log       hclog.Logger

	// The goroutine of Push and Read alone uses these: the card that was read last, our newest card, whether a reading failed, and
	// the digest of the token of the newest push.
	registered  parsedCard
	own         parsedCard
	readFailed  bool
	pushedToken pannier.Digest

	state state
}

// state is shared by the methods of a target.
type state struct {
	mu sync.Mutex
	// sent is the card that was pushed last, with what other writers keep beside it; nil before the first. withoutURL is
	// when the first of a row of cards without url was pushed, zero for none.
	sent       json.RawMessage
	withoutURL time.Time
	dropped    droppedKeys
	// wasRead says that a reading succeeded. unread is when a card was pushed before the first, zero if nothing was
	// lost by it.
	wasRead bool
	unread  time.Time
}

// New returns a target. It checks the options and reads the CA file; nothing is sent.
func New(o Options) (*Target, error) {
	c, err := NewClient(o)
	if err != nil {
		return nil, err
	}
	t := &Target{
		Client: c, endpoint: c.base.JoinPath(cmp.Or(o.Path, DefaultPath)), workspace: c.URL("workspaces", o.WorkspaceID),
		stream: c.base.JoinPath(PathEvents), peersURL: c.URL("registry", o.WorkspaceID, "peers"),
		cardMax: o.CardMaxBytes, peersMax: maxPeersBytes, log: cmp.Or(o.Logger, hclog.NewNullLogger()),
	}
	if f := c.network.broken.Load(); f != nil {
		t.log.Warn("ca_file not read, trying again before each request", "error", f.err, "hint", hintCAFile)
	}
	return t, nil
}

// Endpoint is the address that cards are sent to.
func (t *Target) Endpoint() string { return t.endpoint.String() }

// WorkspaceID is the platform's id for the workspace.
func (t *Target) WorkspaceID() string { return t.workspaceID }

// Push sends the card, with what is kept of the one that the platform has.
func (t *Target) Push(ctx context.Context, c card.Card) (push.Outcome, error) {
	own := t.parseOwn(c)
	id, _ := json.Marshal(t.workspaceID)                                            // a string
	body := slices.Concat([]byte(`{"workspace_id":`), id, []byte(`,"agent_card":`)) // an UpdateCardRequest
	from := len(body)
	body, dropped, hasURL := appendMerged(body, own, t.registered, t.cardMax)
	merged := json.RawMessage(body[from:len(body):len(body)])
	body = append(body, '}')
	t.state.mu.Lock()
	t.state.sent = merged
	if hasURL {
		t.state.withoutURL = time.Time{}
	} else if t.state.wasRead && t.state.withoutURL.IsZero() {
		t.state.withoutURL = time.Now()
	}
	if !slices.Equal(t.state.dropped.keys, dropped) {
		t.state.dropped = droppedKeys{dropped, time.Now()}
	}
	t.state.mu.Unlock()
	if own.members == nil && !json.Valid(c.JSON) {
		return push.Outcome{Plan: push.AwaitChange, Reason: push.Rejected, Hint: hintRejected, Untouched: true}, errors.New("push card: the card is not valid JSON")
	}
	a, token, err := t.do(ctx, Call{Method: http.MethodPost, Target: t.endpoint, Body: body, Limit: maxAnswerBytes})
	if !errors.Is(err, ErrToken) {
		t.pushedToken = digestOfToken(token)
	}
	o := t.classify(a, err)
	switch o.Plan {
	case push.Done:
		t.state.mu.Lock()
		if t.readFailed && !t.state.wasRead {
			t.state.unread = time.Now()
		}
		t.state.mu.Unlock()
		return o, nil
	case push.AwaitChange:
		if beside := len(merged) - len(c.JSON); beside > 0 {
			o.Hint += fmt.Sprintf(hintBeside, beside)
		}
	}
	return o, errors.New("push card: " + t.complaint(token, a, err))
}

// parseOwn returns our own card with its members. Only one of the outbox has to be parsed for that, once.
func (t *Target) parseOwn(c card.Card) parsedCard {
	if c.Members == nil && bytes.Equal(t.own.text, c.JSON) {
		return t.own
	}
	t.own = parseOwn(c)
	return t.own
}

func parseOwn(c card.Card) parsedCard {
	if c.Members == nil {
		return parseCard(c.JSON)
	}
	return parsedCard{c.JSON, c.Members}
}

const hintBeside = ". With the card go %d bytes of keys that others have registered beside it, which are carried along and may be what is refused: see what the agent registers"

// LacksURL reports that the cards that are pushed have no url, and since when: neither the settings nor the platform has
// one. It does so for an hour, since some agents never register one, and only once the platform could be read.
func (t *Target) LacksURL() (since time.Time, lacks bool) {
	t.state.mu.Lock()
	defer t.state.mu.Unlock()
	since = t.state.withoutURL
	return since, !since.IsZero() && time.Since(since) < unreadFor
}

// CredentialsChanged reports whether the token is not that of the newest push any more.
func (t *Target) CredentialsChanged() bool {
	token, err := t.token()
	return err == nil && digestOfToken(token) != t.pushedToken
}

func digestOfToken(token string) pannier.Digest {
	return pannier.DigestOf([]byte(strings.TrimSpace(token)))
}

// Conditions returns what is wrong with the way to the platform and with what other writers keep beside the card.
func (t *Target) Conditions(subject string) []pannier.Condition {
	conditions := append(t.network.conditions(subject), t.throttle.conditions(subject, time.Now())...)
	t.state.mu.Lock()
	defer t.state.mu.Unlock()
	return slices.Concat(conditions, t.state.dropped.conditions(subject), t.state.unreadConditions(subject))
}

// baseOf parses the platform's URL. Its errors never quote it, since it may hold a password.
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

// headerOf copies the extra headers under their canonical names, so that those of each request replace them. It refuses
// what net/http would refuse at each push. Its errors name a header and never its value.
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

// notToken and notValue report what the name and the value of a header cannot hold (RFC 9110, 5.5 and 5.6.2).
func notToken(r rune) bool {
	return r <= ' ' || r > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
}

func notValue(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
