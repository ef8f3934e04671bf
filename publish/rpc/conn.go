package rpc

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"pannier"
)

// The bounds of connections.
const (
	// MaxConns bounds the connections at one time where the options do not.
	MaxConns = 512
	// maxCalls bounds the frames of one connection whose calls are under way.
	maxCalls = 16
	// pingInterval is how often a connection is pinged, pongTimeout how long its peer may take to answer.
	pingInterval = 15 * time.Second
	pongTimeout  = 10 * time.Second
	// writeTimeout is how long a peer may leave one message unread.
	writeTimeout = 10 * time.Second
	// closeTimeout is how long a connection that is ended may take to close.
	closeTimeout = 12 * time.Second
	// stopTimeout is how long calls under way may take once the server stops.
	stopTimeout = 2 * time.Second
)

// ErrFull says that there are as many connections as there may be.
var ErrFull = errors.New("there are too many WebSockets")

// Accept makes a WebSocket of a request and serves it until its peer leaves, is dropped, or stop is done; then the
// calls under way get a moment, and the peer is announced that the server goes away. When the context of the request
// is done, the connection is cut. Accept returns when nothing of the connection is left. Where it fails nothing was
// written.
func (s *Server) Accept(w http.ResponseWriter, r *http.Request, stop context.Context) error {
	defer s.open.Add(-1)
	if s.open.Add(1) > int64(cmp.Or(s.MaxConns, MaxConns)) {
		return &HandshakeError{http.StatusServiceUnavailable, ErrFull}
	}
	refused := &handshake{ResponseWriter: w}
	socket, err := websocket.Accept(refused, r, nil)
	if err != nil {
		return &HandshakeError{max(refused.status, http.StatusBadRequest), err}
	}
	s.metrics.open.Inc()
	defer s.metrics.open.Dec()
	socket.SetReadLimit(max(MaxFrame, s.MaxBinary))
	c := &conn{
		server: s, socket: socket, request: r, wire: refused.wire,
		queue:  &queue{ready: make(chan struct{}, 1), space: make(chan struct{}, 1)},
		ending: make(chan ending, 1), slots: make(chan struct{}, maxCalls),
	}
	c.peer = &Peer{conn: c, asked: map[string]chan peerAnswer{}}
	c.serve(stop)
	return nil
}

// HandshakeError says why a request did not become a WebSocket.
type HandshakeError struct {
	status int
	err    error
}

// Error implements error.
func (e *HandshakeError) Error() string { return e.err.Error() }

// Unwrap gives [errors.Is] the cause, such as [ErrFull].
func (e *HandshakeError) Unwrap() error { return e.err }

// Status returns the HTTP status that the request is answered with.
func (e *HandshakeError) Status() int { return e.status }

// handshake takes the answer to a handshake that fails, so that the caller can write its own, and keeps the
// connection of one that does not.
type handshake struct {
	http.ResponseWriter
	status int
	wire   *wire
}

func (w *handshake) WriteHeader(status int) {
	if status >= http.StatusBadRequest {
		w.status = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *handshake) Write(text []byte) (int, error) { return len(text), nil }

func (w *handshake) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(w.ResponseWriter).Hijack()
	w.wire = &wire{Conn: conn}
	return w.wire, buffered, err
}

type wire struct {
	net.Conn
	reads atomic.Uint64 // parts, and those of binary frames once more
}

func (w *wire) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	if n > 0 {
		w.reads.Add(1)
	}
	return n, err
}

// conn is one connection. One goroutine reads, one writes, one pings, one closes, and each frame has one for its calls.
type conn struct {
	server  *Server
	socket  *websocket.Conn
	wire    *wire // below the socket
	request *http.Request
	queue   *queue
	ending  chan ending   // has at most one
	slots   chan struct{} // one for each frame whose calls are under way
	calls   sync.WaitGroup
	// changing counts the frames under way that may lead to a notification.
	changing atomic.Int64
	// writes is odd while a message is written, and another number after each.
	writes atomic.Uint64
	// working is set while a part of a binary frame is worked on: then it is not the peer that is waited for.
	working atomic.Bool
	// stopping is set once what is queued is the last that is written.
	stopping atomic.Bool
	peer     *Peer
}

type ending struct {
	code   websocket.StatusCode
	reason string // at most 123 bytes (RFC 6455, 5.5)
	label  string // that of the metrics; empty where the peer is not at fault
}

func (c *conn) serve(stop context.Context) {
	ctx, cancel := context.WithCancel(c.request.Context())
	defer context.AfterFunc(ctx, func() { c.wire.Close() })()
	c.peer.gone = ctx.Done()
	c.request = c.request.WithContext(context.WithValue(ctx, peerKey{}, c.peer))
	var parts sync.WaitGroup
	parts.Go(func() {
		defer cancel() // ends callers that wait for space in the queue
		c.write(ctx)
	})
	parts.Go(func() { c.ping(ctx) })
	parts.Go(func() { c.close(ctx) })
	parts.Go(func() { c.awaitStop(ctx, stop) })
	c.read(ctx)
	cancel()
	c.socket.CloseNow()
	c.calls.Wait()
	c.peer.left()
	parts.Wait()
}

