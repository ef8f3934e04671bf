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
)

const (
	// maxFrameBytes is the largest event that is kept in memory, beside what our own card may take in it. Of a larger one only
	// the members are looked at that say what it is about.
	maxFrameBytes = 1 << 20
	// The platform neither pings nor has deadlines, so a connection that is dead is only noticed by asking.
	pingEvery   = 30 * time.Second
	pingTimeout = 10 * time.Second
	// streamSteady is how long a connection must have held for the next failure to count as the first.
	streamSteady = time.Minute
)

var errSilent = errors.New("no answer to a ping")

// streamRow counts connections in a row that ended before they were steady.
type streamRow struct{ failures int }

func (r *streamRow) note(held time.Duration) {
	if held >= streamSteady {
		r.failures = 0
	}
	r.failures++
}

// follow keeps a connection to the event stream until ctx is done.
func (p *Publisher) follow(ctx context.Context) {
	defer p.metrics.following.Set(0)
	var row streamRow
	for ctx.Err() == nil {
		held, o, status := p.listen(ctx)
		if ctx.Err() != nil {
			return
		}
		row.note(held)
		p.noteStream(o, row.failures)
		wait(ctx, max(o.after, p.throttle.left(time.Now()), p.besidesDelay(o, status, row.failures)), nil)
	}
}

// noteStream tells of a connection that failed or ended. One that comes back at once is no news for people.
func (p *Publisher) noteStream(o outcome, failures int) {
	f := faultOf(o, hintNoStream)
	if p.blame(&p.deaf, f) && failures == 1 {
		p.log.Info("event stream not followed, trying again", "error", o.err, "hint", f.hint)
		return
	}
	p.log.Debug("event stream not followed", "error", o.err, "failures", failures)
}

// besidesDelay is how long the next try waits by our own rules, of what is no push.
func (p *Publisher) besidesDelay(o outcome, status, failures int) time.Duration {
	switch {
	case routeless(status):
		return checkLeast + p.jitter(checkSpread)
	case o.plan == planRetry:
		return p.jitter(o.mostWait(failures))
	}
	return slowLeast + p.jitter(slowSpread)
}

// listen connects and takes in events until the connection ends. It returns how long that held, and the outcome and the
// status of the answer where there never was a connection.
func (p *Publisher) listen(ctx context.Context) (held time.Duration, o outcome, status int) {
	token, err := p.readToken()
	var conn *websocket.Conn
	var a answer
	if err == nil {
		conn, a, err = p.dial(ctx, token)
	}
	if conn == nil {
		return 0, p.besides("follow events", token, a, err), a.status
	}
	begun := time.Now()
	p.heard()
	err = p.attend(ctx, conn)
	p.metrics.following.Set(0)
	return time.Since(begun), p.besides("follow events", token, answer{}, err), 0
}

// dial makes the handshake. Where the platform answers something else, that is returned.
func (p *Publisher) dial(ctx context.Context, token string) (*websocket.Conn, answer, error) {
	ctx, cancel := context.WithTimeout(ctx, totalTimeout)
	defer cancel()
	header := p.header.Clone()
	header.Set(WorkspaceHeader, p.workspaceID)
	header.Set("User-Agent", "pannier")
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	conn, resp, err := websocket.Dial(ctx, p.stream.String(), &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: p.transport, CheckRedirect: sameHost}, HTTPHeader: header,
	})
	if err == nil {
		return conn, answer{}, nil
	}
	if resp == nil || resp.StatusCode == http.StatusSwitchingProtocols {
		return nil, answer{}, err
	}
	p.throttle.note(resp.StatusCode, resp.Header, time.Now())
	var body []byte
	if resp.Body != nil {
		body, _ = io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes))
	}
	a := answer{status: resp.StatusCode, message: messageOf(body), after: retryAfter(resp.Header, time.Now())}
	if a.status/100 == 2 { // which is no success here
		return nil, a, errNoStream
	}
	return nil, a, nil
}

var errNoStream = errors.New("the platform answered something else than a WebSocket")

// sameHost follows redirects as a push does: to the same scheme and host, a few times.
func sameHost(next *http.Request, via []*http.Request) error {
	first := via[0].URL
	if len(via) > maxRedirects || next.URL.Scheme != first.Scheme || !strings.EqualFold(next.URL.Host, first.Host) {
		return http.ErrUseLastResponse
	}
	return nil
}

// heard notes a new connection. What happened before it was not told, so everything is read anew; and a platform that is
// back need not be waited for any longer.
func (p *Publisher) heard() {
	p.metrics.following.Set(1)
	if p.acquit(&p.deaf) {
		p.log.Debug("event stream followed again")
	}
	p.suspect(false)
	ring(p.kin)
	ring(p.wake)
}

