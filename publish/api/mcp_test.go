package api_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pannier/publish/api"
	"pannier/publish/mcp"
)

const getMCP = "GET /mcp HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n"

// withMCP is a house whose MCP hosts get streams.
func withMCP(stream func(w http.ResponseWriter, r *http.Request)) *house {
	h := newHouse()
	h.options.Routes = mcp.Routes(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		stream(w, r)
	}))
	return h
}

// TestUnreadMCPStream: a host that never reads holds up no writer, and loses its stream.
func TestUnreadMCPStream(t *testing.T) {
	slowest, ended := make(chan time.Duration, 1), make(chan error, 1)
	h := withMCP(func(w http.ResponseWriter, r *http.Request) {
		var longest time.Duration
		var err error
		for n := 0; err == nil; n++ {
			began := time.Now()
			_, err = fmt.Fprintf(w, "data: %s\n\n", strings.Repeat("x", 1000))
			longest = max(longest, time.Since(began))
		}
		slowest <- longest
		<-r.Context().Done()
		ended <- err
	})
	path, _ := serve(t, h.handler())
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, getMCP)
	if took := <-slowest; took > time.Second {
		t.Errorf("a write took %s", took)
	}
	if err := <-ended; err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("the stream ended with %v", err)
	}
}

// TestMCPStreamLives: comments keep a silent stream alive past the bounds of one exchange, and it ends with the server.
func TestMCPStreamLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := withMCP(func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "data: first\n\n")
			<-r.Context().Done()
		})
		p, stop := servePipes(t.Context(), api.AsOwn(h.handler()))
		conn := p.dial()
		defer conn.Close()
		io.WriteString(conn, getMCP)
		read := bufio.NewReader(conn)
		res, err := http.ReadResponse(read, nil)
		if err != nil || res.Header.Get("X-Accel-Buffering") != "no" || res.Header.Get("Cache-Control") != "no-store" {
			t.Fatal(res, err)
		}
		began, pings := time.Now(), 0
		lines := bufio.NewScanner(res.Body)
		for time.Since(began) < 10*time.Minute && lines.Scan() {
			if lines.Text() == ": ping" {
				pings++
			}
		}
		if pings != 40 {
			t.Errorf("%d comments in %s", pings, time.Since(began))
		}
		go io.Copy(io.Discard, res.Body)
		began = time.Now()
		if err := stop(); err != nil || time.Since(began) > time.Second {
			t.Errorf("the server stops with %v after %s", err, time.Since(began))
		}
	})
}

// TestMCPStreamsAreCounted: they take the places of event streams.
func TestMCPStreamsAreCounted(t *testing.T) {
	const streams = 6
	h := withMCP(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		<-r.Context().Done()
	})
	socket := serveFew(t, 9, h.handler)
	for n := range streams + 1 {
		conn, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		io.WriteString(conn, getMCP)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if n < streams {
			if res.StatusCode != http.StatusOK {
				t.Errorf("stream %d: %s", n, res.Status)
			}
			continue
		}
		text, _ := io.ReadAll(res.Body)
		if res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(text), "too_many_streams") {
			t.Errorf("one more: %s %s", res.Status, text)
		}
	}
}

// TestMCPIsForPrograms: browsers are refused as on every route, and the body is bounded.
func TestMCPIsForPrograms(t *testing.T) {
	h := withMCP(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil {
			w.Header().Set("Content-Type", "text/plain")
			w.WriteHeader(http.StatusRequestEntityTooLarge)
		}
	})
	handler := h.handler()
	if w := ask(handler, "POST", "/mcp", "{}", "Origin", "http://localhost"); w.Code != http.StatusForbidden {
		t.Errorf("a page: %d", w.Code)
	}
	if w := ask(handler, "POST", "/mcp", strings.Repeat("x", 5<<20)); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("5 MB: %d", w.Code)
	}
	if w := ask(handler, "PUT", "/mcp", "{}"); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("another method: %d", w.Code)
	}
}
