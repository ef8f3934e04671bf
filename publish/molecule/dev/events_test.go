package dev_test

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/hashicorp/go-hclog"

	"pannier/publish/molecule/dev"
)

func TestFrame(t *testing.T) {
	_, url := newPlatform(t)
	conn := listen(t, url, "", "")
	const id = "AAAAAAAA-1111-4111-8111-111111111111" // a UUID comes back as it was written
	post(t, url+"/registry/update-card", "", update(id, `{ "name": "<b> & co", "n": 1.50 }`))
	f, text := next(t, conn)
	want := `{"event":"AGENT_CARD_UPDATED","workspace_id":"` + id + `","timestamp":"` +
		f.Timestamp.Format(time.RFC3339Nano) + `","payload":{"agent_card":{"name":"\u003cb\u003e \u0026 co","n":1.50}}}`
	if text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	if f.Timestamp.Location() != time.UTC || time.Since(f.Timestamp) > time.Hour {
		t.Errorf("time %v", f.Timestamp)
	}
}

// beforeHead calls back before the head of a response is written.
type beforeHead struct {
	http.ResponseWriter
	call func()
}

func (w beforeHead) WriteHeader(status int) {
	w.call()
	w.ResponseWriter.WriteHeader(status)
}

// TestEventsComeBeforeTheResponse holds the response back until the client has the event.
func TestEventsComeBeforeTheResponse(t *testing.T) {
	p, url := newPlatform(t)
	conn := listen(t, url, "", "")
	event := ""
	w := beforeHead{httptest.NewRecorder(), func() {
		f, _ := next(t, conn)
		event = f.Event
	}}
	r := httptest.NewRequest("POST", "/registry/update-card", strings.NewReader(update(unknown, "{}")))
	r.Header.Set("Content-Type", "application/json")
	p.ServeHTTP(w, r)
	if event != "AGENT_CARD_UPDATED" {
		t.Errorf("event %q", event)
	}
}

func TestEventsOfRegistrationAndHeartbeat(t *testing.T) {
	p, url := newPlatform(t)
	conn := listen(t, url, first, bearer)
	call(p, "POST", "/registry/register", bearer, `{"id":"`+first+`","url":"http://agent.example","agent_card":null}`)
	call(p, "POST", "/registry/heartbeat", bearer, `{"workspace_id":"`+first+`","active_tasks":1,"uptime_seconds":7,"current_task":"t"}`)
	call(p, "POST", "/registry/heartbeat", bearer, `{"workspace_id":"`+first+`","current_task":"t"}`)
	for _, want := range []string{
		`WORKSPACE_ONLINE {"agent_card":null,"url":"http://agent.example"}`,
		`TASK_UPDATED {"active_tasks":1,"current_task":"t"}`,
		`WORKSPACE_HEARTBEAT {"active_tasks":1,"uptime_seconds":7}`,
		`WORKSPACE_HEARTBEAT {"active_tasks":0,"uptime_seconds":0}`,
	} {
		if f, _ := next(t, conn); f.Event+" "+string(f.Payload) != want {
			t.Errorf("got %s %s, want %s", f.Event, f.Payload, want)
		}
	}
}

func TestWhoMayListen(t *testing.T) {
	p, url := newPlatform(t)
	if _, err := p.Seed(second, "t"); err != nil {
		t.Fatal(err)
	}
	p.Revoke(second)
	for _, test := range []struct {
		workspace, auth string
		status          int
	}{
		{"", "", 101},
		{first, bearer, 101},
		{first, "", 401},
		{first, "Bearer x", 401},
		{second, "", 101},
		{unknown, "", 101},
		{"w-1", "", 500},
	} {
		conn, status, err := dial(t, url, test.workspace, test.auth)
		if status != test.status {
			t.Errorf("%q with %q: %d, want %d (%v)", test.workspace, test.auth, status, test.status, err)
		}
		if conn != nil {
			_ = conn.CloseNow()
		}
	}
}

func TestWhoHearsWhat(t *testing.T) {
	p, url := newPlatform(t)
	all, own, stranger := listen(t, url, "", ""), listen(t, url, first, bearer), listen(t, url, unknown, "")
	if _, err := p.Seed(second, "t"); err != nil {
		t.Fatal(err)
	}
	send := func(id, auth string) { call(p, "POST", "/registry/update-card", auth, update(id, `"`+id+`"`)) }
	send(second, "Bearer t") // a sibling
	send(unknown, "")        // nobody's, but the stranger's own
	send(first, bearer)      // its own
	for _, test := range []struct {
		name string
		conn *websocket.Conn
		want []string
	}{
		{"all", all, []string{second, unknown, first}},
		{"own", own, []string{second, first}},
		{"stranger", stranger, []string{unknown}},
	} {
		for _, want := range test.want {
			if f, _ := next(t, test.conn); f.WorkspaceID != want {
				t.Errorf("%s heard of %s, want %s", test.name, f.WorkspaceID, want)
			}
		}
	}
}

// TestSlowClientCostsNobodyElse never reads from one client, until it misses events, while another one gets them all.
func TestSlowClientCostsNobodyElse(t *testing.T) {
	var logs bytes.Buffer // written to by Close's clients, one after the other, and read after Close
	p := dev.New(dev.Options{Logger: hclog.New(&hclog.LoggerOptions{Output: &logs, Level: hclog.Warn})})
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	listen(t, s.URL, "", "") // never reads
	brisk := listen(t, s.URL, "", "")
	card := `"` + strings.Repeat("x", 32<<10) + `"`
	for range 3 * dev.MaxBacklog { // 24 MiB: more than the queue and the sockets' buffers hold
		if status, body := call(p, "POST", "/registry/update-card", "", update(unknown, card)); status != 200 {
			t.Fatalf("answered %d %s", status, body)
		}
		next(t, brisk)
	}
	p.Close() // although the slow one never reads that it should go
	if got := strings.Count(logs.String(), "missed events"); got != 1 {
		t.Errorf("%d clients missed events, want 1: %s", got, logs.String())
	}
}

func TestClientsAreBounded(t *testing.T) {
	_, url := newPlatform(t)
	for range dev.MaxClients {
		listen(t, url, "", "")
	}
	if _, status, _ := dial(t, url, "", ""); status != http.StatusServiceUnavailable {
		t.Errorf("one client too many: %d", status)
	}
}

func TestCloseEndsEveryClient(t *testing.T) {
	p, url := newPlatform(t)
	conns := []*websocket.Conn{listen(t, url, "", ""), listen(t, url, first, bearer), listen(t, url, unknown, "")}
	p.Close()
	for _, conn := range conns {
		ctx, cancel := context.WithTimeout(t.Context(), deadline)
		if _, _, err := conn.Read(ctx); err == nil || ctx.Err() != nil {
			t.Errorf("the client was not ended: %v", err)
		}
		cancel()
	}
	if _, status, _ := dial(t, url, "", ""); status != http.StatusServiceUnavailable {
		t.Errorf("a client after Close: %d", status)
	}
	p.Close() // once more does nothing
}

// TestClientThatVanishes makes room again for others.
func TestClientThatVanishes(t *testing.T) {
	_, url := newPlatform(t)
	for range dev.MaxClients + 10 {
		conn := listen(t, url, "", "")
		_ = conn.Close(websocket.StatusNormalClosure, "") // waits for the platform's answer
	}
}

func TestPlainRequestForTheStream(t *testing.T) {
	p, url := newPlatform(t)
	if status, _ := call(p, "GET", "/ws", "", ""); status != http.StatusUpgradeRequired {
		t.Errorf("without an upgrade: %d", status)
	}
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}
