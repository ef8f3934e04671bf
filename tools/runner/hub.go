package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/hashicorp/go-hclog"

	"pannier"
	"pannier/tools/output"
)

// The bounds of a hub.
const (
	// maxCalls bounds the calls of a runner that have not ended.
	maxCalls = 256
	// maxPieces bounds the pieces of output of a call that wait for its caller; further ones are left out, because the result has all.
	maxPieces = 64
	// maxReads bounds the parts of artifacts that are asked for at a time, so that they hold up no output. Further ones wait.
	maxReads = 4
	// endWait is how long a runner may take to end a call that has timed out or was canceled.
	endWait = 20 * time.Second
)

// ErrConnected says that there is a runner already.
var ErrConnected = errors.New("another runner is connected")

// Hub is the sidecar's side: it hands calls to the one runner that is connected. It is for any number of callers.
type Hub struct {
	workspace string
	log       hclog.Logger

	mu     sync.Mutex
	runner *connected // nil while there is none
	taken  bool       // a runner is connected, or about to be
}

// NewHub returns a hub without a runner. Workspace is the one that directories of skills are below, as the agent sees it; a runner
// that sees it elsewhere replaces it.
func NewHub(workspace string, log hclog.Logger) *Hub {
	if log == nil {
		log = hclog.NewNullLogger()
	}
	return &Hub{workspace: workspace, log: log}
}

// connected is a runner that has said hello.
type connected struct {
	socket *websocket.Conn
	report pannier.RunnerReport
	gone   chan struct{} // closed when the connection has ended
	since  time.Time

	mu    sync.Mutex
	calls map[string]*call
	reads map[string]chan message // each gets one part at most
	slots chan struct{}           // one for each of them
	last  uint64
}

// call is a call that the runner carries out.
type call struct {
	pieces chan []byte
	result chan *pannier.ToolResult // has one at most
}

// Accept makes a WebSocket of a request and serves the runner at its other end until it leaves, or stop is done. The caller has
// checked the user. If it returns [ErrConnected], nothing was written.
func (h *Hub) Accept(w http.ResponseWriter, r *http.Request, stop context.Context) error {
	h.mu.Lock()
	taken := h.taken
	h.taken = true
	h.mu.Unlock()
	if taken {
		return ErrConnected
	}
	defer func() {
		h.mu.Lock()
		h.runner, h.taken = nil, false
		h.mu.Unlock()
	}()
	socket, err := websocket.Accept(w, r, nil)
	if err != nil {
		return nil // it has answered
	}
	defer socket.CloseNow()
	ctx, cancel := context.WithCancel(stop)
	defer cancel()
	defer context.AfterFunc(r.Context(), cancel)()
	c, err := greet(ctx, socket)
	if err != nil {
		h.log.Warn("runner refused", "error", err)
		return nil
	}
	h.mu.Lock()
	h.runner = c
	h.mu.Unlock()
	h.log.Info("runner connected", "uid", c.report.UID, "tool_uid", c.report.ToolUID, "sandbox", c.report.Level, "version", c.report.Version)
	var beat sync.WaitGroup
	beat.Go(func() { heartbeat(ctx, socket) })
	err = c.serve(ctx)
	close(c.gone)
	if stop.Err() != nil {
		_ = socket.Close(websocket.StatusGoingAway, "the sidecar stops")
	}
	cancel()
	beat.Wait()
	h.log.Info("runner disconnected", "after", time.Since(c.since).Round(time.Millisecond), "cause", err)
	return nil
}

// greet waits for the hello of a runner.
func greet(ctx context.Context, socket *websocket.Conn) (*connected, error) {
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	socket.SetReadLimit(maxReport)
	m, err := read(ctx, socket)
	if err != nil {
		return nil, err
	}
	if m.Type != typeHello || m.Report == nil {
		return nil, errors.New("the first message is not a hello")
	}
	socket.SetReadLimit(maxFrame)
	return &connected{socket: socket, report: cleanReport(*m.Report), gone: make(chan struct{}), since: time.Now(), calls: map[string]*call{}, reads: map[string]chan message{}, slots: make(chan struct{}, maxReads)}, nil
}

// serve receives what the runner sends. It never waits for a caller.
func (c *connected) serve(ctx context.Context) error {
	for {
		m, err := read(ctx, c.socket)
		if err != nil {
			return err
		}
		c.mu.Lock()
		call, part := c.calls[m.ID], c.reads[m.ID]
		delete(c.reads, m.ID)
		c.mu.Unlock()
		if part != nil && m.Type == typePart {
			part <- m
			continue
		}
		if call == nil {
			continue // its caller has left
		}
		switch {
		case m.Type == typeOutput:
			select {
			case call.pieces <- m.Data:
			default:
			}
		case m.Type == typeResult && m.Result != nil:
			select {
			case call.result <- m.Result:
			default:
			}
		}
	}
}