// attend takes in events until the connection ends, and returns why it did.
func (p *Publisher) attend(ctx context.Context, conn *websocket.Conn) error {
	conn.SetReadLimit(-1) // the bound is that of readFrame, so that one large card does not cost the connection
	ctx, cancel := context.WithCancelCause(ctx)
	var pinging sync.WaitGroup
	defer pinging.Wait()
	defer conn.CloseNow()
	defer cancel(nil)
	pinging.Go(func() { cancel(keepAlive(ctx, conn)) })
	for {
		err := p.readFrame(ctx, conn)
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		if err != nil {
			return err
		}
	}
}

// keepAlive pings until there is no answer.
func keepAlive(ctx context.Context, conn *websocket.Conn) error {
	for {
		wait(ctx, pingEvery, nil)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		timed, cancel := context.WithTimeout(ctx, pingTimeout)
		err := conn.Ping(timed)
		cancel()
		if err != nil {
			return errSilent
		}
	}
}

// readFrame takes in one event. Of one that is too large the rest is read past.
func (p *Publisher) readFrame(ctx context.Context, conn *websocket.Conn) error {
	_, r, err := conn.Reader(ctx)
	if err != nil {
		return err
	}
	most := p.beyondOurs(maxFrameBytes)
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return err
	}
	if int64(len(text)) <= most {
		p.hear(text)
		return nil
	}
	p.hearLarge(io.MultiReader(bytes.NewReader(text), r))
	_, err = io.Copy(io.Discard, r)
	return err
}

// frame is what is read of an event.
type frame struct {
	Event       string `json:"event"`
	WorkspaceID string `json:"workspace_id"`
	Payload     struct {
		AgentCard json.RawMessage `json:"agent_card"`
	} `json:"payload"`
}

// hear takes in one event. One that can not be read says nothing.
func (p *Publisher) hear(text []byte) {
	var f frame
	if err := json.Unmarshal(text, &f); err != nil {
		p.log.Debug("event of the platform not read", "error", err)
		return
	}
	p.heed(f)
}

// hearLarge takes in an event that is too large for our card to be in it. One that does not say what it is about counts as
// one of every sort.
func (p *Publisher) hearLarge(r io.Reader) {
	s := newSkim(r)
	var members map[string]json.RawMessage
	if ok, _ := s.enter('{'); ok {
		members, _ = s.members(frameFieldBytes)
	}
	var f frame
	f.Event, _ = decode(members["event"]).(string)
	f.WorkspaceID, _ = decode(members["workspace_id"]).(string)
	f.Payload.AgentCard = foreign
	if f.Event == "" || f.WorkspaceID == "" {
		p.suspect(false)
		ring(p.kin)
		return
	}
	p.heed(f)
}

// frameFieldBytes is how much of a member of a large event is kept.
func frameFieldBytes(key string) int {
	if key == "event" || key == "workspace_id" {
		return maxKeyBytes
	}
	return 0
}

// heed does what an event calls for.
func (p *Publisher) heed(f frame) {
	own := strings.EqualFold(f.WorkspaceID, p.workspaceID)
	switch f.Event {
	case FrameCardUpdated, FrameOnline:
		if own {
			p.hearOwn(f.Payload.AgentCard, f.Event == FrameOnline)
			return
		}
	case FrameRemoved:
		if own {
			p.suspect(false)
			return
		}
	case FrameOffline, FrameExpanded, FrameCollapsed:
	default:
		return
	}
	if !own && !p.applyToPeers(f) {
		ring(p.kin)
	}
}

// hearOwn takes in which card the platform has for our workspace; nil where it does not say. registration says that it came
// with an agent's registration. What was told before a push
// begins is settled by that push, which reads anew what it has to keep, and a card of our own from just before may be told
// late: both call for a look at most. What is told while a card is in flight may have come before it or behind it, so that
// counts.
func (p *Publisher) hearOwn(registered json.RawMessage, registration bool) {
	registered = unwrapped(registered)
	p.mu.Lock()
	newest, waits := p.slot.card.JSON, p.slot.waits()
	echoes, sent := p.echoes, p.sent
	p.mu.Unlock()
	if registered != nil && !equal(decode(registered), decode(sent)) {
		p.outdate() // what is beside our card may be another
	}
	switch {
	case registered != nil && newest != nil && holds(registered, newest):
	case registered != nil && echoes.have(registered, time.Now()):
		ring(p.alarm)
	default:
		p.mu.Lock()
		p.registered = registered != nil && registration
		p.mu.Unlock()
		p.suspect(registered != nil && !waits)
	}
}
