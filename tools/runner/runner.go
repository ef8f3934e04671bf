package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/coder/websocket"

	"pannier"
)

// The waits between attempts to connect.
const (
	firstRetry = 250 * time.Millisecond
	lastRetry  = 10 * time.Second
	// steadyAfter is how long a connection lasts that begins the waits anew.
	steadyAfter = 30 * time.Second
	// idleAfter is how long a runner has nothing to do before it gives memory back.
	idleAfter = 3 * time.Second
)

// Executor carries calls out.
type Executor interface {
	Run(ctx context.Context, job pannier.ToolJob, out func(chunk []byte)) (pannier.ToolResult, error)
	Artifact(ctx context.Context, call, name string, offset int64) ([]byte, error)
	Report() pannier.RunnerReport
}

// Runner is the agent's side: it connects to a sidecar and carries out what that asks for.
type Runner struct {
	// Socket is the unix socket of the sidecar.
	Socket string
	// Workspace is the workspace as this process sees it; empty where it is at the same path as for the agent.
	Workspace string
	Executor  Executor
	// Log is called with what happens; each text is one line.
	Log func(text string)
	// Idle is called after a while without calls; optional.
	Idle func()
}

// Run serves a sidecar until ctx is done, and connects anew when the connection ends. It returns when no tool runs any more.
func (r *Runner) Run(ctx context.Context) {
	wait, said := firstRetry, ""
	for ctx.Err() == nil {
		begun := time.Now()
		err := r.serve(ctx, func() { said = "" })
		if ctx.Err() != nil {
			return
		}
		if time.Since(begun) > steadyAfter {
			wait = firstRetry
		}
		if text := err.Error(); text != said { // the same is said once
			r.Log(text)
			said = text
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait/2 + rand.N(wait)):
		}
		wait = min(2*wait, lastRetry)
	}
}

// serve connects once. All tools of the connection have ended when it returns.
func (r *Runner) serve(ctx context.Context, welcome func()) error {
	socket, err := r.dial(ctx)
	if err != nil {
		return err
	}
	defer socket.CloseNow()
	socket.SetReadLimit(maxFrame)
	report := r.Executor.Report()
	text, err := encode(message{Type: typeHello, Report: &report})
	if err == nil {
		err = write(socket, text)
	}
	if err != nil {
		return fmt.Errorf("the sidecar did not take the hello: %w", err)
	}
	welcome()
	r.Log("connected to the sidecar on " + r.Socket)
	s := &session{runner: r, socket: socket, cancels: map[string]context.CancelFunc{}}
	ctx, cancel := context.WithCancel(ctx)
	s.ended.Go(func() { heartbeat(ctx, socket) })
	s.ended.Go(func() { s.watchIdle(ctx) })
	err = s.serve(ctx)
	cancel() // ends the tools
	s.ended.Wait()
	if errors.Is(err, io.EOF) || websocket.CloseStatus(err) == websocket.StatusGoingAway {
		return errors.New("the sidecar has ended the connection")
	}
	return fmt.Errorf("the connection to the sidecar has ended: %w", err)
}

func (r *Runner) dial(ctx context.Context) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", r.Socket)
	}}
	socket, response, err := websocket.Dial(ctx, "ws://pannier/v1/runner", &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
	if err == nil {
		return socket, nil
	}
	if response != nil {
		body, _ := io.ReadAll(io.LimitReader(response.Body, maxReport))
		return nil, fmt.Errorf("the sidecar refuses a runner: %s", problemOf(body, response.Status))
	}
	if failed, ok := errors.AsType[*net.OpError](err); ok {
		err = failed
	}
	return nil, fmt.Errorf("no sidecar answers on %s: %w", r.Socket, err)
}

// session is one connection.
type session struct {
	runner *Runner
	socket *websocket.Conn
	ended  sync.WaitGroup

	mu      sync.Mutex
	cancels map[string]context.CancelFunc // of the calls under way
	busyAt  time.Time                     // when a call began or ended last
}

func (s *session) serve(ctx context.Context) error {
	for {
		m, err := read(ctx, s.socket)
		if err != nil {
			return err
		}
		switch {
		case m.Type == typeCall && m.Job != nil:
			s.call(ctx, m)
		case m.Type == typeRead:
			s.ended.Go(func() { s.readArtifact(ctx, m) })
		case m.Type == typeCancel:
			s.mu.Lock()
			cancel := s.cancels[m.ID]
			s.mu.Unlock()
			if cancel != nil {
				cancel()
			}
		}
	}
}

// call starts to carry out a call.
func (s *session) call(connected context.Context, m message) {
	ctx, cancel := context.WithCancel(connected)
	s.mu.Lock()
	s.cancels[m.ID], s.busyAt = cancel, time.Now()
	s.mu.Unlock()
	job := *m.Job
	job.SkillDir = s.runner.skillDir(job.SkillDir, m.Workspace)
	s.ended.Go(func() {
		defer func() {
			cancel()
			s.mu.Lock()
			delete(s.cancels, m.ID)
			s.busyAt = time.Now()
			s.mu.Unlock()
		}()
		result, err := s.runner.Executor.Run(ctx, job, func(chunk []byte) { s.send(message{Type: typeOutput, ID: m.ID, Data: chunk}) })
		if connected.Err() != nil {
			return // the sidecar says that the runner has gone, not what became of the tool because of that
		}
		if err != nil {
			result = failedWith(&job, pannier.ToolFailed, err.Error(), "look at the log of the runner")
		}
		s.send(message{Type: typeResult, ID: m.ID, Result: &result})
	})
}

// readArtifact answers with a part of an artifact. The sidecar bounds how many it asks for at a time.
func (s *session) readArtifact(ctx context.Context, m message) {
	part := message{Type: typePart, ID: m.ID}
	data, err := s.runner.Executor.Artifact(ctx, m.Call, m.Name, m.Offset)
	if failed, ok := errors.AsType[*pannier.ToolError](err); ok {
		part.Error = failed
	} else if err != nil {
		part.Error = &pannier.ToolError{Code: pannier.ToolFailed, Message: err.Error(), Hint: "look at the log of the runner"}
	}
	part.Data = data
	s.send(part)
}

// send writes a message. Where that fails the connection has ended, which the reader notices.
func (s *session) send(m message) {
	text, err := encode(m)
	if errors.Is(err, errTooLarge) && m.Result != nil {
		m.Result.Output, m.Result.Structured, m.Result.Truncated = "", nil, true
		text, err = encode(m)
	}
	if err == nil {
		_ = write(s.socket, text)
	}
}

// skillDir returns where this process sees a directory of a skill.
func (r *Runner) skillDir(dir, workspace string) string {
	if r.Workspace == "" || workspace == "" {
		return dir
	}
	if rel, err := filepath.Rel(workspace, dir); err == nil && filepath.IsLocal(rel) {
		return filepath.Join(r.Workspace, rel)
	}
	return dir
}

// watchIdle calls Idle once after each time of work.
func (s *session) watchIdle(ctx context.Context) {
	if s.runner.Idle == nil {
		return
	}
	s.mu.Lock()
	s.busyAt = time.Now()
	s.mu.Unlock()
	tick := time.NewTicker(idleAfter)
	defer tick.Stop()
	var done time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			s.mu.Lock()
			idle := len(s.cancels) == 0 && s.busyAt != done && now.Sub(s.busyAt) >= idleAfter
			at := s.busyAt
			s.mu.Unlock()
			if idle {
				done = at
				s.runner.Idle()
			}
		}
	}
}
