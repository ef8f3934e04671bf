package molecule_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pannier"
	"pannier/publish/card"
	"pannier/publish/molecule"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const workspaceID = "6f1d4a52-3c0e-4d0a-9d5f-1f0c9a7b1e11"

// cardOf returns a card that is told apart from others by its name.
func cardOf(name string) card.Card {
	text := json.RawMessage(`{"name":"` + name + `"}`)
	return card.Card{JSON: text, Digest: pannier.DigestOf(text)}
}

// exchange is a request as the platform saw it.
type exchange struct {
	at     time.Time
	card   string
	header http.Header
}

// wire is a platform without a network. answer is called for each request, n counting from 1.
type wire struct {
	answer func(n int, r *http.Request) (*http.Response, error)

	mu        sync.Mutex
	exchanges []exchange
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	var req molecule.UpdateCardRequest
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		return nil, err
	}
	var c struct{ Name string }
	if err := json.Unmarshal(req.AgentCard, &c); err != nil {
		return nil, err
	}
	w.mu.Lock()
	w.exchanges = append(w.exchanges, exchange{time.Now(), c.Name, r.Header.Clone()})
	n := len(w.exchanges)
	w.mu.Unlock()
	return w.answer(n, r)
}

func (w *wire) seen() []exchange {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]exchange(nil), w.exchanges...)
}

// cards are the names of the cards that came, in order.
func (w *wire) cards() string {
	var names []string
	for _, e := range w.seen() {
		names = append(names, e.card)
	}
	return strings.Join(names, " ")
}

// gaps are the times between one request and the next.
func (w *wire) gaps() []time.Duration {
	var gaps []time.Duration
	seen := w.seen()
	for i := 1; i < len(seen); i++ {
		gaps = append(gaps, seen[i].at.Sub(seen[i-1].at))
	}
	return gaps
}

// respond makes a response; header is pairs of name and value.
func respond(status int, body string, header ...string) (*http.Response, error) {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// always answers each request alike.
func always(status int, body string, header ...string) func(int, *http.Request) (*http.Response, error) {
	return func(int, *http.Request) (*http.Response, error) { return respond(status, body, header...) }
}

// inTurn answers with one status after the other, and with the last one from then on.
func inTurn(statuses ...int) func(int, *http.Request) (*http.Response, error) {
	return func(n int, _ *http.Request) (*http.Response, error) {
		return respond(statuses[min(n, len(statuses))-1], `{}`)
	}
}

func newPublisher(t *testing.T, o options) *publisher {
	t.Helper()
	if o.URL == "" {
		o.URL = "http://platform.test:8080"
	}
	o.WorkspaceID = cmp.Or(o.WorkspaceID, workspaceID)
	p, err := build(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// wired returns a publisher on a fake wire whose waits are as long as they can be.
func wired(t *testing.T, o options, answer func(int, *http.Request) (*http.Response, error)) (*publisher, *wire) {
	t.Helper()
	p, w := newPublisher(t, o), &wire{answer: answer}
	p.SetTransport(w)
	p.SetJitter(func(most time.Duration) time.Duration { return most })
	return p, w
}

// start runs p until stop is called, which waits for it.
func start(t *testing.T, p *publisher) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run returned %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// events collects what is emitted.
type events struct {
	mu    sync.Mutex
	types []pannier.EventType
	data  []pannier.CardPush
	// came has room for more than any test emits.
	came chan struct{}
}

func newEvents() *events { return &events{came: make(chan struct{}, 100)} }

func (e *events) emit(kind pannier.EventType, data any) {
	e.mu.Lock()
	e.types = append(e.types, kind)
	e.data = append(e.data, data.(pannier.CardPush))
	e.mu.Unlock()
	e.came <- struct{}{}
}

func (e *events) await(t *testing.T) (pannier.EventType, pannier.CardPush) {
	t.Helper()
	select {
	case <-e.came:
	case <-time.After(30 * time.Second):
		t.Fatal("no event came")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	kind, push := e.types[0], e.data[0]
	e.types, e.data = e.types[1:], e.data[1:]
	return kind, push
}

// pass lets a bubble's clock run for d.
func pass(d time.Duration) { <-time.After(d) }

// buffer is a bytes.Buffer for several goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
