package mcp

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The bounds of writing an answer over HTTP.
const (
	answerChunk = 64 << 10
	answerStall = 10 * time.Second // for one chunk
	answerTime  = time.Minute      // for all of it
)

// largeReadWait is how long a call waits for one of maxLargeReads places.
const largeReadWait = 5 * time.Second

// answerHeader leads from a call to its answer: the SDK runs the calls of a session in the context of the session.
const answerHeader = "Pannier-Answer"

type answerKey struct{}

// answers are those of the requests over HTTP that are under way. They are for any number of callers.
type answers struct {
	places      chan struct{} // one for each large read whose answer is not written
	wait, stall time.Duration
	last        atomic.Uint64
	byKey       sync.Map // of answerHeader, each an *answer
}

// answer keeps a place for a large read until it is written and the call has ended.
type answer struct {
	all   *answers
	ended chan struct{}     // closed when the request has ended
	value func(key any) any // of the context of the request; nil where that is not known

	mu    sync.Mutex
	users int // the request and the call
	held  bool
}

func (s *answers) init() {
	s.places, s.wait, s.stall = make(chan struct{}, maxLargeReads), largeReadWait, answerStall
}

func (s *answers) add() *answer { return &answer{all: s, ended: make(chan struct{}), users: 1} }

// begin adds the answer to a request. The host cannot choose another one, because the header is replaced.
func (s *answers) begin(r *http.Request) (end func()) {
	a, key := s.add(), strconv.FormatUint(s.last.Add(1), 10)
	a.value = r.Context().Value
	r.Header.Set(answerHeader, key)
	s.byKey.Store(key, a)
	return func() {
		s.byKey.Delete(key)
		close(a.ended)
		a.leave()
	}
}

// enter returns a context with the answer to a call. Without HTTP there is none.
func (s *answers) enter(ctx context.Context, req sdk.Request) (with context.Context, leave func()) {
	extra := req.GetExtra()
	if extra == nil || extra.Header.Get(answerHeader) == "" {
		return ctx, func() {}
	}
	a := s.add()
	if found, ok := s.byKey.Load(extra.Header.Get(answerHeader)); ok {
		a = found.(*answer)
		a.mu.Lock()
		a.users++
		a.mu.Unlock()
	} else {
		close(a.ended)
	}
	return context.WithValue(ctx, answerKey{}, a), a.leave
}

// leave frees the place after the last user.
func (a *answer) leave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.users--; a.users <= 0 && a.held {
		a.held = false
		<-a.all.places
	}
}

// holdPlace waits for a place for a large read. It is free again when the answer is written, without HTTP after
// release.
func (s *answers) holdPlace(ctx context.Context) (release func(), err error) {
	a, overHTTP := ctx.Value(answerKey{}).(*answer)
	release = func() {}
	if !overHTTP {
		a = s.add()
		release = a.leave
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held {
		return release, nil
	}
	timer := time.NewTimer(s.wait)
	defer timer.Stop()
	a.mu.Unlock() // the request may end while the call waits
	err = s.takePlace(ctx, a, timer.C)
	a.mu.Lock()
	a.held = err == nil
	return release, err
}

func (s *answers) takePlace(ctx context.Context, a *answer, late <-chan time.Time) error {
	select {
	case s.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-a.ended:
	case <-late:
	}
	return &jsonrpc.Error{
		Code:    jsonrpc.CodeInternalError,
		Message: fmt.Sprintf("%d large files are being read already; retry in a moment", maxLargeReads),
		Data:    encode(errorData{Code: "too_many_reads", Hint: "retry in a moment"}),
	}
}

// writeAnswer writes to a host that reads; one that does not loses the connection. Streams have bounds of their own.
func (w *errorWriter) writeAnswer(b []byte) (n int, err error) {
	if strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
		return w.ResponseWriter.Write(b)
	}
	control := http.NewResponseController(w.ResponseWriter)
	last := time.Now().Add(answerTime)
	for first := true; first || n < len(b); first = false {
		deadline := time.Now().Add(w.stall)
		if deadline.After(last) {
			deadline = last
		}
		_ = control.SetWriteDeadline(deadline) // not supported by recorders
		written, err := w.ResponseWriter.Write(b[n:min(n+answerChunk, len(b))])
		if n += written; err != nil {
			return n, err
		}
	}
	return n, nil
}
