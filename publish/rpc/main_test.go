package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"pannier"
	"pannier/publish/rpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// options have methods of every sort: echo gives back its parameters, wait waits for what comes over goOn, change has
// somebody told of the next snapshot.
func options(goOn <-chan struct{}) rpc.Options {
	return rpc.Options{
		Methods: map[string]rpc.Method{
			"echo": {Answer: func(_ *http.Request, params json.RawMessage) (any, error) { return params, nil }},
			"add": {Answer: func(_ *http.Request, params json.RawMessage) (any, error) {
				var p struct {
					A int `json:"a"`
					B int `json:"b"`
				}
				err := rpc.Params(params, &p)
				return p.A + p.B, err
			}},
			"wait": {Answer: func(r *http.Request, _ json.RawMessage) (any, error) {
				select {
				case <-goOn:
					return "waited", nil
				case <-r.Context().Done():
					return nil, r.Context().Err()
				}
			}},
			"fail":  {Answer: func(*http.Request, json.RawMessage) (any, error) { return nil, errors.New("it failed") }},
			"odd":   {Answer: func(*http.Request, json.RawMessage) (any, error) { return func() {}, nil }},
			"panic": {Answer: func(*http.Request, json.RawMessage) (any, error) { panic("no") }},
		},
		ErrorOf: func(_ *http.Request, err error) *rpc.Error {
			return rpc.NewError(-32001, "test", rpc.Details{Error: err.Error(), Hint: "hint"})
		},
		Changed: func(before, after *pannier.Snapshot) rpc.Notification {
			from := uint64(0)
			if before != nil {
				from = before.Version
			}
			return rpc.Notification{Method: "changed", Params: []uint64{from, after.Version}}
		},
		Logger: hclog.NewNullLogger(),
	}
}

// feed is what hands out snapshots, newest wins, as a registry does.
type feed struct {
	mu      sync.Mutex
	current *pannier.Snapshot
	slots   map[chan *pannier.Snapshot]bool
}

func (f *feed) subscribe() (<-chan *pannier.Snapshot, func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	slot := make(chan *pannier.Snapshot, 1)
	if f.current != nil {
		slot <- f.current
	}
	if f.slots == nil {
		f.slots = map[chan *pannier.Snapshot]bool{}
	}
	f.slots[slot] = true
	return slot, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.slots, slot)
	}
}

func (f *feed) set(version uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.current = &pannier.Snapshot{Version: version}
	for slot := range f.slots {
		select {
		case <-slot:
		default:
		}
		slot <- f.current
	}
}

// service serves WebSockets over pipes within the process, so that it can run on a clock of its own.
type service struct {
	conns  chan net.Conn
	closed chan struct{}
	stop   context.CancelFunc
	ended  sync.WaitGroup
}

func (s *service) Accept() (net.Conn, error) {
	select {
	case conn := <-s.conns:
		return conn, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

func (s *service) Close() error   { return nil }
func (s *service) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func serve(ctx context.Context, o rpc.Options) *service {
	s := &service{conns: make(chan net.Conn), closed: make(chan struct{})}
	stop, cancel := context.WithCancel(ctx)
	s.stop = cancel
	calls := rpc.New(o)
	server := &http.Server{BaseContext: func(net.Listener) context.Context { return ctx }, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.ended.Add(1)
		defer s.ended.Done()
		if err := calls.Accept(w, r, stop); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})}
	s.ended.Go(func() { server.Serve(s) })
	return s
}

// end waits until nothing of the service is left.
func (s *service) end() {
	s.stop()
	close(s.closed)
	s.ended.Wait()
}

// pipe returns the near end of a new connection.
func (s *service) pipe() net.Conn {
	here, there := net.Pipe()
	s.conns <- there
	return here
}

func (s *service) dial(t *testing.T) *websocket.Conn {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(context.Context, string, string) (net.Conn, error) { return s.pipe(), nil }}
	conn, _, err := websocket.Dial(t.Context(), "ws://pannier/", &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(64 << 20)
	return conn
}

func write(t *testing.T, conn *websocket.Conn, text string) {
	t.Helper()
	if err := conn.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, conn *websocket.Conn) string {
	t.Helper()
	_, text, err := conn.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// post answers a text as a POST would.
func post(s *rpc.Server, text string) string {
	return string(s.Answer(httptest.NewRequest(http.MethodPost, "/", nil), []byte(text)))
}

func answerWith(text json.RawMessage) func(*http.Request, json.RawMessage) (any, error) {
	return func(*http.Request, json.RawMessage) (any, error) { return text, nil }
}
