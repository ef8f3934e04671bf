package molecule_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"

	"pannier"
	"pannier/publish/molecule"
	"pannier/publish/molecule/dev"
)

// pipes is a network for a bubble: a listener and who dials it.
type pipes struct {
	incoming chan net.Conn
	closed   chan struct{}
	shut     func()

	mu    sync.Mutex
	conns []net.Conn
}

func newPipes() *pipes {
	l := &pipes{incoming: make(chan net.Conn), closed: make(chan struct{})}
	l.shut = sync.OnceFunc(func() { close(l.closed) })
	return l
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-l.incoming:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close ends the listener and every connection, as the end of a process does.
func (l *pipes) Close() error {
	l.shut()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range l.conns {
		_ = conn.Close()
	}
	return nil
}

func (l *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "bubble"} }

func (l *pipes) dial(ctx context.Context) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case l.incoming <- far:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.closed:
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns = append(l.conns, near, far)
	return near, nil
}

// live is a platform on a network in a bubble: HTTP and WebSockets as they are, and no time but that of the bubble.
type live struct {
	*dev.Platform

	mu      sync.Mutex
	net     *pipes
	instead http.HandlerFunc // answers before the platform does; reports by writing
	seen    []string
}

func newLive(t *testing.T) *live { return newLiveOn(t, dev.New(dev.Options{})) }

func newLiveOn(t *testing.T, platform *dev.Platform) *live {
	t.Helper()
	l := &live{Platform: platform}
	if _, err := l.Seed(workspaceID, token); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	l.up(t)
	return l
}

// up starts to answer, and has the end of the test stop it.
func (l *live) up(t *testing.T) {
	t.Helper()
	pipes := newPipes()
	server := &http.Server{Handler: l}
	l.mu.Lock()
	l.net = pipes
	l.mu.Unlock()
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(pipes) })
	t.Cleanup(func() {
		_ = pipes.Close()
		_ = server.Close()
		serving.Wait()
	})
}

func (l *live) network() *pipes {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.net
}

// down is as if the platform had died.
func (l *live) down() { _ = l.network().Close() }

// set has instead asked about each request; what it does not answer, the platform does.
func (l *live) set(instead http.HandlerFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.instead = instead
}

func (l *live) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	l.seen = append(l.seen, r.Method+" "+strings.ReplaceAll(r.URL.Path, workspaceID, "self"))
	instead := l.instead
	l.mu.Unlock()
	if instead != nil {
		answered := &noting{ResponseWriter: w}
		if instead(answered, r); answered.done {
			return
		}
	}
	l.Platform.ServeHTTP(w, r)
}

// noting notes whether something was answered.
type noting struct {
	http.ResponseWriter
	done bool
}

func (w *noting) WriteHeader(status int) {
	w.done = true
	w.ResponseWriter.WriteHeader(status)
}

func (w *noting) Unwrap() http.ResponseWriter {
	w.done = true // whoever asks for it takes the connection
	return w.ResponseWriter
}

const (
	wsCall    = "GET /ws"
	peersCall = "GET /registry/self/peers"
	readCall  = "GET /workspaces/self"
	pushCall  = "POST /registry/update-card"
)

// count returns how often something was asked for since it was last counted.
func (l *live) count(call string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := len(l.seen)
	l.seen = slices.DeleteFunc(l.seen, func(s string) bool { return s == call })
	return before - len(l.seen)
}

// ask makes a request that is not counted.
func (l *live) ask(t *testing.T, method, path, bearer, body string) {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+bearer)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	if l.Platform.ServeHTTP(w, r); w.Code != http.StatusOK {
		t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
}

// replace has something else put a card in the place of ours.
func (l *live) replace(t *testing.T, card string) {
	t.Helper()
	l.ask(t, http.MethodPost, molecule.PathUpdateCard, token, `{"workspace_id":"`+workspaceID+`","agent_card":`+card+`}`)
}

// restart has the agent start with a card, as its runtime does.
func (l *live) restart(t *testing.T, card string) {
	t.Helper()
	l.ask(t, http.MethodPost, molecule.PathRegister, token, `{"id":"`+workspaceID+`","url":"http://agent.test","agent_card":`+card+`}`)
}

// join makes a peer known, or gives it another card.
func (l *live) join(t *testing.T, id, card string) {
	t.Helper()
	if _, err := l.Seed(id, token); err != nil {
		t.Fatal(err)
	}
	l.ask(t, http.MethodPost, molecule.PathRegister, token, `{"id":"`+id+`","url":"http://peer.test","agent_card":`+card+`}`)
}

func (l *live) holds(t *testing.T, want string) {
	t.Helper()
	if stored, _ := l.Card(workspaceID); !molecule.Holds(stored, []byte(want)) {
		t.Errorf("the platform holds %s, want %s", stored, want)
	}
}

// on returns a publisher on the network, with waits as long as they can be.
func on(t *testing.T, l *live, o options) *publisher {
	t.Helper()
	if o.Token == nil {
		o.Token = func() (string, error) { return token, nil }
	}
	p := newPublisher(t, o)
	p.SetDial(func(ctx context.Context, _, _ string) (net.Conn, error) { return l.network().dial(ctx) })
	p.SetJitter(longest)
	return p
}

// codes are those of the conditions, with their severity.
func codes(p *publisher) string {
	var all []string
	for _, c := range p.Conditions() {
		all = append(all, c.Code+" "+string(c.Severity))
	}
	return strings.Join(all, ", ")
}

// ask has the peers read for the first time.
func ask(p *publisher) {
	synctest.Wait()
	p.Peers()
}

// ids are those of the peers.
func ids(peers []pannier.Peer) string {
	var all []string
	for _, p := range peers {
		all = append(all, p.ID)
	}
	return strings.Join(all, " ")
}
