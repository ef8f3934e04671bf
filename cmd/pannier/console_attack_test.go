package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/coder/websocket"

	"pannier"
)

// ticket asks for one with a token.
func (c *consoleUnderTest) ticket(t *testing.T, token string) string {
	t.Helper()
	status, _, body := c.ask(t, consoleRequest{method: "POST", path: "/v1/tickets", token: token})
	var answer struct {
		Ticket  string `json:"ticket"`
		Expires int    `json:"expires_in_ms"`
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK || answer.Ticket == "" || answer.Expires != 30000 {
		t.Fatalf("ticket: %d %s", status, body)
	}
	return answer.Ticket
}

// dial opens a WebSocket as a browser does for a page of an origin. status is that of a refusal.
func (c *consoleUnderTest) dial(t *testing.T, query, origin, host string) (conn *websocket.Conn, status int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, res, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(c.origin, "http")+"/v1/rpc"+query, &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {origin}}, Host: host})
	if err == nil {
		t.Cleanup(func() { conn.CloseNow() })
		return conn, http.StatusSwitchingProtocols
	}
	if res == nil {
		t.Fatal(err)
	}
	return nil, res.StatusCode
}

// call makes one call over a WebSocket, and returns the text of its answer.
func callOver(t *testing.T, conn *websocket.Conn, text string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	need(t, conn.Write(ctx, websocket.MessageText, []byte(text)))
	for {
		_, answer, err := conn.Read(ctx)
		need(t, err)
		if strings.Contains(string(answer), `"id":1`) {
			return string(answer)
		}
	}
}

// awaitClose waits until a WebSocket has been closed by the other side.
func awaitClose(t *testing.T, conn *websocket.Conn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		if _, _, err := conn.Read(ctx); err != nil {
			if ctx.Err() != nil {
				t.Error("the WebSocket stays open")
			}
			return
		}
	}
}

const (
	listCall   = `{"jsonrpc":"2.0","id":1,"method":"skills/list"}`
	policyCall = `{"jsonrpc":"2.0","id":1,"method":"skills/policy/set","params":{"skill_slug":"alpha","enabled":false}}`
)

// TestConsoleWebSockets opens one by a ticket, and tries everything else.
func TestConsoleWebSockets(t *testing.T) {
	t.Parallel()
	s := startSidecar(t, workspaceWith(t, skillScript("alpha", "Counts.")))
	c := startConsole(t, "--socket", s.socket)
	token := c.login(t, c.code)
	ticket := c.ticket(t, token)
	const another = "http://127.0.0.1:1"
	for _, tt := range []struct {
		name, query, origin, host string
		status                    int
	}{
		{"no ticket", "", c.origin, "", 401},
		{"a token in the place of a ticket", "?ticket=" + token, c.origin, "", 401},
		{"the ticket from another page", "?ticket=" + c.ticket(t, token), another, "", 403},
		{"the ticket from a frame without an origin", "?ticket=" + c.ticket(t, token), "null", "", 403},
		{"the ticket by another name", "?ticket=" + c.ticket(t, token), c.origin, "evil.example", 403},
		{"the ticket", "?ticket=" + ticket, c.origin, "", 101},
		{"the ticket again", "?ticket=" + ticket, c.origin, "", 401},
	} {
		conn, status := c.dial(t, tt.query, tt.origin, tt.host)
		if status != tt.status {
			t.Errorf("%s: %d, want %d", tt.name, status, tt.status)
		}
		if conn != nil {
			if answer := callOver(t, conn, listCall); !strings.Contains(answer, `"alpha"`) {
				t.Errorf("%s: %s", tt.name, answer)
			}
		}
	}
	other := startConsole(t, "--socket", s.socket)
	if _, status := other.dial(t, "?ticket="+c.ticket(t, token), other.origin, ""); status != http.StatusUnauthorized {
		t.Errorf("the ticket of another command: %d", status)
	}
	if status, _, _ := other.ask(t, consoleRequest{method: "GET", path: "/v1/skills", token: token}); status != http.StatusUnauthorized {
		t.Errorf("the token of another command: %d", status)
	}
	conn, _ := c.dial(t, "?ticket="+c.ticket(t, token), c.origin, "")
	c.stops(t)
	awaitClose(t, conn)
}

