package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"pannier"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake carries calls out without a sandbox.
type fake func(ctx context.Context, job pannier.ToolJob, out func([]byte)) pannier.ToolResult

func (f fake) Run(ctx context.Context, job pannier.ToolJob, out func([]byte)) (pannier.ToolResult, error) {
	return f(ctx, job, out), nil
}

// Artifact has one file of three bytes more than a part for the call "c".
func (f fake) Artifact(_ context.Context, call, name string, offset int64) ([]byte, error) {
	switch {
	case name == "broken":
		return nil, errors.New("input/output error")
	case call != "c" || name != "file":
		return nil, &pannier.ToolError{Code: pannier.ToolArtifactMissing, Message: "gone\x1b", Hint: "call again"}
	}
	file := bytes.Repeat([]byte("x"), pannier.MaxArtifactPart+3)
	return file[min(offset, int64(len(file))):min(offset+pannier.MaxArtifactPart, int64(len(file)))], nil
}

func (f fake) Report() pannier.RunnerReport {
	return pannier.RunnerReport{UID: 7, ToolUID: 8, Level: pannier.SandboxRequired, Landlock: 7, MaxCalls: 3}
}

// echo returns the arguments as output, in two pieces.
func echo(_ context.Context, job pannier.ToolJob, out func([]byte)) pannier.ToolResult {
	text := job.SkillDir + " " + string(job.Arguments)
	out([]byte(text[:3]))
	out([]byte(text[3:]))
	return pannier.ToolResult{OK: true, Output: text, Structured: job.Arguments}
}

// service is a hub on a unix socket.
type service struct {
	*Hub
	socket string
	stop   context.CancelFunc
	end    func()
}

func serve(t *testing.T) *service {
	t.Helper()
	dir, err := os.MkdirTemp("", "hub")
	if err != nil {
		t.Fatal(err)
	}
	s := &service{Hub: NewHub("/agent", nil), socket: filepath.Join(dir, "s")}
	s.listen(t)
	t.Cleanup(func() {
		s.end()
		os.RemoveAll(dir)
	})
	return s
}

func (s *service) listen(t *testing.T) {
	t.Helper()
	ln, err := net.Listen("unix", s.socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var open sync.WaitGroup
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		open.Add(1)
		defer open.Done()
		if err := s.Accept(w, r, ctx); errors.Is(err, ErrConnected) {
			w.WriteHeader(http.StatusConflict)
			io.WriteString(w, `{"detail":"another runner is connected","hint":"stop it"}`)
		}
	})}
	var ended sync.WaitGroup
	ended.Go(func() { _ = server.Serve(ln) })
	s.stop = stop
	s.end = sync.OnceFunc(func() {
		stop()
		server.Close()
		ended.Wait()
		open.Wait()
	})
}

