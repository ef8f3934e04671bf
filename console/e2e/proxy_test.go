package e2e_test

import (
	"archive/zip"
	"bytes"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pannier/internal/testbench/fixture"
)

// proxy forwards connections to a socket. It stops a connection after some bytes to the sidecar, until it is cut; later
// connections pass.
type proxy struct {
	socket string
	full   chan struct{} // closed when a connection has reached the limit
	cutNow chan struct{} // closed to end it

	mu    sync.Mutex
	limit int64 // 0 once a connection has reached it
	conns []net.Conn
	ended sync.WaitGroup
}

func startProxy(t *testing.T, to string, limit int64) *proxy {
	t.Helper()
	p := &proxy{socket: filepath.Join(fixture.ShortDir(t), "p"), full: make(chan struct{}), cutNow: make(chan struct{}), limit: limit}
	l, err := net.Listen("unix", p.socket)
	if err != nil {
		t.Fatal(err)
	}
	p.ended.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("unix", to)
			if err != nil {
				in.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, in, out)
			p.mu.Unlock()
			p.ended.Go(func() { p.forward(in, out) })
			p.ended.Go(func() {
				_, _ = io.Copy(in, out)
				in.Close()
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.mu.Lock()
		for _, c := range p.conns {
			c.Close()
		}
		p.mu.Unlock()
		p.ended.Wait()
	})
	return p
}

// forward copies to the sidecar. The connection that reaches the limit waits until it is cut.
func (p *proxy) forward(in, out net.Conn) {
	defer in.Close()
	defer out.Close()
	buf := make([]byte, 32<<10)
	for total := int64(0); ; {
		n, err := in.Read(buf)
		if err != nil {
			return
		}
		total += int64(n)
		p.mu.Lock()
		stop := p.limit > 0 && total > p.limit
		if stop {
			p.limit = 0
		}
		p.mu.Unlock()
		if stop {
			close(p.full)
			<-p.cutNow
			return
		}
		if _, err := out.Write(buf[:n]); err != nil {
			return
		}
	}
}

// awaitFull waits until a connection has reached the limit.
func (p *proxy) awaitFull(t *testing.T) {
	t.Helper()
	select {
	case <-p.full:
		t.Cleanup(func() { p.cut() })
	case <-time.After(fixture.Patience):
		close(p.cutNow)
		t.Fatal("no connection sent as much")
	}
}

// cut ends the connection that waits.
func (p *proxy) cut() {
	select {
	case <-p.cutNow:
	default:
		close(p.cutNow)
	}
}

// zipOf returns a zip with a skill and a file with these contents.
func zipOf(t *testing.T, name string, contents io.Reader) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, f := range []struct {
		name string
		from io.Reader
	}{{"SKILL.md", strings.NewReader("---\nname: " + name + "\ndescription: x\n---\nText.\n")}, {"data.bin", contents}} {
		w, err := z.Create(name + "/" + f.name)
		if err == nil {
			_, err = io.Copy(w, f.from)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
