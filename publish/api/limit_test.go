package api_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pannier/publish/api"
	"pannier/publish/client"
)

// serveFew serves a handler that is made by a process with few descriptors, and so with so many connections.
func serveFew(t *testing.T, conns uint64, handler func() *api.Handler) (socket string) {
	t.Helper()
	var usual unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &usual); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 2 * conns, Max: usual.Max}); err != nil {
		t.Fatal(err)
	}
	socket, _ = serve(t, handler())
	c := client.New(socket)
	defer c.Close()
	_, err := c.Health(t.Context()) // the limit is taken when serving begins
	// The callers of a test need descriptors too.
	if err := errors.Join(err, unix.Setrlimit(unix.RLIMIT_NOFILE, &usual)); err != nil {
		t.Fatal(err)
	}
	return socket
}

// TestIdleConnectionsLeaveDescriptors holds more connections than a process with few descriptors may give away, and asks
// whether it still has some of its own.
func TestIdleConnectionsLeaveDescriptors(t *testing.T) {
	const limit = 32 // connections
	socket := serveFew(t, limit, newHouse().handler)
	c := client.New(socket)
	t.Cleanup(c.Close)
	var idle []net.Conn
	for range limit + 8 {
		conn, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		idle = append(idle, conn)
	}
	answered := make(chan error, 1)
	go func() {
		_, err := c.Health(t.Context())
		answered <- err
	}()
	for _, conn := range idle {
		conn.Close()
	}
	if err := <-answered; err != nil {
		t.Errorf("who waited for a place got %v", err)
	}
}

// keeping sends a request on a connection of its own, which stays open, and returns the answer without its body.
func keeping(t *testing.T, socket, target string) (*http.Response, net.Conn) {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(deadline)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "GET "+target+" HTTP/1.1\r\nHost: pannier\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%s: %v", target, err)
	}
	return answer, conn
}

// TestKeptConnectionsMakeRoom has callers that keep their connections after one request, most of them behind as many event
// streams as there may be, and whoever comes next answered all the same. The longest idle goes first.
func TestKeptConnectionsMakeRoom(t *testing.T) {
	const limit, streams = 32, 21
	house := newHouse()
	house.options.Events = silent()
	socket := serveFew(t, limit, house.handler)
	_, first := keeping(t, socket, "/livez")
	for i := range 3 * limit {
		if answer, _ := keeping(t, socket, "/livez"); answer.StatusCode != http.StatusOK {
			t.Fatalf("the caller after %d others got %d", i, answer.StatusCode)
		}
	}
	if rest, err := io.ReadAll(first); err != nil {
		t.Errorf("the longest idle connection: %q %v", rest, err)
	}
	for range streams {
		if answer, _ := keeping(t, socket, "/v1/events"); answer.StatusCode != http.StatusOK {
			t.Fatalf("a stream is answered with %d", answer.StatusCode)
		}
	}
	for i := range 3 * limit {
		target := []string{"/livez", "/v1/health", "/v1/events"}[i%3]
		answer, _ := keeping(t, socket, target)
		if full := target == "/v1/events"; full != (answer.StatusCode == http.StatusServiceUnavailable) || full && !answer.Close {
			t.Fatalf("beside the streams, %s: %d, closes %t", target, answer.StatusCode, answer.Close)
		}
	}
}

// TestKeptConnectionIsKept where there is room.
func TestKeptConnectionIsKept(t *testing.T) {
	socket, _ := serve(t, newHouse().handler())
	answer, conn := keeping(t, socket, "/livez")
	if answer.Close {
		t.Error("the answer ends its connection")
	}
	if _, err := io.WriteString(conn, "GET /livez HTTP/1.1\r\nHost: pannier\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if again, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || again.StatusCode != http.StatusOK {
		t.Errorf("again: %v %v", again, err)
	}
}