// run starts a runner, and returns once it is connected.
func (s *service) run(t *testing.T, r *Runner) (stop func()) {
	t.Helper()
	r.Socket = s.socket
	if r.Log == nil {
		r.Log = func(string) {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() { r.Run(ctx) })
	stop = sync.OnceFunc(func() {
		cancel()
		ended.Wait()
	})
	t.Cleanup(stop)
	s.await(t, true)
	return stop
}

func (s *service) await(t *testing.T, connected bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for s.Report().Connected != connected {
		if time.Now().After(deadline) {
			t.Fatalf("the runner is connected: %t", !connected)
		}
		time.Sleep(time.Millisecond)
	}
}

func ask(t *testing.T, s *service, ctx context.Context, arguments string) (pannier.ToolResult, string) {
	t.Helper()
	var streamed strings.Builder
	job := pannier.ToolJob{ID: "c", Name: "skill.a.b", Kind: pannier.RuntimeShell, SkillDir: "/agent/skills/a", Arguments: json.RawMessage(arguments), Timeout: time.Minute, Bounds: pannier.ToolBounds{OutputBytes: 1000}}
	result, err := s.Run(ctx, job, func(b []byte) { streamed.Write(b) })
	if err != nil || result.CallID != "c" || result.Name != "skill.a.b" || result.Kind != pannier.RuntimeShell {
		t.Errorf("%+v, %v", result, err)
	}
	return result, streamed.String()
}

func codeOf(r pannier.ToolResult) string {
	if r.Error == nil {
		return ""
	}
	return r.Error.Code
}

func TestCall(t *testing.T) {
	s := serve(t)
	if got, _ := ask(t, s, t.Context(), `{}`); codeOf(got) != pannier.ToolNoRunner || s.Report().Connected {
		t.Errorf("without a runner: %+v", got.Error)
	}
	for workspace, want := range map[string]string{"": "/agent/skills/a", "/elsewhere": "/elsewhere/skills/a"} {
		stop := s.run(t, &Runner{Executor: fake(echo), Workspace: workspace})
		got, streamed := ask(t, s, t.Context(), `{"a":1}`)
		if !got.OK || got.Output != want+` {"a":1}` || streamed != got.Output || string(got.Structured) != `{"a":1}` {
			t.Errorf("%+v, %+v, streamed %q", got, got.Error, streamed)
		}
		if r := s.Report(); r.UID != 7 || r.ToolUID != 8 || r.Landlock != 7 || r.Running != 0 {
			t.Errorf("report %+v", r)
		}
		stop()
		s.await(t, false)
	}
}

func TestSecondRunner(t *testing.T) {
	s := serve(t)
	s.run(t, &Runner{Executor: fake(echo)})
	said := make(chan string, 1)
	ctx, cancel := context.WithCancel(t.Context())
	second := &Runner{Socket: s.socket, Executor: fake(echo), Log: func(text string) { said <- text }}
	var ended sync.WaitGroup
	ended.Go(func() { second.Run(ctx) })
	if text := <-said; text != "the sidecar refuses a runner: another runner is connected; stop it" {
		t.Errorf("said %q", text)
	}
	cancel()
	ended.Wait()
	if got, _ := ask(t, s, t.Context(), `{}`); !got.OK {
		t.Errorf("the first: %+v", got.Error)
	}
}

func TestCancel(t *testing.T) {
	s := serve(t)
	s.run(t, &Runner{Executor: fake(func(ctx context.Context, _ pannier.ToolJob, out func([]byte)) pannier.ToolResult {
		out([]byte("started"))
		<-ctx.Done()
		return pannier.ToolResult{Error: &pannier.ToolError{Code: pannier.ToolCanceled, Message: "canceled"}, Output: "started"}
	})})
	ctx, cancel := context.WithCancel(t.Context())
	got, err := s.Run(ctx, pannier.ToolJob{ID: "1"}, func([]byte) { cancel() })
	if err != nil || codeOf(got) != pannier.ToolCanceled || got.Output != "started" {
		t.Errorf("%+v, %+v, %v", got, got.Error, err)
	}
	if got, _ := ask(t, s, ctx, `{}`); codeOf(got) != pannier.ToolCanceled { // canceled before it began
		t.Errorf("%+v", got.Error)
	}
	if !s.Report().Connected {
		t.Error("a canceled call has ended the connection")
	}
}

// TestGone ends either side in the midst of a call.
func TestGone(t *testing.T) {
	for _, side := range []string{"runner", "sidecar"} {
		s := serve(t)
		ended := make(chan struct{})
		started := make(chan struct{})
		stop := s.run(t, &Runner{Executor: fake(func(ctx context.Context, _ pannier.ToolJob, _ func([]byte)) pannier.ToolResult {
			close(started)
			<-ctx.Done()
			close(ended)
			return pannier.ToolResult{}
		})})
		go func() {
			<-started
			if side == "runner" {
				stop()
			} else {
				s.end()
			}
		}()
		got, _ := ask(t, s, context.Background(), `{}`)
		if codeOf(got) != pannier.ToolRunnerGone || got.Error.Hint == "" {
			t.Errorf("%s: %+v", side, got.Error)
		}
		<-ended
		stop()
	}
}

func TestReconnect(t *testing.T) {
	s := serve(t)
	s.run(t, &Runner{Executor: fake(echo)})
	s.end()
	s.listen(t)
	s.await(t, true)
	if got, _ := ask(t, s, t.Context(), `{}`); !got.OK {
		t.Errorf("%+v", got.Error)
	}
}

// TestClaims has a runner that lies, and a hub that takes no more than fits.
func TestClaims(t *testing.T) {
	for name, tt := range map[string]struct {
		claimed pannier.ToolResult
		check   func(pannier.ToolResult) bool
	}{
		"another call":     {pannier.ToolResult{OK: true, Name: "x", CallID: "x", Kind: "x", DurationMS: 1 << 40, Output: "a"}, func(r pannier.ToolResult) bool { return r.OK && r.DurationMS < 1e6 }},
		"too much":         {pannier.ToolResult{OK: true, Output: strings.Repeat("x", 5000)}, func(r pannier.ToolResult) bool { return len(r.Output) == 1000 && r.Truncated }},
		"escapes":          {pannier.ToolResult{OK: true, Output: "\x1b[31mred"}, func(r pannier.ToolResult) bool { return r.Output == "red" }},
		"large structured": {pannier.ToolResult{OK: true, Structured: json.RawMessage(`"` + strings.Repeat("x", 5000) + `"`)}, func(r pannier.ToolResult) bool { return r.Structured == nil }},
		"a code of others": {pannier.ToolResult{Error: &pannier.ToolError{Code: pannier.ToolNotFound, Message: "m"}}, func(r pannier.ToolResult) bool { return codeOf(r) == pannier.ToolFailed }},
		"an exit code":     {pannier.ToolResult{OK: true, ExitCode: new(int)}, func(r pannier.ToolResult) bool { return *r.ExitCode == 0 }},
		"no exit code":     {pannier.ToolResult{OK: true, ExitCode: func() *int { n := 1 << 20; return &n }()}, func(r pannier.ToolResult) bool { return r.ExitCode == nil }},
		"both":             {pannier.ToolResult{OK: true, Error: &pannier.ToolError{Code: pannier.ToolFailed}}, func(r pannier.ToolResult) bool { return !r.OK }},
		"neither":          {pannier.ToolResult{}, func(r pannier.ToolResult) bool { return codeOf(r) == pannier.ToolFailed }},
		"a long message": {pannier.ToolResult{Error: &pannier.ToolError{Code: pannier.ToolFailed, Message: strings.Repeat("x", 9000) + "\x1b[0m", Hint: "a\nb"}}, func(r pannier.ToolResult) bool {
			return len(r.Error.Message) < 1100 && r.Error.Hint == "a b"
		}},
		"a status": {pannier.ToolResult{OK: true, StatusCode: new(int)}, func(r pannier.ToolResult) bool { return r.StatusCode == nil }},
	} {
		s := serve(t)
		stop := s.run(t, &Runner{Executor: fake(func(_ context.Context, _ pannier.ToolJob, out func([]byte)) pannier.ToolResult {
			for range 3 * maxPieces {
				out([]byte("\x1b[1mpiece"))
			}
			return tt.claimed
		})})
		got, streamed := ask(t, s, t.Context(), `{}`)
		if got.OK == (got.Error != nil) || !tt.check(got) {
			t.Errorf("%s: %.300v, %v", name, got, got.Error)
		}
		if len(streamed) > 1000 || strings.Contains(streamed, "\x1b") {
			t.Errorf("%s: streamed %d bytes", name, len(streamed))
		}
		stop()
	}
}

// TestForeignMessages end the connection, or are ignored.
func TestForeignMessages(t *testing.T) {
	for name, tt := range map[string]struct {
		send    []string
		refused bool
	}{
		"no hello":        {[]string{`{"type":"result"}`}, true},
		"no JSON":         {[]string{`hello`}, true},
		"a large report":  {[]string{`{"type":"hello","report":{"version":"` + strings.Repeat("x", maxReport) + `"}}`}, true},
		"unknown calls":   {[]string{`{"type":"hello","report":{}}`, `{"type":"result","id":"9","result":{}}`, `{"type":"output","id":"9","data":"YQ=="}`, `{"type":"call"}`, `{"type":"other"}`}, false},
		"JSON afterwards": {[]string{`{"type":"hello","report":{}}`, `[`}, true},
	} {
		s := serve(t)
		socket, _, err := websocket.Dial(t.Context(), "ws://x/", &websocket.DialOptions{HTTPClient: &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", s.socket)
		}}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range tt.send {
			_ = socket.Write(t.Context(), websocket.MessageText, []byte(text))
		}
		if tt.refused {
			if _, _, err := socket.Read(t.Context()); err == nil {
				t.Errorf("%s: the connection goes on", name)
			}
		} else {
			socket.CloseRead(t.Context())
			if err := socket.Ping(t.Context()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		socket.CloseNow()
	}
}

func TestCallsAreBounded(t *testing.T) {
	c := &connected{calls: map[string]*call{}}
	ids := map[string]bool{}
	for range maxCalls {
		id, made := c.add()
		if made == nil || ids[id] {
			t.Fatalf("call %s", id)
		}
		ids[id] = true
	}
	if _, made := c.add(); made != nil {
		t.Error("one too many")
	}
	c.remove("1")
	if _, made := c.add(); made == nil {
		t.Error("no place after one has ended")
	}
}

func TestCleanReport(t *testing.T) {
	r := cleanReport(pannier.RunnerReport{Version: "1\x1b[31m\n" + strings.Repeat("x", 5000), Level: "total", Missing: slices.Repeat([]string{"a\x00"}, 100), MaxCalls: 1 << 30})
	if len(r.Version) > 1100 || strings.ContainsAny(r.Version, "\x1b\n") || r.Level != "" || len(r.Missing) != maxSentences || r.Missing[0] != "a" || r.MaxCalls != maxCalls {
		t.Errorf("%+v", r)
	}
}

// TestArtifact reads a file of a runner in parts, and says what is wrong with others.
func TestArtifact(t *testing.T) {
	s := serve(t)
	codeOf := func(err error) string {
		if failed, ok := errors.AsType[*pannier.ToolError](err); ok {
			return failed.Code
		}
		return fmt.Sprint(err)
	}
	if _, err := s.Artifact(t.Context(), "c", "file", 0); codeOf(err) != pannier.ToolNoRunner {
		t.Errorf("without a runner: %v", err)
	}
	s.run(t, &Runner{Executor: fake(echo)})
	for offset, want := range map[int64]int{0: pannier.MaxArtifactPart, pannier.MaxArtifactPart: 3, pannier.MaxArtifactPart + 3: 0} {
		if part, err := s.Artifact(t.Context(), "c", "file", offset); err != nil || len(part) != want {
			t.Errorf("from %d: %d bytes, %v", offset, len(part), err)
		}
	}
	for _, name := range []string{"other", "broken"} {
		if _, err := s.Artifact(t.Context(), "c", name, 0); codeOf(err) != pannier.ToolArtifactMissing || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: %v", name, err)
		}
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Artifact(canceled, "c", "file", 0); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	var readers sync.WaitGroup
	for range 4 * maxReads {
		readers.Go(func() {
			if part, err := s.Artifact(t.Context(), "c", "file", 0); err != nil || len(part) != pannier.MaxArtifactPart {
				t.Errorf("many at a time: %d bytes, %v", len(part), err)
			}
		})
	}
	readers.Wait()
}

// TestClaimedArtifacts are bounded, and have names that a sidecar can hand on.
func TestClaimedArtifacts(t *testing.T) {
	claimed := pannier.ToolResult{OK: true, ArtifactsLeftOut: map[string]int{pannier.ArtifactLink: 2, "\x1b[2J": 1, pannier.ArtifactName: -1}}
	for _, name := range []string{"a", "a", "../b", "/etc/passwd", "c\x1b", "d"} {
		claimed.Artifacts = append(claimed.Artifacts, pannier.Artifact{Name: name, Bytes: 1})
	}
	claimed.Artifacts = append(claimed.Artifacts, pannier.Artifact{Name: "negative", Bytes: -1}, pannier.Artifact{Name: "large", Bytes: pannier.MaxArtifactBytes})
	for i := range 2 * pannier.MaxToolHosts {
		claimed.Artifacts = append(claimed.Artifacts, pannier.Artifact{Name: fmt.Sprint(i)})
		claimed.Network = append(claimed.Network, pannier.ToolHost{Host: fmt.Sprint(i, "\x1b"), Requests: -1})
	}
	got := cleanResult(&pannier.ToolJob{}, &claimed)
	if len(got.Artifacts) != 2 || got.Artifacts[0].Name != "a" || got.Artifacts[1].Name != "d" || len(got.ArtifactsLeftOut) != 1 || got.ArtifactsLeftOut[pannier.ArtifactLink] != 2 {
		t.Errorf("%+v, %v", got.Artifacts, got.ArtifactsLeftOut)
	}
	if len(got.Network) != pannier.MaxToolHosts || strings.Contains(got.Network[0].Host, "\x1b") || got.Network[0].Requests != 0 {
		t.Errorf("%+v", got.Network)
	}
}
