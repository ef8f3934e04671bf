package e2e_test

import (
	"io"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"pannier/internal/testbench/browser"
	"pannier/internal/testbench/fixture"
)

// cutter forwards connections, and cuts those that are open once so many bytes have gone to the server.
type cutter struct {
	net.Listener
	to    string
	after int64
	sent  atomic.Int64
	cut   atomic.Bool

	mu    sync.Mutex
	conns []net.Conn
}

func newCutter(t *testing.T, to string, after int64) *cutter {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{Listener: ln, to: to, after: after}
	var served sync.WaitGroup
	served.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			served.Go(func() { c.forward(conn) })
		}
	})
	t.Cleanup(func() {
		ln.Close()
		c.end()
		served.Wait()
	})
	return c
}

// end closes what is open.
func (c *cutter) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		conn.Close()
	}
	c.conns = nil
}

func (c *cutter) forward(conn net.Conn) {
	defer conn.Close()
	server, err := net.Dial("tcp", c.to)
	if err != nil {
		return
	}
	defer server.Close()
	c.mu.Lock()
	c.conns = append(c.conns, conn, server)
	c.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(conn, server) // it ends with the connection
		conn.Close()
	})
	_, _ = io.Copy(io.MultiWriter(server, c), conn) // as above
	server.Close()
	both.Wait()
}

// Write counts what has been sent.
func (c *cutter) Write(b []byte) (int, error) {
	if c.sent.Add(int64(len(b))) > c.after && c.cut.CompareAndSwap(false, true) {
		c.end()
	}
	return len(b), nil
}

// TestUploadResumes after its connection was cut in the middle, without sending again what has arrived.
func TestUploadResumes(t *testing.T) {
	b := browser.Start(t)
	dir := t.TempDir()
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	fixture.WriteIn(t, dir, program+" token ann write --append tokens > ann")
	w := newWorld(t, "--api-listen", "127.0.0.1:0", "--api-tokens", dir+"/tokens")
	const size = 12 << 20
	c := newCutter(t, w.apiAddress(t), size/2)
	p := w.open(t, b, "--socket", "", "--url", "http://"+c.Addr().String(), "--token-file", filepath.Join(dir, "ann"))
	p.Drop(t, folder(t, "large", "Has a large file.", "for f in a b; do head -c 6291456 /dev/urandom > skills/large/$f.bin; done"))
	p.ClickText(t, "Install 1 skill")
	p.WaitText(t, "On the card")
	if !c.cut.Load() {
		t.Error("the connection was not cut")
	}
	if sent := c.sent.Load(); sent < size || sent > size*4/3 {
		t.Errorf("%d bytes were sent for a file of %d", sent, size)
	}
	skill, err := w.Skill(t.Context(), "large", "")
	if err != nil || !skill.Usable {
		t.Errorf("%+v %v", skill.Entry, err)
	}
}
