package molecule

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"pannier/publish/push"
)

const (
	// maxFrameBytes is the largest event that is kept in memory, beside what our own card may take in it. Of a larger
	// one only the members are read that say what it is about.
	maxFrameBytes = 1 << 20
	// The platform neither pings nor has deadlines, so that only a ping finds a connection that is dead.
	pingInterval = 30 * time.Second
	pingTimeout  = 10 * time.Second
)

var (
	errSilent   = errors.New("no answer to a ping")
	errNoStream = errors.New("the platform answered something else than a WebSocket")
)

// Follow connects to the event stream of the platform and handles events until the connection ends.
func (t *Target) Follow(ctx context.Context, handle func(push.Event)) (push.Outcome, error) {
	token, err := t.readToken()
	var conn *websocket.Conn
	var a Answer
	if err == nil {
		conn, a, err = t.dial(ctx, token)
	}
	if conn != nil {
		handle(push.Event{Kind: push.Connected})
		err = t.readEvents(ctx, conn, handle)
		a = Answer{}
	}
	o, err := t.sideRequestOutcome("follow events", token, a, err)
	return withoutRoute(o, a.Status, hintNoStream), err
}

// dial makes the handshake. If the platform answers something else, that is returned.
func (t *Target) dial(ctx context.Context, token string) (*websocket.Conn, Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, totalTimeout)
	defer cancel()
	header := t.header.Clone()
	header.Set(WorkspaceHeader, t.workspaceID)
	header.Set("User-Agent", "pannier")
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	conn, resp, err := websocket.Dial(ctx, t.stream.String(), &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: t.transport, CheckRedirect: sameHost}, HTTPHeader: header,
	})
	if resp != nil {
		t.throttle.record(resp.StatusCode, resp.Header, time.Now())
	}
	if err == nil {
		return conn, Answer{}, nil
	}
	if resp == nil || resp.StatusCode == http.StatusSwitchingProtocols {
		return nil, Answer{}, err
	}
	var body []byte
	if resp.Body != nil {
		body, _ = io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes))
	}
	a := Answer{Status: resp.StatusCode, Message: messageOf(body), RetryAfter: retryAfter(resp.Header, time.Now())}
	if a.Status/100 == 2 { // not a success here
		return nil, a, errNoStream
	}
	return nil, a, nil
}

func sameHost(next *http.Request, via []*http.Request) error {
	first := via[0].URL
	if len(via) > maxRedirects || next.URL.Scheme != first.Scheme || !strings.EqualFold(next.URL.Host, first.Host) {
		return http.ErrUseLastResponse
	}
	return nil
}

func (t *Target) readEvents(ctx context.Context, conn *websocket.Conn, handle func(push.Event)) error {
	conn.SetReadLimit(-1) // readFrame has the bound, so that one large card does not cost the connection
	ctx, cancel := context.WithCancelCause(ctx)
	var pinging sync.WaitGroup
	defer pinging.Wait()
	defer conn.CloseNow()
	defer cancel(nil)
	pinging.Go(func() { cancel(keepAlive(ctx, conn)) })
	for {
		e, known, err := t.readFrame(ctx, conn)
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		if err != nil {
			return err
		}
		if known {
			handle(e)
		}
	}
}

func keepAlive(ctx context.Context, conn *websocket.Conn) error {
	ticker := time.NewTicker(pingInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		timed, cancel := context.WithTimeout(ctx, pingTimeout)
		err := conn.Ping(timed)
		cancel()
		if err != nil {
			return errSilent
		}
	}
}

type frame struct {
	Event       string `json:"event"`
	WorkspaceID string `json:"workspace_id"`
	Payload     struct {
		AgentCard json.RawMessage `json:"agent_card"`
	} `json:"payload"`
}

// readFrame reads one event, and reports whether it is one that matters.
func (t *Target) readFrame(ctx context.Context, conn *websocket.Conn) (e push.Event, known bool, err error) {
	_, r, err := conn.Reader(ctx)
	if err != nil {
		return e, false, err
	}
	t.state.mu.Lock()
	limit := sizeLimit(maxFrameBytes, t.state.sent)
	t.state.mu.Unlock()
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return e, false, err
	}
	var f frame
	if int64(len(text)) > limit {
		f = largeFrame(io.MultiReader(bytes.NewReader(text), r))
		if _, err := io.Copy(io.Discard, r); err != nil {
			return e, false, err
		}
		if f.Event == "" || f.WorkspaceID == "" {
			return push.Event{Kind: push.Uncertain}, true, nil
		}
	} else if err := json.Unmarshal(text, &f); err != nil {
		t.log.Debug("event of the platform not read", "error", err)
		return e, false, nil
	}
	e, known = t.eventOf(f)
	return e, known, nil
}

// largeFrame reads an event that is too large for our card to be in it.
func largeFrame(r io.Reader) (f frame) {
	d := newBoundedDecoder(r)
	var members map[string]json.RawMessage
	if ok, _ := d.enter('{'); ok {
		members, _ = d.members(func(key string) int {
			if key == "event" || key == "workspace_id" {
				return maxKeyBytes
			}
			return 0
		})
	}
	f.Event, _ = decode(members["event"]).(string)
	f.WorkspaceID, _ = decode(members["workspace_id"]).(string)
	f.Payload.AgentCard = foreign
	return f
}

func (t *Target) eventOf(f frame) (e push.Event, known bool) {
	own := strings.EqualFold(f.WorkspaceID, t.workspaceID)
	change := push.PeerChange{ID: f.WorkspaceID}
	switch f.Event {
	case FrameCardUpdated, FrameOnline:
		if own {
			return t.ownEvent(unwrapped(f.Payload.AgentCard), f.Event == FrameOnline), true
		}
		if f.Event == FrameOnline {
			change.Status = "online"
		}
		// A heartbeat brings a workspace online without a card.
		if change.HasCard = f.Event == FrameCardUpdated || len(f.Payload.AgentCard) > 0; change.HasCard && !bytes.Equal(f.Payload.AgentCard, foreign) {
			change.Card = peerCard(f.Payload.AgentCard)
		}
	case FrameOffline:
		change.Status = "offline"
	case FrameRemoved:
		if own {
			return push.Event{Kind: push.CardChanged}, true
		}
		change.Removed = true
	case FrameExpanded, FrameCollapsed:
		return push.Event{Kind: push.PeersChanged}, !own
	default:
		return e, false
	}
	return push.Event{Kind: push.PeerChanged, Peer: change}, !own
}

// ownEvent is an event about the card of our own workspace; nil if it does not say which card that is.
func (t *Target) ownEvent(registered json.RawMessage, restarted bool) push.Event {
	e := push.Event{Kind: push.CardChanged, Restarted: restarted}
	if registered == nil {
		return e
	}
	t.state.mu.Lock()
	sent := t.state.sent
	t.state.mu.Unlock()
	e.Shown = &reading{card: parseCard(registered), own: parseOwn}
	e.Beside = !bytes.Equal(registered, sent) && !equal(decode(registered), decode(sent))
	return e
}
