package molecule_test

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"pannier"
)

// relay passes connections on to a server. Those from before a silence stay open, and pass nothing on any more.
type relay struct {
	to       string
	silences atomic.Int32
	conns    atomic.Int32
}

func (r *relay) serve(near net.Conn) {
	far, err := net.Dial("tcp", r.to)
	if err != nil {
		return
	}
	defer far.Close()
	silent := r.silences.Load()
	var back sync.WaitGroup
	defer back.Wait()
	back.Go(func() { r.pass(near, far, silent) })
	r.pass(far, near, silent)
}

// pass copies until one side closes, which closes the other.
func (r *relay) pass(to, from net.Conn, silent int32) {
	defer to.Close()
	for buf := make([]byte, 32<<10); ; {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if r.silences.Load() == silent {
			_, _ = to.Write(buf[:n])
		}
	}
}

// TestConnectionThatFallsSilent carries many requests with HTTP/2, and is in use as long as it is open. One that gives no sign
// of life is left, so that the next card does not go where those before it were lost.
func TestConnectionThatFallsSilent(t *testing.T) {
	a := newAuthority(t)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("the request is of %s", r.Proto)
		}
	}))
	s.Config.ErrorLog = hclog.NewNullLogger().StandardLogger(nil)
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{Certificates: []tls.Certificate{a.certificate(t, time.Now().Add(time.Hour))}}
	s.StartTLS()
	t.Cleanup(s.Close)
	between := &relay{to: s.Listener.Addr().String()}
	url := strings.Replace(raw(t, &between.conns, between.serve), "http", "https", 1)
	t.Cleanup(s.CloseClientConnections) // one that was not idle yet when Run ended would be kept for its idle time

	logs, e := &buffer{}, newEvents()
	p := newPublisher(t, options{URL: url, CAFile: a.file(t), Emit: e.emit, Logger: hclog.New(&hclog.LoggerOptions{Output: logs, Level: hclog.Debug})})
	p.SetSilence(100*time.Millisecond, 2*time.Second, 300*time.Millisecond)
	p.SetJitter(func(most time.Duration) time.Duration { return min(most, 10*time.Millisecond) })
	stop := start(t, p)
	for _, name := range []string{"a", "b"} {
		p.Offer(cardOf(name))
		if kind, push := e.await(t); kind != pannier.EventCardPushed || push.Digest != cardOf(name).Digest {
			t.Fatalf("event %v %+v", kind, push)
		}
		between.silences.CompareAndSwap(0, 1) // after the first
	}
	stop()
	if got := between.conns.Load(); got != 2 || !strings.Contains(logs.String(), "timeout awaiting response headers") {
		t.Errorf("%d connections, and the log\n%s", got, logs)
	}
}
