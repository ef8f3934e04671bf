// Package bridge joins a host that speaks MCP on standard input and output with an MCP endpoint over HTTP.
//
// It forwards messages as they are, in both forms of the protocol. Since 2026-07-28 each request stands alone and
// subscriptions/listen is a request that lasts. Before that there are a session and a stream of notifications. The host does not
// have to be restarted with the server: the bridge opens sessions and subscriptions again, and then tells the host that lists
// may have changed. Calls that were under way get an error.
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
	// maxSubscriptions bounds the resources that are subscribed to again in a new session.
	maxSubscriptions = 1000
	// maxAhead is how many messages are read while one is delivered, so that the end of the input is noticed behind a server that
	// does not answer.
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
	stop   context.CancelCauseFunc
	outMu  sync.Mutex // held while a line is written
	calls  calls
	legacy legacy
	tasks  sync.WaitGroup
}

// Run forwards messages until the input ends, the output is closed or ctx is done, which are no errors. It does not wait for a
// Read of the input that blocks.
func Run(ctx context.Context, o Options) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	b := &bridge{Options: o, stop: stop}
	b.legacy.opening = make(chan struct{}, 1)
	lines := make(chan line, maxAhead)
	go func() {
		defer close(lines)
		err := readLines(ctx, o.In, lines)
		if err != nil {
			o.Log.Warn("standard input cannot be read", "error", err)
		}
		time.AfterFunc(drainTimeout, func() { stop(nil) })
	}()
	b.acceptAll(ctx, lines)
	b.calls.drain(ctx)
	stop(nil)
	b.closeSession()
	b.wait()
	return nil
}

// wait waits for what goes on, but not for a host that does not read.
func (b *bridge) wait() {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.tasks.Wait()
	}()
	select {
	case <-ended:
	case <-time.After(closeTimeout):
	}
}

func (b *bridge) acceptAll(ctx context.Context, lines <-chan line) {
	for {
		select {
		case <-ctx.Done():
			return
		case l, more := <-lines:
			if !more {
				return
			}
			b.accept(ctx, l)
		}
	}
}

// accept takes a message of the host. It returns once the server has a notification, so that the messages after it do not
// overtake it. Calls go on.
func (b *bridge) accept(ctx context.Context, l line) {
	m, fault := parseMessage(l)
	switch {
	case fault != nil:
		b.fail(m.ID, fault)
	case m.Method == methodInitialize && m.isCall():
		b.failed(ctx, m, b.initialize(ctx, m))
	case m.isCall():
		b.startCall(ctx, m)
	case m.Method == notificationCancelled && (b.calls.cancel(m.cancelled()) || b.legacy.current() == nil):
		// Without a session, the end of the request is what cancels it.
	default:
		if err := b.notify(ctx, m); err != nil && ctx.Err() == nil {
			b.Log.Warn("message not delivered", "method", m.Method, "error", err)
		}
	}
}

func (b *bridge) startCall(ctx context.Context, m *message) {
	calling, end, fault := b.calls.begin(ctx, m)
	if fault != nil {
		b.fail(m.ID, fault)
		return
	}
	b.tasks.Go(func() {
		defer end()
		if m.Method == methodListen && m.isModern() {
			b.failed(calling, m, b.listen(calling, m))
			return
		}
		b.failed(calling, m, b.call(calling, m))
	})
}

// failed answers a call that has failed, unless the host has cancelled it or is gone.
func (b *bridge) failed(ctx context.Context, m *message, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	fault, ok := errors.AsType[*rpcError](err)
	if !ok {
		fault = &rpcError{Code: codeUnavailable, Message: err.Error()}
	}
	b.fail(m.ID, fault)
}

// calls are the calls of the host that are under way.
type calls struct {
	mu      sync.Mutex
	running map[string]*running // by the id as the host wrote it
	listens int
}

type running struct {
	cancel context.CancelFunc // nil for a call of a session: the server has to be told
	listen bool
	done   chan struct{}
}

// begin makes a call one that is under way until end is called.
func (c *calls) begin(ctx context.Context, m *message) (calling context.Context, end func(), fault *rpcError) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id, listen := string(m.ID), m.Method == methodListen
	limit, count := maxCalls, len(c.running)-c.listens
	if listen {
		limit, count = maxListens, c.listens
	}
	switch {
	case c.running[id] != nil:
		return nil, nil, &rpcError{Code: codeInvalidRequest, Message: "a call with this id is under way"}
	case count >= limit:
		return nil, nil, &rpcError{Code: codeUnavailable, Message: fmt.Sprintf("%d calls are under way; wait for one of them to end", limit)}
	}
	calling, cancel := context.WithCancel(ctx)
	r := &running{listen: listen, done: make(chan struct{})}
	if m.isModern() {
		r.cancel = cancel
	}
	if c.running == nil {
		c.running = map[string]*running{}
	}
	c.running[id] = r
	if listen {
		c.listens++
	}
	return calling, func() { c.end(id, cancel) }, nil
}

func (c *calls) end(id string, cancel context.CancelFunc) {
	cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.running[id]
	delete(c.running, id)
	if r.listen {
		c.listens--
	}
	close(r.done)
}

// cancel ends a call and reports whether that is all that is to be done.
func (c *calls) cancel(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.running[id]
	if r == nil || r.cancel == nil {
		return false
	}
	r.cancel()
	return true
}

// drain waits until no call is under way but those that last, or ctx is done.
func (c *calls) drain(ctx context.Context) {
	c.mu.Lock()
	var waiting []chan struct{}
	for _, r := range c.running {
		if !r.listen {
			waiting = append(waiting, r.done)
		}
	}
	c.mu.Unlock()
	for _, done := range waiting {
		select {
		case <-done:
		case <-ctx.Done():
			return
		}
	}
}

// line is a line of the input without its end, which is longer than what is kept of it where tooLong is set.
type line struct {
	text    []byte
	tooLong bool
}

func readLines(ctx context.Context, in io.Reader, lines chan<- line) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		l, err := readLine(r)
		if len(bytes.TrimSpace(l.text)) > 0 {
			select {
			case lines <- l:
			case <-ctx.Done():
				return nil
			}
		}
		if errors.Is(err, io.EOF) || ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func readLine(r *bufio.Reader) (l line, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if len(l.text)+len(part) <= maxLine {
			l.text = append(l.text, part...)
		} else {
			l.tooLong = true
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return l, err
		}
	}
}
