package dev_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pannier/publish/molecule/dev"
)

// TestWebPagesAreRefused registers a workspace as a page in a browser could, on loopback and on another address.
func TestWebPagesAreRefused(t *testing.T) {
	body := `{"id":"` + unknown + `","url":"http://agent.example","agent_card":{}}`
	loopback := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}
	other := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80}
	json := http.Header{"Content-Type": {"application/json; charset=utf-8"}}
	with := func(name, value string) http.Header {
		h := json.Clone()
		h.Set(name, value)
		return h
	}
	for _, test := range []struct {
		name, host string
		local      net.Addr
		header     http.Header
		status     int
	}{
		{"program", "127.0.0.1:8080", loopback, json, 200},
		{"program by name", "LocalHost:8080", loopback, json, 200},
		{"program over IPv6", "[::1]:8080", loopback, json, 200},
		{"program without a port", "[::1]", loopback, json, 200},
		{"program on another address", "platform.example", other, json, 200},
		{"origin", "127.0.0.1:8080", loopback, with("Origin", "https://evil.example"), 403},
		{"origin null", "127.0.0.1:8080", loopback, with("Origin", "null"), 403},
		{"own origin", "127.0.0.1:8080", loopback, with("Origin", "http://127.0.0.1:8080"), 403},
		{"referer", "127.0.0.1:8080", loopback, with("Referer", "https://evil.example/"), 403},
		{"origin on another address", "platform.example", other, with("Origin", "https://evil.example"), 403},
		{"foreign host", "evil.example:8080", loopback, json, 403},
		{"foreign host that ends like ours", "localhost.evil.example", loopback, json, 403},
		{"no host", "", loopback, json, 403},
		{"text", "127.0.0.1:8080", loopback, http.Header{"Content-Type": {"text/plain"}}, 415},
		{"form", "127.0.0.1:8080", loopback, http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, 415},
		{"no type", "127.0.0.1:8080", loopback, http.Header{}, 415},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := dev.New(dev.Options{})
			r := httptest.NewRequest(http.MethodPost, "/registry/register", strings.NewReader(body))
			r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, test.local))
			r.Host, r.Header = test.host, test.header
			w := httptest.NewRecorder()
			p.ServeHTTP(w, r)
			if w.Code != test.status {
				t.Errorf("answered %d %s, want %d", w.Code, w.Body, test.status)
			}
			if _, known := p.Card(unknown); known != (test.status == 200) {
				t.Errorf("registered: %t", known)
			}
		})
	}
}

// TestReadsWithForeignHostAreRefused reads a card as a page could after DNS rebinding, and follows the events.
func TestReadsWithForeignHostAreRefused(t *testing.T) {
	_, url := newPlatform(t)
	for _, path := range []string{"/workspaces/" + first, "/ws", "/health"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Host, r.Close = "evil.example", true
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s answered %d %s", path, resp.StatusCode, text)
		}
	}
}

// TestContentIsBounded fills the platform through each field that it keeps.
func TestContentIsBounded(t *testing.T) {
	p, _ := newPlatform(t)
	p.SetMaxStored(1000)
	long := strings.Repeat("x", 2000)
	for _, test := range []struct{ path, body string }{
		{"update-card", update(first, `"`+long+`"`)},
		{"register", `{"id":"` + first + `","url":"http://agent.example/` + long + `","agent_card":{}}`},
		{"heartbeat", `{"workspace_id":"` + first + `","current_task":"` + long + `"}`},
	} {
		status, text := call(p, "POST", "/registry/"+test.path, bearer, test.body)
		if status != http.StatusInsufficientStorage || !strings.Contains(text, "full") {
			t.Errorf("%s answered %d %s", test.path, status, text)
		}
	}
}

// TestBodiesInFlightAreBounded holds bodies back until no more are taken, and releases them.
func TestBodiesInFlightAreBounded(t *testing.T) {
	p, _ := newPlatform(t)
	var held []*io.PipeWriter
	ended := make(chan struct{})
	for range dev.MaxInFlightBytes / dev.MaxBodyBytes {
		r, w := io.Pipe()
		held = append(held, w)
		request := httptest.NewRequest(http.MethodPost, "/registry/update-card", r)
		request.Header.Set("Content-Type", "application/json")
		go func() {
			p.ServeHTTP(httptest.NewRecorder(), request)
			ended <- struct{}{}
		}()
		if _, err := fmt.Fprint(w, "{"); err != nil { // which is read once the body counts
			t.Fatal(err)
		}
	}
	r := httptest.NewRequest(http.MethodPost, "/registry/update-card", strings.NewReader(update(first, "{}")))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", bearer)
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "1" {
		t.Errorf("one body too many: %d %s", w.Code, w.Body)
	}
	for _, w := range held {
		w.Close()
		<-ended
	}
	if status, text := call(p, "POST", "/registry/update-card", bearer, update(first, "{}")); status != http.StatusOK {
		t.Errorf("afterwards: %d %s", status, text)
	}
}

// TestQueuedEventsAreBounded has a client that never reads, and cards that are larger than its queue may hold.
func TestQueuedEventsAreBounded(t *testing.T) {
	p, url := newPlatform(t)
	listen(t, url, "", "") // never reads
	card := `"` + strings.Repeat("x", 4<<20) + `"`
	for range 20 { // 80 MiB
		if status, text := call(p, "POST", "/registry/update-card", bearer, update(first, card)); status != http.StatusOK {
			t.Fatalf("answered %d %s", status, text)
		}
	}
	if queued := p.Queued(); queued > dev.MaxQueuedBytes || queued == 0 {
		t.Errorf("%d bytes wait", queued)
	}
	p.Close()
	deadline := time.Now().Add(deadline)
	for p.Queued() != 0 && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if queued := p.Queued(); queued != 0 {
		t.Errorf("%d bytes wait for clients that have gone", queued)
	}
}
