package api_test

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"pannier/publish/api"
	"pannier/publish/client"
)

// TestIdleConnectionsLeaveDescriptors holds more connections than a process with few descriptors may give away, and asks
// whether it still has some of its own.
func TestIdleConnectionsLeaveDescriptors(t *testing.T) {
	var usual unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &usual); err != nil {
		t.Fatal(err)
	}
	const limit = 32 // connections
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 2 * limit, Max: usual.Max}); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(shortDir(t), "s")
	ln, err := api.Listen(t.Context(), socket, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- api.Serve(ctx, ln, http.HandlerFunc(newHouse().handler().ServeHTTP), hclog.NewNullLogger())
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	c := client.New(socket)
	t.Cleanup(c.Close)
	if _, err := c.Health(t.Context()); err != nil { // the limit is taken when serving begins
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &usual); err != nil { // the callers of this test need some too
		t.Fatal(err)
	}
	c.Close()
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
