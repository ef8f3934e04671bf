package molecule_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestAnswerThatSwitchesTheProtocol hands over the bare connection, which nothing bounds: it is closed, and the request has
// failed. What is behind it is asked again.
func TestAnswerThatSwitchesTheProtocol(t *testing.T) {
	for _, test := range []struct {
		name  string
		o     options
		codes string
	}{
		{"push", options{URL: "http://platform.test"}, ""},
		{"read-back", options{URL: "http://platform.test", ReadBack: true}, ""},
		{"peers", options{URL: "http://platform.test", Peers: true}, "peers_stale info"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mended atomic.Bool
				p := piped(t, test.o, func(c net.Conn) { switches(c, &mended) })
				stop := start(t, offered(p, "a"))
				ask(p)
				pass(time.Second)
				if h := p.Health(); !strings.Contains(h.LastError, "answered 101 Switching Protocols") || !strings.Contains(h.Hint, "another protocol") {
					t.Errorf("health %+v", h)
				}
				if got := codes(p); got != test.codes {
					t.Errorf("conditions %q, want %q", got, test.codes)
				}
				for _, c := range p.Conditions() {
					if !strings.Contains(c.Message, "answered 101 Switching Protocols") {
						t.Errorf("condition %+v", c)
					}
				}
				mended.Store(true)
				pass(time.Minute)
				if h := p.Health(); h.Acknowledged != cardOf("a").Digest || h.LastError != "" {
					t.Errorf("health %+v", h)
				}
				stop()
			})
		})
	}
}

// switches serves a connection: each request gets a 101 and nothing more, or where that is mended the card.
func switches(c net.Conn, mended *atomic.Bool) {
	for buffered := bufio.NewReader(c); ; {
		r, err := http.ReadRequest(buffered)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		if !mended.Load() {
			_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
			_, _ = io.Copy(io.Discard, c)
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 27\r\n\r\n"+`{"agent_card":{"name":"a"}}`)
	}
}

// TestBodyThatOnlyItsClosingEnds is closed when the time of the request is over, whatever the transport does about it.
func TestBodyThatOnlyItsClosingEnds(t *testing.T) {
	for _, test := range []struct {
		code int
		want string
	}{{200, ""}, {500, "push card: the platform answered 500 Internal Server Error"}} {
		synctest.Test(t, func(t *testing.T) {
			p, _ := wired(t, options{}, func(int, *http.Request) (*http.Response, error) {
				body, _ := io.Pipe()
				return &http.Response{StatusCode: test.code, Header: http.Header{}, Body: body}, nil
			})
			p.SetJitter(func(time.Duration) time.Duration { return time.Hour })
			stop := start(t, offered(p, "a"))
			pass(15*time.Second + time.Millisecond)
			if h := p.Health(); h.LastError != test.want || h.Acknowledged.IsZero() == (test.want == "") {
				t.Errorf("health %+v, want the error %q", h, test.want)
			}
			stop()
		})
	}
}
