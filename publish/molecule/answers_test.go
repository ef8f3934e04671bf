package molecule_test

import (
	"errors"
	"io"
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
	"pannier/publish/molecule"
)

// What can follow an answer.
const (
	done  = "nothing, the platform has the card"
	retry = "another try after a backoff"
	once  = "another try at once, then slow ones"
	slow  = "slow tries"
	never = "no try before the card changes, but now and then"
)

// follows pushes a card to a real server and returns what follows the answer, by the wait that is asked for.
func follows(t *testing.T, o options, requests *atomic.Int32) (string, pannier.PushHealth) {
	t.Helper()
	told, waits := make(tries, 1), make(chan time.Duration, 100)
	o.Logger = hclog.New(&hclog.LoggerOptions{Output: told, Level: hclog.Debug, Exclude: func(_ hclog.Level, message string, _ ...any) bool {
		return !strings.HasPrefix(message, "card ")
	}})
	p := newPublisher(t, o)
	p.SetJitter(func(most time.Duration) time.Duration {
		waits <- most
		return most
	})
	stop := start(t, offered(p, "a"))
	defer stop()
	late := time.After(30 * time.Second)
	select {
	case <-told:
	case <-late:
		t.Fatal("no try ended")
	}
	if h := p.Health(); h.Acknowledged == h.Desired && h.LastError == "" {
		return done, h
	} else if h.Blocked {
		return never, h
	}
	for {
		select {
		case most := <-waits:
			switch {
			case most == backoffBase:
				return retry, p.Health()
			case most == slowSpread && requests.Load() > 1:
				return once, p.Health()
			case most == slowSpread:
				return slow, p.Health()
			}
		case <-late:
			t.Fatal("nothing follows")
		}
	}
}

// TestAnswers holds every class of answer against what follows it, on a real server.
func TestAnswers(t *testing.T) {
	inAMoment := func() string { return time.Now().Add(2 * time.Second).UTC().Format(http.TimeFormat) }
	for _, test := range []struct {
		name    string
		answer  http.HandlerFunc
		follows string
		message string // in the error
		hint    string
	}{
		{"200", status(200, `{"status":"updated"}`), done, "", ""},
		{"200 without a body", status(200, ""), done, "", ""},
		{"200 with a page", status(200, "<html>"), done, "", ""},
		{"201", status(201, ""), done, "", ""},
		{"204", status(204, ""), done, "", ""},
		{"301 to the same host", status(301, "", "Location", "/moved"), slow, "301", "url"},
		{"301 to another host", status(301, "", "Location", "http://other.test/x"), slow, "pointed to http://other.test/x", "url"},
		{"304", status(304, ""), slow, "304", "url"},
		{"307 to another host", status(307, "", "Location", "http://other.test/x"), slow, "pointed to http://other.test/x", "url"},
		{"400", status(400, `{"error":"invalid request body"}`), never, "400 Bad Request: invalid request body", "workspace id"},
		{"401", status(401, `{"error":"invalid workspace auth token"}`), once, "401 Unauthorized: invalid workspace auth token", "token file"},
		{"403", status(403, ""), once, "403", "token file"},
		{"404", status(404, ""), slow, "404", "X-Molecule-Org-Id"},
		{"405", status(405, ""), slow, "405", "url"},
		{"408", status(408, ""), retry, "408", "overloaded"},
		{"407", status(407, ""), slow, "407", "HTTP_PROXY"},
		{"409", status(409, ""), slow, "409", "something else wrote"},
		{"412", status(412, ""), slow, "412", "something else wrote"},
		{"413", status(413, ""), never, "413", "shorten"},
		{"422", status(422, ""), never, "422", "workspace id"},
		{"425", status(425, ""), retry, "425", "requests"},
		{"429", status(429, `{"error":"rate limit exceeded","retry_after":48}`), retry, "429 Too Many Requests: rate limit exceeded", "requests"},
		{"429 with seconds", status(429, "", "Retry-After", "1"), retry, "429", "requests"},
		{"429 with a date", status(429, "", "Retry-After", inAMoment()), retry, "429", "requests"},
		{"429 with nonsense", status(429, "", "Retry-After", "soon"), retry, "429", "requests"},
		{"500", status(500, `{"error":"failed to update card"}`), retry, "500 Internal Server Error: failed to update card", "log"},
		{"501", status(501, ""), retry, "501", "log"},
		{"502 with a page", status(502, "<html><script>alert(1)</script></html>"), retry, "push card: the platform answered 502 Bad Gateway", "log"},
		{"503", status(503, "", "Retry-After", "1"), retry, "503", "log"},
		{"504", status(504, ""), retry, "504", "log"},
		{"599", status(599, ""), retry, "599", "log"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				_, _ = io.Copy(io.Discard, r.Body)
				test.answer(w, r)
			}))
			t.Cleanup(s.Close)
			got, h := follows(t, options{URL: s.URL, Token: func() (string, error) { return token, nil }}, &requests)
			if got != test.follows {
				t.Errorf("what follows is %s, want %s", got, test.follows)
			}
			if !strings.HasSuffix(h.LastError, test.message) && !strings.Contains(h.LastError, test.message) || strings.Contains(h.LastError, "<") {
				t.Errorf("error %q, want %q", h.LastError, test.message)
			}
			if !strings.Contains(h.Hint, test.hint) || (h.Hint == "") != (h.LastError == "") {
				t.Errorf("hint %q does not speak of %q", h.Hint, test.hint)
			}
		})
	}
}

