package api_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"pannier/publish/api"
)

// The tests in this file run on a clock of their own, over pipes.

// pipes is a listener of connections within the process.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

// dial returns the caller's end of a new connection.
func (p *pipes) dial() net.Conn {
	here, there := net.Pipe()
	p.conns <- there
	return here
}

// servePipes runs a handler; stop ends it and returns what it says.
func servePipes(ctx context.Context, h http.Handler) (p *pipes, stop func() error) {
	p = newPipes()
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- api.Serve(ctx, p, h, hclog.NewNullLogger()) }()
	return p, func() error {
		cancel()
		return <-ended
	}
}

// TestSlowCaller loses its connection after a time, whatever it is slow at.
func TestSlowCaller(t *testing.T) {
	for _, tt := range []struct {
		name, sends string
		after       time.Duration
	}{
		{"says nothing", "", 5 * time.Second},
		{"half a header", "GET / HTTP/1.1\r\nHost: p", 5 * time.Second},
		{"half a body", "POST / HTTP/1.1\r\nHost: p\r\nContent-Length: 9\r\n\r\nhalf", 30 * time.Second},
		{"stays after its answer", "GET / HTTP/1.1\r\nHost: p\r\n\r\n", 2 * time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, stop := servePipes(t.Context(), http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) }))
				conn := p.dial()
				start := time.Now()
				go io.WriteString(conn, tt.sends)
				io.Copy(io.Discard, conn)
				if took := time.Since(start); took != tt.after {
					t.Errorf("cut after %v", took)
				}
				conn.Close()
				if err := stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestSlowReader does not hold a handler for ever.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := make(chan error, 1)
		p, stop := servePipes(t.Context(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, err := io.WriteString(w, strings.Repeat("x", 1<<20))
			failed <- err
		}))
		conn := p.dial()
		start := time.Now()
		io.WriteString(conn, "GET / HTTP/1.1\r\nHost: p\r\n\r\n")
		if err := <-failed; err == nil || time.Since(start) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		conn.Close()
		stop()
	})
}

func TestHeaderTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, stop := servePipes(t.Context(), http.NotFoundHandler())
		conn := p.dial()
		go io.WriteString(conn, "GET / HTTP/1.1\r\nHost: p\r\nX: "+strings.Repeat("x", 64<<10)+"\r\n\r\n")
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("%v %v", res, err)
		}
		conn.Close()
		stop()
	})
}

// request starts a request on a connection of its own. answer gives what came of it.
func request(p *pipes) (answer func() (string, error)) {
	conn := p.dial()
	type outcome struct {
		text string
		err  error
	}
	came := make(chan outcome, 1)
	go func() {
		defer conn.Close()
		io.WriteString(conn, "GET / HTTP/1.1\r\nHost: p\r\n\r\n")
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			came <- outcome{"", err}
			return
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		came <- outcome{string(text), err}
	}()
	return func() (string, error) {
		o := <-came
		return o.text, o.err
	}
}

func TestStopLetsARequestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goOn := make(chan struct{})
		p, stop := servePipes(t.Context(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			<-goOn
			if r.Context().Err() != nil {
				t.Error("the context of a request under way is done")
			}
			io.WriteString(w, "late")
		}))
		answer := request(p)
		synctest.Wait()
		stopped := make(chan error, 1)
		go func() { stopped <- stop() }()
		synctest.Wait()
		close(goOn)
		if text, err := answer(); text != "late" || err != nil {
			t.Errorf("%q %v", text, err)
		}
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}

// TestStopCutsARequest that hangs: the caller loses its connection, and the handler learns of it.
func TestStopCutsARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		learned := make(chan struct{})
		p, stop := servePipes(t.Context(), http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			close(learned)
			panic(http.ErrAbortHandler)
		}))
		answer := request(p)
		synctest.Wait()
		start := time.Now()
		if err := stop(); err != nil || time.Since(start) != 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		<-learned
		if text, err := answer(); err == nil {
			t.Errorf("an answer: %q", text)
		}
	})
}
