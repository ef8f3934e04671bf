package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"
)

// ServeStream answers by a handler whose answer may be a stream of events. A stream counts among those of GET
// /v1/events, and its request ends with the server.
func (h *Handler) ServeStream(w http.ResponseWriter, r *http.Request, by http.Handler) {
	ctx, cancel := UntilShutdown(r.Context())
	defer cancel()
	out := &streamWriter{ResponseWriter: w, handler: h, request: r, cancel: cancel}
	by.ServeHTTP(out, r.WithContext(ctx))
	if out.leave != nil { // nothing may write to the answer after its handler
		out.stream.close()
		out.leave()
	}
}

// maxQueued bounds what a client may leave unread of a stream, beside what the kernel buffers.
const maxQueued = 256 << 10

// streamWriter is the writer of an answer that may be a stream of events. A stream is written by a goroutine of its
// own, so that a client that does not read delays no other one.
type streamWriter struct {
	http.ResponseWriter
	handler *Handler
	request *http.Request
	cancel  context.CancelFunc // ends the request

	begun  bool
	stream *eventQueue // nil for any other answer
	leave  func()
}

// WriteHeader implements [http.ResponseWriter].
func (w *streamWriter) WriteHeader(status int) {
	w.begun = true
	if status != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
		w.ResponseWriter.WriteHeader(status)
		return
	}
	leave, err := w.handler.EnterStream(w.ResponseWriter)
	if err != nil {
		w.handler.fail(w.ResponseWriter, w.request, err)
		w.stream = &eventQueue{failed: err}
		w.cancel()
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no")
	w.ResponseWriter.WriteHeader(status)
	w.leave, w.stream = leave, newEventQueue(w.ResponseWriter, w.streamFailed)
}

// Write implements [http.ResponseWriter].
func (w *streamWriter) Write(b []byte) (int, error) {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	if w.stream == nil {
		return w.ResponseWriter.Write(b)
	}
	return w.stream.put(b)
}

// Unwrap gives [http.ResponseController] the deadlines of the connection. A stream sets its own.
func (w *streamWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// FlushError is for [http.ResponseController]. The goroutine of a stream flushes what it writes.
func (w *streamWriter) FlushError() error {
	if w.stream != nil {
		return nil
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

func (w *streamWriter) streamFailed(err error) {
	if w.request.Context().Err() == nil {
		w.handler.metrics.dropped.Inc()
		w.handler.Logger.Debug("stream dropped", "path", w.request.URL.Path, "error", err)
	}
	w.cancel()
}

var errQueueFull = errors.New("the client left too many events unread")

// eventQueue writes events to an answer in the background, and comments while there are none.
type eventQueue struct {
	out     http.ResponseWriter
	control *http.ResponseController
	failing func(error)
	wake    chan struct{} // has a value when something is queued
	ended   chan struct{} // closed when the goroutine has ended

	mu     sync.Mutex
	queued []byte
	closed bool
	failed error
}

// newEventQueue begins to write. failing is called at most once, when the client cannot be written to any more.
func newEventQueue(w http.ResponseWriter, failing func(error)) *eventQueue {
	q := &eventQueue{
		out: w, control: http.NewResponseController(w), failing: failing,
		wake: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	// The bounds of one exchange are not those of a stream.
	_ = q.control.SetReadDeadline(time.Time{})
	go q.run()
	return q
}

// put queues an event. The result of a call of a tool may be larger than the bound, and comes alone.
func (q *eventQueue) put(b []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.failed == nil && (len(q.queued) > maxQueued || len(b) <= maxQueued && len(q.queued)+len(b) > maxQueued) {
		q.failed = errQueueFull
	}
	if q.failed == nil {
		q.queued = append(q.queued, b...)
	}
	q.signalLocked()
	if q.failed != nil {
		return 0, q.failed
	}
	return len(b), nil
}

func (q *eventQueue) signalLocked() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// close writes what is queued, within the bound of a write, and returns when nothing is written any more.
func (q *eventQueue) close() {
	q.mu.Lock()
	q.closed = true
	q.signalLocked()
	q.mu.Unlock()
	<-q.ended
}

func (q *eventQueue) run() {
	defer close(q.ended)
	ping := time.NewTicker(PingEvery)
	defer ping.Stop()
	err := q.write(nil) // the header, which a client waits for
	for closed := false; err == nil && !closed; {
		text := []byte(": ping\n\n")
		select {
		case <-q.wake:
			q.mu.Lock()
			text, closed, err = q.queued, q.closed, q.failed
			q.queued = nil
			q.mu.Unlock()
		case <-ping.C:
		}
		if err == nil && len(text) > 0 {
			err = q.write(text)
		}
	}
	if err != nil {
		q.mu.Lock()
		q.failed = err
		q.mu.Unlock()
		q.failing(err)
	}
}

func (q *eventQueue) write(text []byte) error {
	_ = q.control.SetWriteDeadline(time.Now().Add(StreamWrite))
	if _, err := q.out.Write(text); err != nil {
		return err
	}
	return q.control.Flush()
}
