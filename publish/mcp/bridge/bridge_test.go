package bridge_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"pannier/publish/mcp/bridge"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The protocol versions of the two forms.
const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

var forms = []string{legacy, modern}

// endpoint is an MCP server on a unix socket that can be stopped and started again.
type endpoint struct {
	t      *testing.T
	socket string
	server *mcp.Server
	http   *http.Server
	dead   chan struct{} // closed by stop
	served chan struct{} // closed once no connection is accepted any more
	// released lets the tool "slow" return.
	released chan struct{}
	// begun has a value for each call of the tool "slow", cancelled one for each that was cancelled.
	begun, cancelled chan struct{}
}

func newEndpoint(t *testing.T) *endpoint {
	t.Helper()
	e := &endpoint{
		t: t, socket: filepath.Join(t.TempDir(), "s"),
		released: make(chan struct{}), begun: make(chan struct{}, 100), cancelled: make(chan struct{}, 100),
	}
	e.start()
	t.Cleanup(func() { e.stop() })
	return e
}

func (e *endpoint) start() {
	e.t.Helper()
	dead := make(chan struct{})
	e.dead = dead
	e.server = mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ServerOptions{
		Instructions:       "Read them.",
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		Capabilities: &mcp.ServerCapabilities{
			Tools: &mcp.ToolCapabilities{ListChanged: true}, Resources: &mcp.ResourceCapabilities{ListChanged: true, Subscribe: true},
			Prompts: &mcp.PromptCapabilities{ListChanged: true},
		},
	})
	mcp.AddTool(e.server, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, in map[string]any) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(in["text"])}}}, nil, nil
	})
	mcp.AddTool(e.server, &mcp.Tool{Name: "slow"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ map[string]any) (*mcp.CallToolResult, any, error) {
		e.begun <- struct{}{}
		select {
		case <-e.released:
		case <-dead:
		case <-ctx.Done():
			e.cancelled <- struct{}{}
		}
		return &mcp.CallToolResult{}, nil, nil
	})
	e.server.AddResource(&mcp.Resource{Name: "one", URI: "skill://one/SKILL.md"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "skill://one/SKILL.md", Text: "line\nline\r\n"}}}, nil
	})
	get := func(*http.Request) *mcp.Server { return e.server }
	stateful := mcp.NewStreamableHTTPHandler(get, nil)
	stateless := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
	ln, err := net.Listen("unix", e.socket)
	if err != nil {
		e.t.Fatal(err)
	}
	e.http = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= modern {
			stateless.ServeHTTP(w, r)
			return
		}
		stateful.ServeHTTP(w, r)
	})}
	served := make(chan struct{})
	e.served = served
	go func() {
		defer close(served)
		e.http.Serve(ln)
	}()
}

// stop ends the server as a kill does.
func (e *endpoint) stop() {
	e.http.Close()
	<-e.served
	select {
	case <-e.dead:
		return
	default:
	}
	close(e.dead)
	for s := range e.server.Sessions() {
		s.Close()
	}
}

// run joins the endpoint with a host that writes to in and reads from out. ended is closed at the end of the bridge.
func (e *endpoint) run(ctx context.Context) (in *io.PipeWriter, out *io.PipeReader, ended chan struct{}) {
	fromHost, in := io.Pipe()
	out, toHost := io.Pipe()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", e.socket)
	}}
	ended = make(chan struct{})
	go func() {
		defer close(ended)
		err := bridge.Run(ctx, bridge.Options{
			HTTP: &http.Client{Transport: transport}, Endpoint: "http://pannier/mcp", Server: "the server", In: fromHost, Out: toHost, Log: hclog.NewNullLogger(),
		})
		if err != nil {
			e.t.Error(err)
		}
		toHost.Close()
		transport.CloseIdleConnections()
	}()
	e.t.Cleanup(func() {
		in.Close()
		out.Close()
		<-ended
	})
	return in, out, ended
}

// connect returns a session of the SDK's client through a bridge. changed has a value for each change of the list of tools.
func (e *endpoint) connect(version string) (session *mcp.ClientSession, changed, updated chan string) {
	e.t.Helper()
	in, out, _ := e.run(context.Background())
	changed, updated = make(chan string, 100), make(chan string, 100)
	client := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- "tools" },
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { updated <- r.Params.URI },
	})
	session, err := client.Connect(context.Background(), &mcp.IOTransport{Reader: out, Writer: in}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() { session.Close() })
	if got := session.InitializeResult(); got != nil && got.ProtocolVersion != version {
		e.t.Fatalf("the host speaks %s, want %s", got.ProtocolVersion, version)
	}
	return session, changed, updated
}