// TestConsoleSlowBodies: who has no token cannot keep connections by bodies that never come.
func TestConsoleSlowBodies(t *testing.T) {
	t.Parallel()
	s := startSidecar(t, newWorkspace(t))
	c := startConsole(t, "--socket", s.socket)
	token := c.login(t, c.code)
	address := strings.TrimPrefix(c.origin, "http://")
	for _, head := range []string{
		"POST /console/ HTTP/1.1\r\nHost: " + address, "POST /console/ HTTP/1.1\r\nHost: evil.example", "POST /nowhere HTTP/1.1\r\nHost: " + address,
		"POST /v1/resolve HTTP/1.1\r\nHost: " + address, "POST /console/session HTTP/1.1\r\nContent-Type: application/json\r\nHost: " + address,
	} {
		for range 150 { // more than the command has
			conn := must(new(net.Dialer).DialContext(t.Context(), "tcp", address))(t)
			defer conn.Close()
			if _, err := io.WriteString(conn, head+"\r\nContent-Length: 100\r\n\r\n"); err != nil && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
				t.Fatal(err)
			}
		}
		if status, _, body := c.ask(t, consoleRequest{method: "GET", path: "/v1/skills", token: token}); status != http.StatusOK {
			t.Errorf("%s: %d %s", head, status, body)
		}
	}
}

// TestConsoleReadOnlyWebSocket changes nothing.
func TestConsoleReadOnlyWebSocket(t *testing.T) {
	t.Parallel()
	s := startSidecar(t, workspaceWith(t, skillScript("alpha", "Counts.")))
	c := startConsole(t, "--socket", s.socket, "--read-only")
	conn, _ := c.dial(t, "?ticket="+c.ticket(t, c.login(t, c.code)), c.origin, "")
	for _, call := range []string{
		policyCall, "[" + policyCall + "]", `{"jsonrpc":"2.0","id":1,"method":"skills/upload/start","params":{"kind":"skill","size":1}}`,
		`{"jsonrpc":"2.0","id":1,"method":"skills/uninstall","params":{"slug":"alpha"}}`,
	} {
		if answer := callOver(t, conn, call); !strings.Contains(answer, `"error"`) || strings.Contains(answer, `"result"`) {
			t.Errorf("%s: %s", call, answer)
		}
	}
	policy, err := s.Policies(t.Context())
	if err != nil || len(policy.Policies) != 1 || !policy.Policies[0].Effective.Enabled {
		t.Errorf("policy: %+v %v", policy, err)
	}
}

// TestConsoleNoticesAnotherWorkspace: a sidecar of another workspace takes the socket, and gets no request of the page.
func TestConsoleNoticesAnotherWorkspace(t *testing.T) {
	t.Parallel()
	s := startSidecar(t, newWorkspace(t))
	c := startConsole(t, "--socket", s.socket)
	token := c.login(t, c.code)
	list := consoleRequest{method: "GET", path: "/v1/skills", token: token}
	if status, _, body := c.ask(t, list); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	s.terminate(t)
	if status, _, body := c.ask(t, list); status != http.StatusBadGateway || !strings.Contains(body, `"no_sidecar"`) {
		t.Errorf("without a sidecar: %d %s", status, body)
	}
	other := workspaceWith(t, skillScript("secret", "Nobody else reads this."))
	start(t, "run", "--workspace", other, "--socket", s.socket, "--state-dir", "none", "--platform-url", "off")
	eventually(t, "the other sidecar answers", func() error {
		status, _, body := c.ask(t, list)
		switch {
		case strings.Contains(body, `"secret"`):
			t.Fatalf("the page reads another workspace: %s", body)
		case status == http.StatusBadGateway && strings.Contains(body, `"workspace_changed"`):
			return nil
		}
		return errors.New(body)
	})
}

// TestConsoleGoesOn when the sidecar restarts, with the same session.
func TestConsoleGoesOn(t *testing.T) {
	t.Parallel()
	dir := workspaceWith(t, skillScript("alpha", "Counts."))
	s := startSidecar(t, dir)
	c := startConsole(t, "--socket", s.socket)
	token := c.login(t, c.code)
	s.terminate(t)
	start(t, "run", "--workspace", dir, "--workspace-id", testWorkspaceID, "--socket", s.socket, "--state-dir", "none", "--platform-url", "off")
	eventually(t, "the page is answered again", func() error {
		status, _, body := c.ask(t, consoleRequest{method: "GET", path: "/v1/skills", token: token})
		if status != http.StatusOK || !strings.Contains(body, `"alpha"`) {
			return errors.New(body)
		}
		return nil
	})
}

