package molecule_test

import (
	"bufio"
	"context"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"pannier"
)

// visits tells of each request that a server gets; it has room for more than any test makes.
type visits chan string

func newVisits() visits { return make(visits, 100) }

func (v visits) await(t *testing.T) string {
	t.Helper()
	select {
	case body := <-v:
		return body
	case <-time.After(30 * time.Second):
		t.Fatal("no request came")
		return ""
	}
}

// serve starts a server that tells of each request before it answers.
func serve(t *testing.T, v visits, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		v <- string(body)
		h(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// tries tells of each line that is logged, which each try ends with once the health is up to date.
type tries chan struct{}

func (c tries) Write(line []byte) (int, error) {
	select {
	case c <- struct{}{}:
	default:
	}
	return len(line), nil
}

// healthAfterOne lets a publisher with these options make its first try and returns the health after it.
func healthAfterOne(t *testing.T, o options) pannier.PushHealth {
	t.Helper()
	ended := make(tries, 1)
	o.Logger = hclog.New(&hclog.LoggerOptions{Output: ended, Level: hclog.Debug})
	p := newPublisher(t, o)
	stop := start(t, p)
	defer stop()
	p.Offer(cardOf("a"))
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Fatal("no try ended")
	}
	return p.Health()
}

func TestRequestOnTheWire(t *testing.T) {
	e, v := newEvents(), newVisits()
	var got http.Header
	var path string
	s := serve(t, v, func(w http.ResponseWriter, r *http.Request) {
		got, path = r.Header.Clone(), r.URL.Path
		_, _ = io.WriteString(w, `{"status":"updated"}`)
	})
	p := newPublisher(t, options{
		URL: s.URL + "/base/", Emit: e.emit,
		Header: http.Header{"x-molecule-org-id": {"org-1"}, "content-type": {"text/plain"}},
		Token:  func() (string, error) { return "secret-token", nil },
	})
	stop := start(t, p)
	p.Offer(cardOf("a"))
	e.await(t)
	stop()
	if body := v.await(t); body != `{"workspace_id":"`+workspaceID+`","agent_card":{"name":"a"}}` {
		t.Errorf("body %s", body)
	}
	for name, want := range map[string]string{
		"Authorization": "Bearer secret-token", "Content-Type": "application/json", "X-Molecule-Org-Id": "org-1",
	} {
		if values := got.Values(name); len(values) != 1 || values[0] != want {
			t.Errorf("%s is %q, want %q", name, values, want)
		}
	}
	if path != "/base/registry/update-card" {
		t.Errorf("path %q", path)
	}
}

func TestRedirectToTheSameHostIsFollowed(t *testing.T) {
	for _, status := range []int{307, 308} {
		e, v := newEvents(), newVisits()
		s := serve(t, v, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/moved" {
				http.Redirect(w, r, "/moved?x=1", status)
			}
		})
		p := newPublisher(t, options{URL: s.URL, Emit: e.emit})
		stop := start(t, p)
		p.Offer(cardOf("a"))
		if kind, push := e.await(t); kind != pannier.EventCardPushed {
			t.Errorf("%d: event %v %+v", status, kind, push)
		}
		stop()
		if first, second := v.await(t), v.await(t); first != second || first == "" {
			t.Errorf("%d: body %q, then %q", status, first, second)
		}
	}
}

func TestRedirectsThatAreNotFollowed(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the other host was called")
	}))
	t.Cleanup(other.Close)
	otherHost := strings.TrimPrefix(other.URL, "http://")
	for _, test := range []struct {
		name     string
		status   int
		location string
		want     string
	}{
		{"other host", 307, "http://user:pass@" + otherHost + "/x?token=1#f", "push card: the platform answered 307 and pointed to " + other.URL + "/x"},
		{"other scheme", 308, "https://" + otherHost + "/x", "push card: the platform answered 308 and pointed to https://" + otherHost + "/x"},
		{"other method", 303, "/login?secret=1", "/login"},
		{"endless", 307, "/registry/update-card", "itself again and again"},
		{"not a URL", 307, "http://user:pass@[", "an address that cannot be read"},
		{"nowhere", 307, "", "push card: the platform answered 307 Temporary Redirect"},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := newVisits()
			s := serve(t, v, func(w http.ResponseWriter, _ *http.Request) {
				if test.location != "" {
					w.Header().Set("Location", test.location)
				}
				w.WriteHeader(test.status)
			})
			h := healthAfterOne(t, options{URL: s.URL})
			if !strings.HasSuffix(h.LastError, test.want) {
				t.Errorf("error %q, want %q at its end", h.LastError, test.want)
			}
			for _, secret := range []string{"user", "pass", "token=", "secret="} {
				if strings.Contains(h.LastError, secret) {
					t.Errorf("error %q tells %q", h.LastError, secret)
				}
			}
		})
	}
}

func TestTooLargeCardIsExplained(t *testing.T) {
	v := newVisits()
	s := serve(t, v, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	})
	h := healthAfterOne(t, options{URL: s.URL})
	if !h.Blocked || !strings.Contains(h.Hint, "shorten") {
		t.Errorf("health %+v", h)
	}
}

