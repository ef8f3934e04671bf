// Package bridge joins a host that speaks MCP on standard input and output with an MCP endpoint over HTTP.
//
// It forwards messages as they are, in both forms of the protocol. Since 2026-07-28 each request stands alone and
// subscriptions/listen is a request that lasts. Before that there are a session and a stream of notifications. The host
// does not have to be restarted with the server: the bridge opens sessions and subscriptions again, and then tells the
// host that lists may have changed. Calls that were under way get an error.
//
// The transports of the SDK end with the first invalid line, and with the first answer that is cut off. They
// open the stream of a session for the client of the SDK alone. So the bridge has loops of its own.
package bridge

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// The bounds of a bridge.
const (
	// MaxMessage is the largest message of a host in bytes, which is what a sidecar takes.
	MaxMessage = 1 << 20
	// maxLine is how much of a larger message is read to find its id. The rest is dropped.
	maxLine = 16 * MaxMessage
	// maxAnswer is the largest message of a server in bytes: a resource of 16 MiB in base64, and some more.
	maxAnswer = 32 << 20
	maxCalls  = 64
	// maxListens bounds the subscriptions/listen of a host that are open at a time.
	maxListens = 16
	// maxReplayed bounds the messages that are sent again in a new session, such as subscriptions.
	maxReplayed = 1000
	// maxAhead is how many messages are read while one is delivered, so that the end of the input is noticed while a
	// server does not answer.
	maxAhead = 8
)

// The times of a bridge.
const (
	// reachTimeout is how long a message waits for a server that does not listen, such as one that restarts.
	reachTimeout = 5 * time.Second
	// drainTimeout is how long calls may go on after the end of the input.
	drainTimeout = 500 * time.Millisecond
	// closeTimeout bounds the end of the session.
	closeTimeout = 200 * time.Millisecond
	minWait      = 20 * time.Millisecond
	maxWait      = time.Second
)

// Options say what a bridge joins. All are needed.
type Options struct {
	// HTTP carries the requests to Endpoint. It must have no timeout: streams last.
	HTTP     *http.Client
	Endpoint string
	// Server is what errors call the server, such as "the sidecar at /run/pannier/pannier.sock".
	Server string
	In     io.Reader
	Out    io.Writer
	Log    hclog.Logger
}

type bridge struct {
	Options
	stop           context.CancelFunc
	tasks          sync.WaitGroup
	calls, listens chan struct{} // have a value for each one under way
	outMu          sync.Mutex    // held while a line is written
	renewing       sync.Mutex    // held while a session is opened again
	follows        sync.Once

	mu       sync.Mutex
	running  map[string]context.CancelFunc // by the id as the host wrote it; nil for a call of a session
	session  *session                      // nil before initialize
	replayed []*message                    // the messages that the next session needs too
}

// Run forwards messages until the input ends, the output is closed or ctx is done, which are no errors. It does not
// wait for a Read of the input that blocks.
func Run(ctx context.Context, o Options) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	b := &bridge{
		Options: o, stop: stop, running: map[string]context.CancelFunc{},
		calls: make(chan struct{}, maxCalls), listens: make(chan struct{}, maxListens),
	}
	lines := make(chan []byte, maxAhead)
	go func() {
		defer close(lines)
		if err := readLines(ctx, o.In, lines); err != nil {
			o.Log.Warn("standard input cannot be read", "error", err)
		}
		time.AfterFunc(drainTimeout, stop)
	}()
	for more := true; more; {
		var text []byte
		select {
		case <-ctx.Done():
			more = false
		case text, more = <-lines:
			if more {
				b.accept(ctx, text)
			}
		}
	}
	for range maxCalls { // each one that ends leaves its place
		select {
		case b.calls <- struct{}{}:
		case <-ctx.Done():
		}
	}
	stop()
	if s := b.current(); s != nil && s.id != "" { // the server need not keep it
		closing, cancel := context.WithTimeout(context.Background(), closeTimeout)
		if res, err := b.send(closing, http.MethodDelete, nil, s); err == nil {
			res.Body.Close()
		}
		cancel()
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.tasks.Wait()
	}()
	select {
	case <-ended:
	case <-time.After(closeTimeout): // a write to a host that does not read cannot be ended
	}
	return nil
}

// readLines sends the lines that are not blank, and nil for one that is longer than maxLine.
func readLines(ctx context.Context, in io.Reader, lines chan<- []byte) error {
	r := bufio.NewReaderSize(in, 64<<10)
	text, tooLong := []byte{}, false
	for {
		part, err := r.ReadSlice('\n')
		if tooLong = tooLong || len(text)+len(part) > maxLine; tooLong {
			text = nil
		} else {
			text = append(text, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if tooLong || len(bytes.TrimSpace(text)) > 0 {
			select {
			case lines <- text:
			case <-ctx.Done():
				return nil
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		text, tooLong = []byte{}, false
	}
}

// accept takes a message of the host. It returns once the server has a notification, so that the messages after it do
// not overtake it. Calls go on.
func (b *bridge) accept(ctx context.Context, text []byte) {
	m, fault := parseMessage(text)
	switch {
	case fault != nil:
		b.fail(m.ID, fault)
	case m.Method == methodInitialize && m.isCall():
		b.failed(ctx, m, b.initialize(ctx, m))
	case m.isCall():
		b.startCall(ctx, m)
	case m.Method == notificationCancelled && b.cancel(string(m.params.RequestID)):
	default:
		if err := b.forward(ctx, m); err != nil && ctx.Err() == nil {
			b.Log.Warn("message not delivered", "method", m.Method, "error", err)
		}
	}
}

func (b *bridge) startCall(ctx context.Context, m *message) {
	id, forward, places := string(m.ID), b.forward, b.calls
	if m.Method == methodListen && m.isModern() {
		forward, places = b.listen, b.listens
	}
	calling, end := context.WithCancel(ctx)
	cancel := end
	if !m.isModern() {
		cancel = nil
	}
	var fault *jsonrpc.Error
	b.mu.Lock()
	if _, again := b.running[id]; again {
		fault = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "a call with this id is under way"}
	} else {
		select {
		case places <- struct{}{}:
			b.running[id] = cancel
		default:
			fault = unavailable("%d calls are under way; wait for one of them to end", cap(places))
		}
	}
	b.mu.Unlock()
	if fault != nil {
		end()
		b.fail(m.ID, fault)
		return
	}
	b.tasks.Go(func() {
		b.failed(calling, m, forward(calling, m))
		end()
		b.mu.Lock()
		delete(b.running, id)
		b.mu.Unlock()
		<-places
	})
}

// cancel ends a call and reports whether that is all that is to be done: of a call in a session the server has to be
// told.
func (b *bridge) cancel(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if cancel := b.running[id]; cancel != nil {
		cancel()
		return true
	}
	return b.session == nil
}

// failed answers a call that has failed, unless the host has cancelled it or is gone.
func (b *bridge) failed(ctx context.Context, m *message, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	fault, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok {
		fault = unavailable("%v", err)
	}
	b.fail(m.ID, fault)
}

func unavailable(format string, args ...any) *jsonrpc.Error {
	return &jsonrpc.Error{Code: codeUnavailable, Message: fmt.Sprintf(format, args...)}
}
