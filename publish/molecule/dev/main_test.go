package dev_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"pannier/publish/molecule/dev"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	first   = "11111111-1111-4111-8111-111111111111"
	second  = "22222222-2222-4222-8222-222222222222"
	unknown = "99999999-9999-4999-8999-999999999999"
	token   = "first-token"
)

// deadline bounds whatever a test waits for.
const deadline = 30 * time.Second

// newPlatform returns a platform on a loopback port with the first workspace seeded.
func newPlatform(t *testing.T) (*dev.Platform, string) {
	t.Helper()
	p := dev.New(dev.Options{})
	if _, err := p.Seed(first, token); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	t.Cleanup(p.Close)
	return p, s.URL
}

// call makes a request without a connection and returns the status and the body.
func call(h http.Handler, method, path, auth, body string) (int, string) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if auth != "" {
		r.Header.Set("Authorization", auth)
	}
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, strings.TrimSpace(w.Body.String())
}

func update(id, card string) string { return `{"workspace_id":"` + id + `","agent_card":` + card + `}` }

// listen connects to the event stream for a workspace, or for none.
func listen(t *testing.T, url, workspace, auth string) *websocket.Conn {
	t.Helper()
	conn, status, err := dial(t, url, workspace, auth)
	if err != nil {
		t.Fatalf("connect: %d, %v", status, err)
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	return conn
}

func dial(t *testing.T, url, workspace, auth string) (*websocket.Conn, int, error) {
	t.Helper()
	h := http.Header{}
	if workspace != "" {
		h.Set("X-Workspace-ID", workspace)
	}
	if auth != "" {
		h.Set("Authorization", auth)
	}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	conn, resp, err := websocket.Dial(ctx, strings.Replace(url, "http", "ws", 1)+"/ws", &websocket.DialOptions{HTTPHeader: h})
	if conn != nil {
		conn.SetReadLimit(-1)
	}
	if resp == nil {
		return conn, 0, err
	}
	return conn, resp.StatusCode, err
}

// next returns the next event of a connection.
func next(t *testing.T, conn *websocket.Conn) (dev.Frame, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	_, text, err := conn.Read(ctx)
	if err != nil {
		t.Fatalf("read event: %v", err)
	}
	var f dev.Frame
	if err := json.Unmarshal(text, &f); err != nil {
		t.Fatalf("event %s: %v", text, err)
	}
	return f, string(text)
}

// post makes a request over the network.
func post(t *testing.T, url, auth, body string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", auth)
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	http.DefaultClient.CloseIdleConnections()
	return resp.StatusCode, string(text)
}