// overTCP is the console that a sidecar serves itself.
func overTCP(s *sidecarUnderTest, t *testing.T) *consoleUnderTest {
	t.Helper()
	return &consoleUnderTest{process: s.process, origin: "http://" + s.apiAddress(t)}
}

// TestConsoleOverTCP has what pages can send to a sidecar with the settings console and api_allow_origins.
func TestConsoleOverTCP(t *testing.T) {
	t.Parallel()
	file, token := newTokens(t)
	dir := workspaceWith(t, skillScript("alpha", "Counts."))
	const canvas = "https://canvas.example"
	s := startSidecar(t, dir, "--api-listen", "127.0.0.1:0", "--api-tokens", file, "--console", "--api-allow-origins", canvas)
	c := overTCP(s, t)
	read := func(header ...string) consoleRequest {
		return consoleRequest{method: "GET", path: "/v1/skills", token: token["read"], header: header}
	}
	mcp := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for _, tt := range []struct {
		name    string
		request consoleRequest
		status  int
		body    string
		frames  string // who may frame the answer; empty where that is not asked
	}{
		{"the page", consoleRequest{method: "GET", path: "/console/"}, 200, "<!doctype html>", "'none'"},
		{"its configuration", consoleRequest{method: "GET", path: "/console/config.json"}, 200, `{"mode":"token","embed_origins":["` + canvas + `"]}`, "'none'"},
		{"the drop zone for another page", consoleRequest{method: "GET", path: "/console/embed/drop"}, 200, "<!doctype html>", canvas},
		{"the list for another page", consoleRequest{method: "GET", path: "/console/embed/skills"}, 200, "<!doctype html>", canvas},
		{"another part", consoleRequest{method: "GET", path: "/console/embed/health"}, 404, "", "'none'"},
		{"a session by a code", consoleRequest{method: "POST", path: "/console/session", body: `{"code":"x"}`}, 405, "", "'none'"},
		{"the page by a name that was rebound", consoleRequest{method: "GET", path: "/console/", host: "evil.example"}, 403, "host_refused", ""},
		{"its own page", read("Origin", c.origin), 200, `"alpha"`, ""},
		{"the allowed page", read("Origin", canvas), 200, `"alpha"`, ""},
		{"another port of this machine", read("Origin", "http://127.0.0.1:1"), 403, "browser_refused", ""},
		{"another site", read("Origin", "https://evil.example"), 403, "browser_refused", ""},
		{"null", read("Origin", "null"), 403, "browser_refused", ""},
		{"a token in the query", consoleRequest{method: "GET", path: "/v1/skills?token=" + token["read"], header: []string{"Origin", canvas}}, 401, "token_missing", ""},
		{"a token in a cookie", consoleRequest{method: "GET", path: "/v1/skills", header: []string{"Origin", canvas, "Cookie", "token=" + token["read"]}}, 401, "token_missing", ""},
		{"a change by read", consoleRequest{method: "PUT", path: "/v1/policy/alpha", body: `{"enabled":false}`, token: token["read"], header: []string{"Origin", canvas}}, 403, "forbidden", ""},
		{"MCP of the allowed page", consoleRequest{method: "POST", path: "/mcp", body: mcp, token: token["read"], header: []string{"Origin", canvas, "Accept", "application/json, text/event-stream"}}, 200, "", ""},
		{"MCP of another site", consoleRequest{method: "POST", path: "/mcp", body: mcp, token: token["read"], header: []string{"Origin", "https://evil.example"}}, 403, "browser_refused", ""},
	} {
		status, header, body := c.ask(t, tt.request)
		if status != tt.status || !strings.Contains(body, tt.body) {
			t.Errorf("%s: %d %.300s, want %d %s", tt.name, status, body, tt.status, tt.body)
		}
		if tt.frames != "" && !strings.HasSuffix(header.Get("Content-Security-Policy"), "frame-ancestors "+tt.frames) {
			t.Errorf("%s: framed by %s", tt.name, header.Get("Content-Security-Policy"))
		}
		if header.Get("Set-Cookie") != "" || header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: %v", tt.name, header)
		}
	}
	s.checkSecrets(t, token)
}

