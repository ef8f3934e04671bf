package api_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"

	"pannier"
	"pannier/publish/api"
	"pannier/service"
)

// serve runs a handler on a socket until the test ends, or stop is called, which waits for it.
func serve(tb testing.TB, h http.Handler) (path string, stop func() error) {
	tb.Helper()
	path = socketPath(tb)
	l, err := api.Listen(context.Background(), path, 0o600)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- api.Serve(ctx, l, h, hclog.NewNullLogger()) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	tb.Cleanup(func() { stop() })
	return path, stop
}

// caller is an HTTP client of a socket.
func caller(tb testing.TB, path string) *http.Client {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}}
	tb.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: deadline}
}

func get(tb testing.TB, c *http.Client, target string) (int, string) {
	tb.Helper()
	res, err := c.Get("http://pannier" + target)
	if err != nil {
		tb.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return res.StatusCode, string(body)
}

func TestPeer(t *testing.T) {
	type answer struct {
		peer  service.Caller
		known bool
	}
	seen := make(chan answer, 1)
	h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		peer, known := service.CallerFrom(r.Context())
		seen <- answer{peer, known}
	})
	path, _ := serve(t, h)
	get(t, caller(t, path), "/")
	if got, want := <-seen, (answer{service.Caller{UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}, true}); got != want {
		t.Errorf("over the socket: %+v", got)
	}
	ask(h, "GET", "/", "")
	if got := <-seen; got != (answer{}) {
		t.Errorf("within the process: %+v", got)
	}
}

// TestUnknownPeer refuses who comes by another way than a unix socket.
func TestUnknownPeer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- api.Serve(ctx, l, newHouse().handler(), hclog.NewNullLogger()) }()
	c := &http.Client{Transport: &http.Transport{}, Timeout: deadline}
	for _, target := range []string{"/v1/skills", "/readyz", "/metrics", "/nope"} {
		res, err := c.Get("http://" + l.Addr().String() + target)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != http.StatusForbidden || !strings.Contains(string(body), `"peer_unknown"`) {
			t.Errorf("%s: %d %s", target, res.StatusCode, body)
		}
	}
	c.CloseIdleConnections()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestServeStops(t *testing.T) {
	path, stop := serve(t, newHouse().handler())
	c := caller(t, path)
	if status, _ := get(t, c, "/readyz"); status != http.StatusOK {
		t.Errorf("status %d", status)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	checkEmpty(t, path)
}

// TestServeAfterStop ends at once where ctx is done already, and still closes the listener.
func TestServeAfterStop(t *testing.T) {
	path := socketPath(t)
	l := listen(t, path)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := api.Serve(ctx, l, http.NotFoundHandler(), hclog.NewNullLogger()); err != nil {
		t.Error(err)
	}
	checkEmpty(t, path)
}

// TestListenerFails tells what ended it, and cuts who is connected.
func TestListenerFails(t *testing.T) {
	path := socketPath(t)
	l := listen(t, path)
	ended := make(chan error, 1)
	go func() { ended <- api.Serve(context.Background(), l, newHouse().handler(), hclog.NewNullLogger()) }()
	get(t, caller(t, path), "/readyz") // and stays connected
	l.Close()
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

// TestPanic costs one request its answer, and is told.
func TestPanic(t *testing.T) {
	path := socketPath(t)
	l := listen(t, path)
	ctx, cancel := context.WithCancel(t.Context())
	var log bytes.Buffer
	ended := make(chan error, 1)
	h := newHouse()
	h.options.Health = func() pannier.Health { panic("a fault in a handler") }
	go func() { ended <- api.Serve(ctx, l, h.handler(), hclog.New(&hclog.LoggerOptions{Output: &log})) }()
	c := caller(t, path)
	if _, err := c.Get("http://pannier/v1/health"); err == nil {
		t.Error("no error")
	}
	if status, _ := get(t, c, "/readyz"); status != http.StatusOK {
		t.Errorf("afterwards: %d", status)
	}
	cancel()
	<-ended
	if text := log.String(); !strings.Contains(text, "[WARN]") || !strings.Contains(text, "a fault in a handler") {
		t.Errorf("log: %s", text)
	}
}

// TestManyRequests asks all at once, while snapshots follow one another.
func TestManyRequests(t *testing.T) {
	h := newHouse()
	targets := []string{
		"/v1/skills", "/v1/skills/alpha", "/v1/skills/alpha/content", "/v1/prompt", "/v1/card", "/v1/health", "/readyz",
		"/v1/skills/nope", "/nope",
	}
	path, _ := serve(t, h.handler())
	c := caller(t, path)
	var wg sync.WaitGroup
	for i := range 1000 {
		wg.Go(func() {
			target := targets[i%len(targets)]
			res, err := c.Get("http://pannier" + target)
			if err != nil {
				t.Error(err)
				return
			}
			defer res.Body.Close()
			_, err = io.Copy(io.Discard, res.Body)
			want := http.StatusOK
			if strings.HasSuffix(target, "nope") {
				want = http.StatusNotFound
			}
			if err != nil || res.StatusCode != want {
				t.Errorf("%s: %d %v", target, res.StatusCode, err)
			}
		})
	}
	wg.Wait()
}

// TestLargeBodyOverSocket is refused without reading all of it, and the connection is not kept for the rest.
func TestLargeBodyOverSocket(t *testing.T) {
	path, _ := serve(t, newHouse().handler())
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var request bytes.Buffer
	req, _ := http.NewRequest("POST", "http://pannier/v1/resolve", strings.NewReader(`{"text":"`+strings.Repeat("x", 1<<20+4096)))
	req.Write(&request)
	go conn.Write(request.Bytes())
	text, err := io.ReadAll(conn) // ends because the connection does
	if !strings.HasPrefix(string(text), "HTTP/1.1 413 ") || !strings.Contains(string(text), "Connection: close") {
		t.Errorf("%v: %.300s", err, text)
	}
}