// change adds tools until the host is told: the stream of notifications opens after the session.
func (e *endpoint) change(changed <-chan string) {
	e.t.Helper()
	for i := range 1000 {
		e.server.AddTool(&mcp.Tool{Name: fmt.Sprint("more", i), InputSchema: map[string]any{"type": "object"}}, nil)
		select {
		case <-changed:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
	e.t.Fatal("no change of the tools")
}

func echo(t *testing.T, s *mcp.ClientSession, text string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	res, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": text}})
	if err == nil && res.Content[0].(*mcp.TextContent).Text != text {
		t.Errorf("echo answers %v, want %s", res.Content[0], text)
	}
	return err
}

func wait[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case got := <-from:
		return got
	case <-time.After(20 * time.Second):
		t.Fatalf("no %s", what)
		panic("unreachable")
	}
}

func forEachForm(t *testing.T, test func(*testing.T, string)) {
	for _, version := range forms {
		t.Run(version, func(t *testing.T) { test(t, version) })
	}
}

func TestCallsAndNotifications(t *testing.T) {
	forEachForm(t, func(t *testing.T, version string) {
		e := newEndpoint(t)
		s, changed, updated := e.connect(version)
		if err := echo(t, s, "hello"); err != nil {
			t.Fatal(err)
		}
		read, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "skill://one/SKILL.md"})
		if err != nil || read.Contents[0].Text != "line\nline\r\n" {
			t.Fatalf("read %+v: %v", read, err)
		}
		if _, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "skill://none"}); err == nil || !strings.Contains(err.Error(), "not found") {
			t.Errorf("a missing resource: %v", err)
		}
		if err := s.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "skill://one/SKILL.md"}); err != nil {
			t.Fatal(err)
		}
		subscribed := make(chan struct{})
		go func() { // the stream of notifications opens after the answer
			for {
				e.server.ResourceUpdated(context.Background(), &mcp.ResourceUpdatedNotificationParams{URI: "skill://one/SKILL.md"})
				select {
				case <-subscribed:
					return
				case <-time.After(20 * time.Millisecond):
				}
			}
		}()
		wait(t, "update", updated)
		close(subscribed)
		e.change(changed)
	})
}

func TestConcurrentCalls(t *testing.T) {
	forEachForm(t, func(t *testing.T, version string) {
		e := newEndpoint(t)
		s, _, _ := e.connect(version)
		slow := make(chan error, 1)
		go func() {
			_, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "slow"})
			slow <- err
		}()
		wait(t, "slow call", e.begun)
		errs := make(chan error)
		for i := range 40 {
			go func() { errs <- echo(t, s, fmt.Sprint(i)) }()
		}
		for range 40 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		close(e.released)
		if err := wait(t, "answer", slow); err != nil {
			t.Error(err)
		}
	})
}

func TestCancel(t *testing.T) {
	forEachForm(t, func(t *testing.T, version string) {
		e := newEndpoint(t)
		s, _, _ := e.connect(version)
		ctx, cancel := context.WithCancel(t.Context())
		called := make(chan error, 1)
		go func() {
			_, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "slow"})
			called <- err
		}()
		wait(t, "slow call", e.begun)
		cancel()
		wait(t, "end of the call", called)
		wait(t, "cancellation", e.cancelled)
		if err := echo(t, s, "after"); err != nil {
			t.Error(err)
		}
	})
}

func TestRestartOfTheServer(t *testing.T) {
	forEachForm(t, func(t *testing.T, version string) {
		e := newEndpoint(t)
		s, changed, updated := e.connect(version)
		if err := s.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "skill://one/SKILL.md"}); err != nil {
			t.Fatal(err)
		}
		e.change(changed)
		flight := make(chan error, 1)
		go func() {
			_, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "slow"})
			flight <- err
		}()
		wait(t, "slow call", e.begun)
		e.stop()
		if err := wait(t, "error of the call under way", flight); err == nil || !strings.Contains(err.Error(), "the server ended or restarted before it answered") {
			t.Errorf("the call under way: %v", err)
		}
		for len(changed) > 0 {
			<-changed
		}
		e.start()
		wait(t, "change by the restart", changed)
		if uri := wait(t, "update by the restart", updated); uri != "skill://one/SKILL.md" {
			t.Errorf("updated: %s", uri)
		}
		if err := echo(t, s, "again"); err != nil {
			t.Fatal(err)
		}
		// The bridge has subscribed again: the new server reports too.
		for len(changed) > 0 {
			<-changed
		}
		e.change(changed)
	})
}

// TestListenWhileTheServerEnds subscribes at a server that breaks connections, as one that is killed does, before it restarts.
func TestListenWhileTheServerEnds(t *testing.T) {
	e := newEndpoint(t)
	e.stop()
	ln, err := net.Listen("unix", e.socket)
	if err != nil {
		t.Fatal(err)
	}
	h := e.host()
	h.write(`{"jsonrpc":"2.0","id":5,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"h","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`)
	for range 3 {
		conn, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
	}
	ln.Close()
	e.start()
	for _, want := range []string{"notifications/subscriptions/acknowledged", "notifications/tools/list_changed"} {
		if got := h.read(); got.Method != want {
			t.Errorf("the host gets %+v, want %s", got, want)
		}
	}
}