// TestAcceptedForNobody: the platform answers 200 for a workspace that it does not know, and only reading back tells.
func TestAcceptedForNobody(t *testing.T) {
	var requests atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			status(404, `{"error":"workspace not found"}`)(w, r)
			return
		}
		requests.Add(1)
		status(200, `{"status":"updated"}`)(w, r)
	}))
	t.Cleanup(s.Close)
	e := newEvents()
	got, h := follows(t, options{URL: s.URL, ReadBack: true, Emit: e.emit}, &requests)
	if got != slow || !strings.Contains(h.LastError, "has not stored it: workspace not found") || !strings.Contains(h.Hint, "workspace id") {
		t.Errorf("%s, %+v", got, h)
	}
	if kind, push := e.await(t); kind != pannier.EventCardRejected || push.Platform != s.URL+molecule.DefaultPath || push.Error == "" {
		t.Errorf("event %v %+v", kind, push)
	}
}

// raw is a server that does with each connection what it is told, below HTTP.
func raw(t *testing.T, requests *atomic.Int32, serve func(net.Conn)) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := ln.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			requests.Add(1)
			serving.Go(func() {
				defer conn.Close()
				serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		serving.Wait()
	})
	return "http://" + ln.Addr().String()
}

// answered reads a request and writes the head of an answer, and what there is of a body.
func answered(conn net.Conn, text string) {
	buf := make([]byte, 64<<10)
	_, _ = conn.Read(buf)
	_, _ = io.WriteString(conn, text)
}

func reset(conn net.Conn) { _ = conn.(*net.TCPConn).SetLinger(0) } // so that Close resets

// TestConnectionsThatBreak: what is said before counts, and what is not said is tried again.
func TestConnectionsThatBreak(t *testing.T) {
	for _, test := range []struct {
		name    string
		serve   func(net.Conn)
		follows string
		message string
	}{
		{"closes at once", func(net.Conn) {}, retry, "push card: "},
		{"resets at once", reset, retry, "push card: "},
		{"closes before the answer", func(c net.Conn) { answered(c, "") }, retry, "EOF"},
		{"resets in the head", func(c net.Conn) { answered(c, "HTTP/1.1 200 OK\r\nX-A: "); reset(c) }, retry, "push card: "},
		{"no HTTP", func(c net.Conn) { answered(c, "SSH-2.0-OpenSSH_9.2\r\n\r\n") }, retry, "malformed"},
		{"resets in the body of a 200", func(c net.Conn) { answered(c, "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"); reset(c) }, done, ""},
		{"resets in the body of a 500", func(c net.Conn) { answered(c, "HTTP/1.1 500 Oops\r\nContent-Length: 99\r\n\r\n{"); reset(c) }, retry, "500"},
		{"closes in a chunk of a 400", func(c net.Conn) { answered(c, "HTTP/1.1 400 No\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{") }, never, "400"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			got, h := follows(t, options{URL: raw(t, &requests, test.serve)}, &requests)
			if got != test.follows || !strings.Contains(h.LastError, test.message) {
				t.Errorf("%s, %+v; want %s", got, h, test.follows)
			}
		})
	}
	t.Run("refuses", func(t *testing.T) {
		var requests atomic.Int32
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_ = ln.Close()
		got, h := follows(t, options{URL: "http://" + ln.Addr().String()}, &requests)
		if got != retry || !strings.Contains(h.LastError, "refused") {
			t.Errorf("%s, %+v", got, h)
		}
	})
}