// TestConsoleEndsWithItsToken: the stream and the WebSocket of a page end when the token is revoked.
func TestConsoleEndsWithItsToken(t *testing.T) {
	t.Parallel()
	file, token := newTokens(t)
	const canvas = "https://canvas.example"
	s := startSidecar(t, newWorkspace(t), "--api-listen", "127.0.0.1:0", "--api-tokens", file, "--console", "--api-allow-origins", canvas)
	c := overTCP(s, t)
	conn, status := c.dial(t, "?ticket="+c.ticket(t, token["read"]), canvas, "")
	if conn == nil {
		t.Fatalf("the WebSocket of the allowed page: %d", status)
	}
	if _, status := c.dial(t, "?ticket="+c.ticket(t, token["read"]), "https://evil.example", ""); status != http.StatusForbidden {
		t.Errorf("the WebSocket of another site: %d", status)
	}
	unused := c.ticket(t, token["read"])
	req := must(http.NewRequestWithContext(t.Context(), http.MethodGet, c.origin+"/v1/events", http.NoBody))(t)
	req.Header.Set("Authorization", "Bearer "+token["read"])
	req.Header.Set("Origin", c.origin)
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res, err)
	}
	defer res.Body.Close()
	writeIn(t, filepath.Dir(file), "sed -i /^read/d tokens")
	awaitClose(t, conn)
	if _, err := io.Copy(io.Discard, res.Body); t.Context().Err() != nil {
		t.Error("the stream stays open", err)
	}
	if _, status := c.dial(t, "?ticket="+unused, c.origin, ""); status != http.StatusUnauthorized {
		t.Errorf("a ticket of the revoked token: %d", status)
	}
}

// TestConsoleSettings are refused where a token could be read, or no browser could come.
func TestConsoleSettings(t *testing.T) {
	t.Parallel()
	file, _ := newTokens(t)
	dir := newWorkspace(t)
	for _, tt := range []struct{ args, says string }{
		{"--console", "console needs api_listen"},
		{"--api-allow-origins https://canvas.example", "api_allow_origins needs api_listen"},
		{"--console --api-listen 0.0.0.0:0 --api-tokens " + file, "console needs TLS on"},
		{"--api-allow-origins * --api-listen 127.0.0.1:0 --api-tokens " + file, "is not an origin"},
	} {
		args := append([]string{"run", "--workspace", dir, "--platform-url", "off", "--socket", filepath.Join(shortDir(t), "s"), "--state-dir", "none"}, strings.Fields(tt.args)...)
		code, _, complaint := runHere(t, args...)
		if code != exitUnknown || !strings.Contains(complaint, tt.says) {
			t.Errorf("%s: exit code %d\n%s", tt.args, code, complaint)
		}
	}
}

// TestConsoleOfRemoteSidecar forwards to --url with the rights of its token, and ends with them.
func TestConsoleOfRemoteSidecar(t *testing.T) {
	t.Parallel()
	file, token := newTokens(t)
	s := startSidecar(t, workspaceWith(t, skillScript("alpha", "Counts.")), "--api-listen", "127.0.0.1:0", "--api-tokens", file)
	c := startConsole(t, "--url", "http://"+s.apiAddress(t), "--token-file", filepath.Join(filepath.Dir(file), "environment"))
	session := c.login(t, c.code)
	status, _, body := c.ask(t, consoleRequest{method: "GET", path: "/v1/session", token: session})
	var who pannier.Session
	if err := json.Unmarshal([]byte(body), &who); err != nil || status != http.StatusOK || who.Name != "environment" || who.Write {
		t.Errorf("session: %d %s", status, body)
	}
	if status, _, body := c.ask(t, consoleRequest{method: "PUT", path: "/v1/policy/alpha", body: `{"enabled":false}`, token: session}); status != http.StatusForbidden {
		t.Errorf("a change: %d %s", status, body)
	}
	conn, status := c.dial(t, "?ticket="+c.ticket(t, session), c.origin, "")
	if conn == nil {
		t.Fatalf("the WebSocket: %d", status)
	}
	if want := "--url http://" + s.apiAddress(t) + " --token-file "; !strings.HasPrefix(c.flags, want) {
		t.Errorf("flags %q, want %q", c.flags, want)
	}
	if status, _, _ := c.ask(t, consoleRequest{method: "GET", path: "/v1/skills", token: token["environment"]}); status != http.StatusUnauthorized {
		t.Errorf("the token of the sidecar in the place of a session: %d", status)
	}
	writeIn(t, filepath.Dir(file), "sed -i /^environment/d tokens")
	awaitClose(t, conn)
	if status, _, body := c.ask(t, consoleRequest{method: "GET", path: "/v1/skills", token: session}); status != http.StatusUnauthorized {
		t.Errorf("after the token was removed: %d %s", status, body)
	}
	s.checkSecrets(t, token)
}