// TestEndBehindAServerThatHangs ends the input while the server takes requests and answers none. Blank lines are no messages.
func TestEndBehindAServerThatHangs(t *testing.T) {
	e := newEndpoint(t)
	e.stop()
	ln, err := net.Listen("unix", e.socket) // the kernel takes connections, and nobody answers
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	in, out, ended := e.run(t.Context())
	go func() { _, _ = io.Copy(io.Discard, out) }()
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"h","version":"1"}}}`,
		"", " ", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
	} {
		if _, err := io.WriteString(in, text+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	in.Close()
	select {
	case <-ended:
	case <-time.After(4 * time.Second): // less than a message waits for a server
		t.Fatal("the bridge goes on after the end of its input")
	}
}

// host is a host that writes lines by hand.
type host struct {
	t    *testing.T
	in   io.Writer
	from *bufio.Scanner
}

func (e *endpoint) host() *host {
	in, out, _ := e.run(context.Background())
	from := bufio.NewScanner(out)
	from.Buffer(nil, 32<<20)
	return &host{e.t, in, from}
}

func (h *host) write(text string) {
	h.t.Helper()
	if _, err := io.WriteString(h.in, text+"\n"); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) read() (answer struct {
	ID     any
	Method string
	Result json.RawMessage
	Error  struct {
		Code    int
		Message string
	}
},
) {
	h.t.Helper()
	if !h.from.Scan() {
		h.t.Fatal("the bridge has ended", h.from.Err())
	}
	if err := json.Unmarshal(h.from.Bytes(), &answer); err != nil {
		h.t.Fatalf("%q: %v", h.from.Text(), err)
	}
	return answer
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"h","version":"1"}}}`

func TestWrongMessages(t *testing.T) {
	h := newEndpoint(t).host()
	big := strings.Repeat("x", bridge.MaxMessage)
	for _, c := range []struct {
		line string
		id   any
		code int
		says string
	}{
		{`{"jsonrpc":`, nil, -32700, "not a message of JSON-RPC"},
		{`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, nil, -32600, "batches are not supported"},
		{`{}`, nil, -32600, "neither a method nor an id"},
		{`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"` + big + `"},"id":7}`, 7.0, -32600, "and may have 1048576"},
		{`{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"` + strings.Repeat(big, 17) + `"}}`, nil, -32600, "larger than 1048576"},
	} {
		h.write(c.line)
		if got := h.read(); got.ID != c.id || got.Error.Code != c.code || !strings.Contains(got.Error.Message, c.says) {
			t.Errorf("%.60s: %+v", c.line, got)
		}
	}
	h.write(initialize)
	if got := h.read(); got.ID != 1.0 || got.Error.Code != 0 {
		t.Errorf("initialize after that: %+v", got)
	}
}

func TestNoServer(t *testing.T) {
	e := newEndpoint(t)
	e.stop()
	h := e.host()
	h.write(initialize)
	if got := h.read(); got.ID != 1.0 || !strings.Contains(got.Error.Message, "the server does not answer; start it") {
		t.Errorf("%+v", got)
	}
	e.start()
	h.write(initialize)
	if got := h.read(); got.ID != 1.0 || got.Error.Code != 0 {
		t.Errorf("with a server: %+v", got)
	}
}

// TestPipedInput writes everything at once and ends the input, as people do in a shell.
func TestPipedInput(t *testing.T) {
	e := newEndpoint(t)
	in, out, ended := e.run(context.Background())
	lines := make(chan string, 10)
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
		close(lines)
	}()
	io.WriteString(in, initialize+"\n"+`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"+`{"jsonrpc":"2.0","id":"two","method":"tools/list"}`)
	in.Close()
	start := time.Now()
	wait(t, "end", ended)
	if took := time.Since(start); took > 4*time.Second { // less than a message waits for a server
		t.Errorf("the end took %v", took)
	}
	var got []string
	for line := range lines {
		got = append(got, line)
	}
	if len(got) != 2 || !strings.Contains(got[0], `"id":1`) || !strings.Contains(got[1], `"id":"two"`) || !strings.Contains(got[1], `"echo"`) {
		t.Errorf("%q", got)
	}
	if n := len(slicesOf(e.server)); n != 0 {
		t.Errorf("the server keeps %d sessions", n)
	}
}

func slicesOf(s *mcp.Server) (all []*mcp.ServerSession) {
	for session := range s.Sessions() {
		all = append(all, session)
	}
	return all
}

func TestTooManyCalls(t *testing.T) {
	e := newEndpoint(t)
	h := e.host()
	h.write(initialize)
	h.read()
	h.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	const most = 64
	for i := range most + 1 {
		h.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"slow"}}`, 100+i))
	}
	if got := h.read(); got.ID != 100.0+most || !strings.Contains(got.Error.Message, "64 calls are under way") {
		t.Errorf("%+v", got)
	}
	h.write(`{"jsonrpc":"2.0","id":100,"method":"ping"}`)
	if got := h.read(); got.ID != 100.0 || !strings.Contains(got.Error.Message, "is under way") {
		t.Errorf("%+v", got)
	}
	close(e.released)
	for range most {
		if got := h.read(); got.Error.Code != 0 {
			t.Errorf("%+v", got)
		}
	}
}