func TestResetConnection(t *testing.T) {
	v := newVisits()
	s := serve(t, v, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_ = conn.(*net.TCPConn).SetLinger(0) // so that Close resets
		_ = conn.Close()
	})
	h := healthAfterOne(t, options{URL: s.URL})
	if h.LastError == "" || h.Blocked || !h.Acknowledged.IsZero() {
		t.Errorf("health %+v, want an error that is tried again", h)
	}
}

func TestOwnAuthority(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.Config.ErrorLog = hclog.NewNullLogger().StandardLogger(nil)
	s.StartTLS()
	t.Cleanup(s.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(ca, cert, 0o600); err != nil {
		t.Fatal(err)
	}
	h := healthAfterOne(t, options{URL: s.URL, CAFile: ca})
	if h.Acknowledged != h.Desired {
		t.Errorf("health with the CA file: %+v", h)
	}

	if h := healthAfterOne(t, options{URL: s.URL}); !strings.Contains(h.LastError, "certificate") || !strings.Contains(h.Hint, "ca_file") {
		t.Errorf("health without the CA file: %+v", h)
	}
}

// TestPlatformThatStartsLater: however many cards were offered while it was down, it gets the newest, once.
func TestPlatformThatStartsLater(t *testing.T) {
	e, v := newEvents(), newVisits()
	s := serve(t, v, func(http.ResponseWriter, *http.Request) {})
	p := newPublisher(t, options{URL: s.URL, Emit: e.emit})
	var up atomic.Bool
	refused := make(chan struct{}, 1000)
	p.SetDial(func(ctx context.Context, network, addr string) (net.Conn, error) {
		if !up.Load() {
			refused <- struct{}{}
			return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
		}
		var d net.Dialer
		return d.DialContext(ctx, network, addr)
	})
	p.SetJitter(func(most time.Duration) time.Duration { return min(most, 10*time.Millisecond) })
	stop := start(t, p)
	for _, name := range []string{"a", "b", "c"} {
		p.Offer(cardOf(name))
		<-refused
	}
	up.Store(true)
	if kind, push := e.await(t); kind != pannier.EventCardPushed || push.Digest != cardOf("c").Digest {
		t.Errorf("event %v %+v", kind, push)
	}
	stop()
	if body := v.await(t); !strings.Contains(body, `{"name":"c"}`) || len(v) != 0 {
		t.Errorf("the platform got %s and %d more", body, len(v))
	}
}

// piped returns a publisher whose connections are pipes that serve gets the far end of, for use in a bubble.
func piped(t *testing.T, o options, serve func(net.Conn)) *publisher {
	t.Helper()
	p := newPublisher(t, o)
	var served sync.WaitGroup
	t.Cleanup(served.Wait)
	p.SetDial(func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		served.Go(func() {
			defer far.Close()
			serve(far)
		})
		return near, nil
	})
	return p
}

func TestServersThatHang(t *testing.T) {
	readRequest := func(c net.Conn) {
		r, err := http.ReadRequest(bufio.NewReader(c))
		if err == nil {
			_, _ = io.Copy(io.Discard, r.Body)
		}
	}
	untilClosed := func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }
	trickle := func(head string) func(net.Conn) {
		return func(c net.Conn) {
			readRequest(c)
			_, err := io.WriteString(c, head)
			for err == nil {
				pass(time.Second)
				_, err = c.Write([]byte(" "))
			}
		}
	}
	for _, test := range []struct {
		name, url string
		serve     func(net.Conn)
		ends      time.Duration
		want      string // in the error; empty for a success
	}{
		{"no handshake", "https://platform.test", untilClosed, 5 * time.Second, "TLS handshake timeout"},
		{"no answer", "http://platform.test", func(c net.Conn) { readRequest(c); untilClosed(c) }, 10 * time.Second, "timeout awaiting response headers"},
		{"head without end", "http://platform.test", trickle("HTTP/1.1 200 OK\r\nX-Slow:"), 10 * time.Second, "timeout awaiting response headers"},
		{"error without end", "http://platform.test", trickle("HTTP/1.1 500 Oops\r\nContent-Length: 99\r\n\r\n"), 15 * time.Second, "answered 500"},
		{"success without end", "http://platform.test", trickle("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"), 15 * time.Second, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := piped(t, options{URL: test.url}, test.serve)
				p.SetJitter(func(time.Duration) time.Duration { return time.Hour })
				stop := start(t, p)
				p.Offer(cardOf("a"))
				pass(test.ends - time.Millisecond)
				if h := p.Health(); h.LastError != "" || !h.Acknowledged.IsZero() {
					t.Errorf("ended too early: %+v", h)
				}
				pass(2 * time.Millisecond)
				h := p.Health()
				if acked := !h.Acknowledged.IsZero(); acked != (test.want == "") || !strings.Contains(h.LastError, test.want) {
					t.Errorf("health %+v, want an error with %q", h, test.want)
				}
				stop()
			})
		})
	}
}

func TestLargeAnswerIsNotReadToItsEnd(t *testing.T) {
	v := newVisits()
	s := serve(t, v, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		chunk := make([]byte, 64<<10)
		for {
			if _, err := w.Write(chunk); err != nil {
				return // only the client ends it
			}
		}
	})
	h := healthAfterOne(t, options{URL: s.URL})
	if !h.Blocked || h.LastError != "push card: the platform answered 400 Bad Request" {
		t.Errorf("health %+v", h)
	}
}
