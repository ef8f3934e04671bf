package oracle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"sync"

	"pannier/publish/molecule"
	"pannier/publish/molecule/dev"
)

// The bounds of an [Endpoint].
const (
	maxCardBytes = 32 << 20
	maxKept      = 64 // cards, and complaints
)

// Endpoint is a registry endpoint on the loopback: the development platform, with a memory and with faults on demand. Its
// methods may be called from any goroutine.
type Endpoint struct {
	platform *dev.Platform
	id, addr string
	judge    func(card json.RawMessage) error

	// mu guards what follows.
	mu     sync.Mutex
	fault  Fault
	over   chan struct{} // closed when the fault ends
	server *http.Server  // nil while Down
	served chan struct{} // closed when the server has ended
	counts Counts
	kept   []json.RawMessage
	last   any // the newest card that was taken in
	// excused says that the next card may be the same again: the sidecar was not told that the last one arrived, or that
	// one after it did not.
	excused bool
	wrong   []error
}

// Counts tell what an [Endpoint] has seen.
type Counts struct {
	// Updates are requests that brought a card, whatever became of them; Acknowledged those that were told so.
	Updates, Acknowledged int
	// Lost are those that were taken in without an answer.
	Lost int
	// Repeated are acknowledged cards equal to the one before, though the sidecar could know that it was taken in.
	Repeated int
}

// NewEndpoint starts an endpoint that knows a workspace, a UUID, and its token. judge is called with every card that is
// taken in, one at a time, and says what is wrong with it; nil means that nothing is.
func NewEndpoint(id, token string, judge func(card json.RawMessage) error) (*Endpoint, error) {
	e := &Endpoint{platform: dev.New(dev.Options{}), id: id, addr: "127.0.0.1:0", judge: judge, over: make(chan struct{})}
	if _, err := e.platform.Seed(id, token); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e, e.listenLocked()
}

// URL returns where the endpoint is, also while it is down.
func (e *Endpoint) URL() string { return "http://" + e.addr }

// Set ends the fault that there is and begins another one. It fails where the address cannot be had back.
func (e *Endpoint) Set(f Fault) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if f == e.fault {
		return nil
	}
	close(e.over)
	e.over, e.fault = make(chan struct{}), f
	switch {
	case f == Down:
		e.server.Close()
		e.server = nil
	case e.server == nil:
		return e.listenLocked()
	}
	return nil
}

func (e *Endpoint) listenLocked() error {
	ln, err := net.Listen("tcp", e.addr)
	if err != nil {
		return fmt.Errorf("endpoint: %w", err)
	}
	e.addr = ln.Addr().String()
	server, served := &http.Server{Handler: e, ErrorLog: log.New(io.Discard, "", 0)}, make(chan struct{})
	e.server, e.served = server, served
	go func() { defer close(served); server.Serve(ln) }()
	return nil
}

// Close ends the endpoint and waits for it.
func (e *Endpoint) Close() {
	e.Set(Down)
	e.mu.Lock()
	served := e.served
	e.mu.Unlock()
	<-served
	e.platform.Close()
}

// ServeHTTP implements [http.Handler].
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	fault, over := e.fault, e.over
	if isUpdate(r) {
		e.counts.Updates++
	}
	e.mu.Unlock()
	if fault.isUnclear() && isUpdate(r) {
		e.doubt(r)
	}
	switch {
	case fault.fails(w, r, over):
	case isUpdate(r):
		e.receive(w, r, fault == ResetAfter)
	default:
		e.platform.ServeHTTP(w, r)
	}
}

// doubt allows the card that was taken in last to come again, after another one whose failure does not tell the sidecar
// which of the two is held.
func (e *Endpoint) doubt(r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxCardBytes))
	if err != nil {
		return
	}
	_, card, err := readUpdate(body)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.excused = e.excused || err == nil && !reflect.DeepEqual(card, e.last)
}

// readUpdate returns the card of a request, as text and as a value.
func readUpdate(body []byte) (text json.RawMessage, card any, err error) {
	var update molecule.UpdateCardRequest
	if err := json.Unmarshal(body, &update); err != nil {
		return nil, nil, err
	}
	err = json.Unmarshal(update.AgentCard, &card)
	return update.AgentCard, card, err
}

// receive takes a card in, and answers unless lost is set.
func (e *Endpoint) receive(w http.ResponseWriter, r *http.Request, lost bool) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxCardBytes))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	answer := httptest.NewRecorder()
	e.platform.ServeHTTP(answer, r)
	if answer.Code == http.StatusOK {
		e.note(body, lost)
	}
	if lost {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(answer.Code)
	w.Write(answer.Body.Bytes())
}

// note remembers a card that was taken in.
func (e *Endpoint) note(body []byte, lost bool) {
	text, card, err := readUpdate(body)
	e.mu.Lock()
	defer e.mu.Unlock()
	if err == nil && e.judge != nil {
		err = e.judge(text)
	}
	e.complainLocked(err)
	if lost {
		e.counts.Lost++
	} else {
		e.counts.Acknowledged++
	}
	if !lost && !e.excused && reflect.DeepEqual(card, e.last) {
		e.counts.Repeated++
	}
	e.last, e.excused = card, lost
	e.kept = append(e.kept, text)
	e.kept = e.kept[max(0, len(e.kept)-maxKept):]
}

func (e *Endpoint) complainLocked(err error) {
	if err != nil && len(e.wrong) < maxKept {
		e.wrong = append(e.wrong, fmt.Errorf("card %d: %w", e.counts.Updates, err))
	}
}

// Excuse allows the next card to be the same as the last, as it may be when the sidecar was killed.
func (e *Endpoint) Excuse() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.excused = true
}

// Counts returns what was seen so far.
func (e *Endpoint) Counts() Counts {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.counts
}

// Err returns what the judge found wrong, nil where that is nothing.
func (e *Endpoint) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return errors.Join(e.wrong...)
}

// Cards returns the newest cards that were taken in, the oldest first.
func (e *Endpoint) Cards() []json.RawMessage {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]json.RawMessage(nil), e.kept...)
}

// Holds returns nil where the endpoint holds that card, compared as a value.
func (e *Endpoint) Holds(card []byte) error {
	var want, got any
	if err := json.Unmarshal(card, &want); err != nil {
		return fmt.Errorf("card of the sidecar: %w", err)
	}
	held, ok := e.platform.Card(e.id)
	if !ok {
		return errors.New("the endpoint has no card")
	}
	if err := json.Unmarshal(held, &got); err != nil {
		return fmt.Errorf("card of the endpoint: %w", err)
	}
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("the endpoint holds another card (%d bytes) than the sidecar (%d bytes)", len(held), len(card))
	}
	return nil
}
