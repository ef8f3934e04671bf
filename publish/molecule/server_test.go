package molecule_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"pannier"
	"pannier/publish/molecule"
	"pannier/publish/molecule/dev"
)

// moleculeServer is the development platform without a network.
type moleculeServer struct {
	*dev.Platform

	mu sync.Mutex
	// instead is that of set.
	instead func(r *http.Request) (*http.Response, error)
	calls   []string
	times   []time.Time
}

func newMolecule(t *testing.T) *moleculeServer {
	t.Helper()
	m := &moleculeServer{Platform: dev.New(dev.Options{}), instead: asUsual}
	t.Cleanup(m.Close)
	return m
}

// known makes the workspace known.
func (m *moleculeServer) known(t *testing.T) *moleculeServer {
	t.Helper()
	if _, err := m.Seed(workspaceID, token); err != nil {
		t.Fatal(err)
	}
	return m
}

const token = "secret-token-0123456789"

func (m *moleculeServer) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	if resp, err := m.note(r.Method, body)(r); resp != nil || err != nil {
		return resp, err
	}
	served := httptest.NewRequest(r.Method, r.URL.Path, bytes.NewReader(body))
	served.Header = r.Header
	w := httptest.NewRecorder()
	m.ServeHTTP(w, served)
	return w.Result(), nil
}

// set has instead called for each request; it answers in the platform's place, unless it returns neither a response nor
// an error.
func (m *moleculeServer) set(instead func(r *http.Request) (*http.Response, error)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.instead = instead
}

func asUsual(*http.Request) (*http.Response, error) { return nil, nil }

func (m *moleculeServer) note(method string, body []byte) (instead func(r *http.Request) (*http.Response, error)) {
	var req struct {
		AgentCard struct{ Name string } `json:"agent_card"`
	}
	call := method
	if method == http.MethodPost && json.Unmarshal(body, &req) == nil {
		call = req.AgentCard.Name
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls, m.times = append(m.calls, call), append(m.times, time.Now())
	return m.instead
}

// took returns the calls since it was last asked: GET, or the name of the card that was pushed.
func (m *moleculeServer) took() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	calls := strings.Join(m.calls, " ")
	m.calls, m.times = nil, nil
	return calls
}

// apart returns how long after the first call the last one came.
func (m *moleculeServer) apart() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.times[len(m.times)-1].Sub(m.times[0])
}

// register has the agent start with a card, as its runtime does.
func (m *moleculeServer) register(t *testing.T, card string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, molecule.PathRegister,
		strings.NewReader(`{"id":"`+workspaceID+`","url":"http://agent.test","agent_card":`+card+`}`))
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	if m.ServeHTTP(w, r); w.Code != http.StatusOK {
		t.Fatalf("register: %d %s", w.Code, w.Body)
	}
}

func (m *moleculeServer) expectCard(t *testing.T, want string) {
	t.Helper()
	if stored, _ := m.Card(workspaceID); string(stored) != want {
		t.Errorf("the platform holds %s, want %s", stored, want)
	}
}

// facing returns a publisher that reads back from m, with waits as long as they can be.
func facing(t *testing.T, m *moleculeServer, o options) *publisher {
	t.Helper()
	o.Token = func() (string, error) { return token, nil }
	p := newPublisher(t, o)
	p.SetTransport(m)
	p.SetJitter(func(most time.Duration) time.Duration { return most })
	return p
}

// drain returns what has been emitted and not been asked for.
func (e *events) drain() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []string
	for i, kind := range e.types {
		all = append(all, string(kind)+" "+e.data[i].Digest.String()[:12])
	}
	e.types, e.data = nil, nil
	return all
}

func pushed(name string) string {
	return string(pannier.EventCardPushed) + " " + cardOf(name).Digest.String()[:12]
}

func rejected(name string) string {
	return string(pannier.EventCardRejected) + " " + cardOf(name).Digest.String()[:12]
}

// onRead answers each GET and leaves the rest to the platform.
func onRead(answer func() (*http.Response, error)) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		if r.Method != http.MethodGet {
			return nil, nil
		}
		return answer()
	}
}

var errBroken = errors.New("EOF")
