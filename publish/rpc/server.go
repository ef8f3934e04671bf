// Package rpc is JSON-RPC 2.0 (jsonrpc.org/specification) over WebSockets and over POST, and the Pioneer skills
// protocol in it. A [Server] frames calls of any methods; [NewSkills] makes the one whose methods decode what the
// service and turns are asked for.
//
// A text frame, and the body of a POST, holds one value: a call, or a batch of them. Invalid text is answered as
// the specification says, and everything has a bound: the bytes of a frame, the calls of a batch, those under way on a
// connection, the bytes of an answer, and what waits for a connection to be read. A client that does not read, or
// neither answers a ping nor sends anything, loses its connection; no other client is affected.
//
// Binary frames are passed on as a reader: they can be large, and none is ever in memory as a whole.
//
// A connection gets a notification for each new snapshot; of several that come faster than it reads, for the newest.
package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"pannier"
	"pannier/publish/answer"
)

// The bounds of what is asked for and what is answered.
const (
	// MaxFrame bounds a text frame in bytes. The caller bounds the body of a POST.
	MaxFrame = 1 << 20
	// MaxBatch bounds the calls of a batch.
	MaxBatch = 100
	// MaxAnswer is how many bytes the answers to a batch may have before its further calls are refused.
	MaxAnswer = 16 << 20
	// frameTimeout bounds how long the calls of one frame may take together.
	frameTimeout = time.Minute
)

// Method is one method.
type Method struct {
	// Answer returns the result of a call: a value to encode, JSON as [json.RawMessage], or an [Appender]. r is the
	// request that the call came by; its context ends with the call. params are an object or an array, nil where the
	// call has none.
	Answer func(r *http.Request, params json.RawMessage) (any, error)
	// Timeout bounds the calls of a frame with a call of the method; 0 is a minute.
	Timeout time.Duration
	// Changes says that a call may lead to a notification, which then follows its answer.
	Changes bool
}

// Options are what a server is made of. All but the ones marked optional are needed.
type Options struct {
	Methods map[string]Method
	// ErrorOf returns the answer to an error of a method; it never gets an [*Error].
	ErrorOf func(r *http.Request, err error) *Error
	// Subscribe returns a channel that has the newest snapshot whenever there is one that was not fetched, the
	// current one at once; optional. Without it there are no notifications.
	Subscribe func() (snapshots <-chan *pannier.Snapshot, cancel func())
	// Changed returns the notification from the snapshot that a connection knows, nil for none, to another.
	Changed func(before, after *pannier.Snapshot) Notification
	// Binary reads a binary frame and returns the notification that answers it; optional. Without it they are
	// refused. The frames of a connection are taken in one after another, and its text frames wait meanwhile, so a
	// client that sends faster than Binary reads is slowed down. What it leaves of a frame is skipped. r is the
	// request that the connection came by.
	Binary func(r *http.Request, frame io.Reader) Notification
	// MaxBinary bounds a binary frame in bytes, of which no more are in memory than Binary reads at a time.
	MaxBinary int64
	// MaxConns bounds the WebSockets at one time; 0 is the constant of that name.
	MaxConns   int
	Logger     hclog.Logger
	Registerer prometheus.Registerer // optional
}

// Appender is a result that appends its JSON to an answer. It is called once.
type Appender func(dst []byte) []byte

// Notification is a message without a request.
type Notification struct {
	Method string
	Params any
}

// Server answers calls. It is for any number of callers.
type Server struct {
	Options
	metrics *metrics
	open    atomic.Int64 // connections
}

// New returns a server.
func New(o Options) *Server { return &Server{Options: o, metrics: newMetrics(o)} }

// Answer returns the answer to a text, nil where there is none because nothing in it asks for one. [Release] takes it
// back.
func (s *Server) Answer(r *http.Request, text []byte) []byte { return s.run(r, decode(text)) }

func (s *Server) run(r *http.Request, f frame) []byte {
	timeout := frameTimeout
	for _, c := range f.calls {
		timeout = max(timeout, s.Methods[c.method].Timeout)
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	r = r.WithContext(ctx)
	var dst []byte
	if kept, ok := spare.Get().(*[]byte); ok {
		dst = (*kept)[:0]
	}
	return f.answer(dst, func(c call, answers []byte) []byte {
		if len(answers) > MaxAnswer && c.fault == nil {
			c.fault = newError(
				CodeServer, "rpc.answer_too_large",
				fmt.Sprintf("the answers to this batch have more than %d bytes", MaxAnswer),
			)
		}
		return s.call(r, c, answers)
	})
}

func (s *Server) call(r *http.Request, c call, dst []byte) []byte {
	if c.fault != nil {
		return c.refuse(c.fault, dst)
	}
	answered, fault := s.answer(r, c, dst)
	s.metrics.count(c.method, fault)
	if fault != nil {
		return c.refuse(fault, dst)
	}
	if c.notification() {
		return nil
	}
	return answered
}

// answer appends the answer to a call.
func (s *Server) answer(r *http.Request, c call, dst []byte) (answered []byte, fault *Error) {
	m, ok := s.Methods[c.method]
	if !ok {
		return nil, newError(CodeMethodNotFound, "rpc.method_not_found", fmt.Sprintf("unknown method %.100q", c.method))
	}
	defer func() {
		if cause := recover(); cause != nil {
			s.Logger.Error("a method panicked", "method", c.method, "cause", cause, "stack", string(debug.Stack()))
			fault = newError(CodeInternal, "rpc.internal_error", "the call failed; the sidecar's log says more")
		}
	}()
	value, err := m.Answer(r, c.params)
	if err == nil {
		answered = append(appendID(dst, c.id), `"result":`...)
		if result, ok := value.(Appender); ok {
			return append(result(answered), '}'), nil
		}
		var text []byte
		if text, err = answer.Encode(value); err == nil {
			return append(append(answered, text...), '}'), nil
		}
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return nil, e
	}
	return nil, s.ErrorOf(r, err)
}