// Report tells what the runner said of itself, and whether one is connected.
func (h *Hub) Report() pannier.RunnerReport {
	c := h.current()
	if c == nil {
		return pannier.RunnerReport{}
	}
	report := c.report
	report.Connected = true
	c.mu.Lock()
	report.Running = len(c.calls)
	c.mu.Unlock()
	return report
}

func (h *Hub) current() *connected {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.runner
}

// Run has the runner carry a call out; see the interface of package tools.
func (h *Hub) Run(ctx context.Context, job pannier.ToolJob, out func(chunk []byte)) (pannier.ToolResult, error) {
	c := h.current()
	if c == nil {
		return failedWith(&job, pannier.ToolNoRunner, "no runner is connected", "start \"pannier runner\" in the agent's container"), nil
	}
	id, call := c.add()
	if call == nil {
		return failedWith(&job, pannier.ToolBusy, fmt.Sprintf("the runner carries out %d calls", maxCalls), "call again when one has ended"), nil
	}
	defer c.remove(id)
	begun := time.Now()
	text, err := encode(message{Type: typeCall, ID: id, Job: &job, Workspace: h.workspace})
	if err != nil {
		return failedWith(&job, pannier.ToolCopyFailed, "the call is too large for a runner: "+err.Error(), "remove files from the skill"), nil
	}
	if err := write(c.socket, text); err != nil {
		return gone(&job), nil
	}
	result := c.follow(ctx, id, call, &job, out)
	result.DurationMS = time.Since(begun).Milliseconds()
	return result, nil
}

// Artifact has the runner read a part of an artifact; see the interface of package tools.
func (h *Hub) Artifact(ctx context.Context, call, name string, offset int64) ([]byte, error) {
	c := h.current()
	if c == nil {
		return nil, &pannier.ToolError{Code: pannier.ToolNoRunner, Message: "no runner is connected", Hint: "start \"pannier runner\" in the agent's container, and call the tool again"}
	}
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-c.gone:
		return nil, errReadGone
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	part := make(chan message, 1)
	c.mu.Lock()
	c.last++
	id := strconv.FormatUint(c.last, 10)
	c.reads[id] = part
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.reads, id)
		c.mu.Unlock()
	}()
	ctx, cancel := context.WithTimeout(ctx, endWait)
	defer cancel()
	text, err := encode(message{Type: typeRead, ID: id, Call: call, Name: name, Offset: offset})
	if err == nil {
		err = write(c.socket, text)
	}
	if err != nil {
		return nil, errReadGone
	}
	select {
	case m := <-part:
		switch {
		case m.Error != nil && m.Error.Code == pannier.ToolArtifactMissing:
			return nil, &pannier.ToolError{Code: m.Error.Code, Message: cleanText(m.Error.Message), Hint: cleanText(m.Error.Hint)}
		case m.Error != nil || len(m.Data) > pannier.MaxArtifactPart:
			return nil, &pannier.ToolError{Code: pannier.ToolArtifactMissing, Message: "the runner cannot read this artifact", Hint: "look at the log of the runner"}
		}
		return m.Data, nil
	case <-c.gone:
		return nil, errReadGone
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

var errReadGone = &pannier.ToolError{Code: pannier.ToolRunnerGone, Message: "the runner has disconnected, and its artifacts are gone", Hint: "call the tool again when the runner is back"}

// follow gives output on and returns the result of a call.
func (c *connected) follow(ctx context.Context, id string, call *call, job *pannier.ToolJob, out func([]byte)) pannier.ToolResult {
	pieces := output.NewSink(outputOf(job), nil, out) // cleans and bounds what arrives before the result
	late := time.NewTimer(cmp.Or(job.Timeout, defaultTime) + endWait)
	defer late.Stop()
	done := ctx.Done()
	for {
		select {
		case piece := <-call.pieces:
			pieces.Write(piece)
		case result := <-call.result:
			for range len(call.pieces) {
				pieces.Write(<-call.pieces)
			}
			pieces.Close()
			return cleanResult(job, result)
		case <-c.gone:
			return gone(job)
		case <-done:
			done = nil // the result follows once the tool has ended
			late.Reset(endWait)
			c.cancel(id)
		case <-late.C:
			if ctx.Err() != nil {
				return failedWith(job, pannier.ToolCanceled, "the call was canceled, and the runner does not say that it has ended", "look at the runner")
			}
			c.cancel(id)
			result := failedWith(job, pannier.ToolTimedOut, "the runner did not answer in time", "look at the runner")
			result.TimedOut = true
			return result
		}
	}
}

func (c *connected) cancel(id string) {
	if text, err := encode(message{Type: typeCancel, ID: id}); err == nil {
		_ = write(c.socket, text) // an error is the end of the connection
	}
}

// add returns a new call; nil where there are too many.
func (c *connected) add() (string, *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.calls) >= maxCalls {
		return "", nil
	}
	c.last++
	id := strconv.FormatUint(c.last, 10)
	made := &call{pieces: make(chan []byte, maxPieces), result: make(chan *pannier.ToolResult, 1)}
	c.calls[id] = made
	return id, made
}

func (c *connected) remove(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, id)
}