// read takes in frames until the connection ends. It waits for what takes in a binary frame, but never for a call, so
// that pongs are seen.
func (c *conn) read(ctx context.Context) {
	for {
		text, err := c.next(ctx)
		if err != nil {
			c.server.Logger.Debug("a WebSocket has ended", "cause", err)
			return
		}
		if c.peer.take(text) { // needs no slot: all can be taken by calls that wait for it
			continue
		}
		select {
		case c.slots <- struct{}{}:
			c.calls.Go(func() {
				defer func() { <-c.slots }()
				f := decode(text)
				if slices.ContainsFunc(f.calls, func(asked call) bool {
					return asked.fault == nil && c.server.Methods[asked.method].Changes
				}) {
					c.changing.Add(1) // notifications of what the calls change follow their answer
					defer c.queue.wake()
					defer c.changing.Add(-1)
				}
				c.send(c.server.run(c.request, f))
			})
		default:
			c.send(decode(text).answer(nil, func(refused call, dst []byte) []byte {
				if refused.fault == nil {
					refused.fault = newError(
						CodeServer, "rpc.too_many_calls",
						"too many calls of this connection are under way; ask again after an answer",
					)
				}
				return refused.refuse(refused.fault, dst)
			}))
		}
	}
}

// send queues a text, nil being none. A peer that has left too many unread is dropped.
func (c *conn) send(text []byte) {
	if text != nil && !c.queue.push(text) {
		c.end(ending{websocket.StatusPolicyViolation, "too many messages were left unread", slowReader})
	}
}

// write sends what is queued, and a notification when the queue is empty, until the connection ends.
func (c *conn) write(ctx context.Context) {
	var announced, newest *pannier.Snapshot // that the peer knows, and that it is not notified of yet
	var snapshots <-chan *pannier.Snapshot
	if c.server.Subscribe != nil {
		var cancel func()
		snapshots, cancel = c.server.Subscribe()
		defer cancel()
		select {
		case announced = <-snapshots:
		default:
		}
	}
	for {
		free := c.changing.Load() == 0 // before the check of the queue: by then it has the answers of calls that have ended
		text := c.queue.pop()
		if text == nil && newest != nil && free {
			var err error
			if text, err = c.server.Changed(announced, newest).text(); err != nil {
				c.server.Logger.Error("cannot encode a notification", "error", err)
			}
			announced, newest = newest, nil
		}
		if text != nil {
			if err := c.writeText(ctx, text); err != nil {
				c.socket.CloseNow()
				return
			}
			continue
		}
		if c.stopping.Load() {
			c.end(ending{code: websocket.StatusGoingAway, reason: "the sidecar stops"})
		}
		select {
		case <-ctx.Done():
			return
		case <-c.queue.ready:
		case newest = <-snapshots:
		}
	}
}

// writeText writes one text. A peer that does not take it in time is dropped.
func (c *conn) writeText(ctx context.Context, text []byte) error {
	c.writes.Add(1)
	defer c.writes.Add(1)
	slow := time.AfterFunc(writeTimeout, func() {
		left := "a message was left unread for " + writeTimeout.String()
		c.end(ending{websocket.StatusPolicyViolation, left, slowReader})
	})
	defer slow.Stop()
	defer release(text)
	return c.socket.Write(ctx, websocket.MessageText, text)
}

// ping drops a peer that does not answer. One that is being written to has the time that a write has, and the pong of
// one that sends a large frame may come after it.
func (c *conn) ping(ctx context.Context) {
	tick := time.NewTicker(pingInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		before, reads := c.writes.Load(), c.wire.reads.Load()
		bounded, cancel := context.WithTimeout(ctx, pongTimeout)
		err := c.socket.Ping(bounded)
		late := bounded.Err() != nil
		cancel()
		after := c.writes.Load()
		switch {
		case err == nil || after%2 == 1 || !late && after != before || c.working.Load() || c.wire.reads.Load() != reads:
		case ctx.Err() != nil || errors.Is(err, net.ErrClosed):
			return
		default:
			c.end(ending{websocket.StatusPolicyViolation, "no pong came within " + pongTimeout.String(), missedPong})
		}
	}
}

// end has the connection closed. Only the first reason counts.
func (c *conn) end(e ending) {
	select {
	case c.ending <- e:
	default:
	}
}

// close closes the connection once something has ended it. The peer has ten seconds to take the reason in; one that
// is in the midst of a frame and sends no more of it could take forever, since the socket waits for the rest of the
// frame.
func (c *conn) close(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case e := <-c.ending:
		if e.label != "" {
			c.server.metrics.dropped.WithLabelValues(e.label).Inc()
			c.server.Logger.Warn("a WebSocket was dropped", "reason", e.reason)
		}
		defer time.AfterFunc(closeTimeout, func() { c.wire.Close() }).Stop()
		_ = c.socket.Close(e.code, e.reason) // a peer that has gone meanwhile needs no reason
	}
}

// awaitStop ends the connection when the server stops. No new call begins from then on, and those under way are
// answered if they end in time.
func (c *conn) awaitStop(ctx, stop context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-stop.Done():
	}
	inTime, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	for range maxCalls {
		select {
		case c.slots <- struct{}{}:
		case <-inTime.Done():
		}
	}
	c.stopping.Store(true)
	c.queue.wake()
}
