package molecule_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/hashicorp/go-hclog"

	"pannier/publish/molecule"
)

func longest(most time.Duration) time.Duration { return most }

// TestCardThatIsReplacedIsPushedAgain at once, and not at the next check.
func TestCardThatIsReplacedIsPushedAgain(t *testing.T) {
	for _, readBack := range []bool{true, false} {
		t.Run(fmt.Sprintf("read back %v", readBack), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLive(t)
				p := on(t, l, options{Events: true, ReadBack: readBack})
				stop := start(t, offered(p, "a"))
				pass(10 * time.Second)
				if l.count(pushCall) != 1 || codes(p) != "" {
					t.Fatalf("after the start: %s", codes(p))
				}
				l.restart(t, `{"name":"boot"}`)
				synctest.Wait()
				l.holds(t, `{"name":"a"}`)
				pass(10 * time.Minute)
				l.replace(t, `{"name":"other"}`)
				synctest.Wait()
				l.holds(t, `{"name":"a"}`)
				if n := l.count(pushCall); n != 2 || l.count(wsCall) != 1 || codes(p) != "" {
					t.Errorf("%d pushes, %s", n, codes(p))
				}
				l.replace(t, `{"name":"a","theirs":1}`) // which has all of ours
				pass(time.Minute)
				if n := l.count(pushCall); n != 0 {
					t.Errorf("%d pushes for a card that is ours", n)
				}
				stop()
			})
		})
	}
}

// TestOnlineWithoutCardIsLookedAt: an agent that is back by a heartbeat names no card.
func TestOnlineWithoutCardIsLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLive(t)
		l.set(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/ws" {
				stream(t, w, r, 30*time.Second, `{"event":"WORKSPACE_ONLINE","workspace_id":"`+strings.ToUpper(workspaceID)+`","payload":{"recovered_from":"offline"}}`)
			}
		})
		p := on(t, l, options{Events: true, ReadBack: true})
		stop := start(t, offered(p, "a"))
		pass(20 * time.Second)
		l.count(readCall)
		pass(20 * time.Second)
		if looked := l.count(readCall); looked != 1 || l.count(pushCall) != 1 {
			t.Errorf("looked %d times", looked)
		}
		stop()
	})
}

// stream is a platform's event stream that after a while sends some frames, and then says nothing more.
func stream(t *testing.T, w http.ResponseWriter, r *http.Request, after time.Duration, frames ...string) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.CloseNow()
	pass(after)
	for _, frame := range frames {
		if conn.Write(r.Context(), websocket.MessageText, []byte(frame)) != nil {
			return
		}
	}
	_, _, _ = conn.Read(context.Background())
}

// TestWhatHappenedWhileTheStreamWasAway was not told, so it is read when the stream is back.
func TestWhatHappenedWhileTheStreamWasAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLive(t)
		p := on(t, l, options{Events: true, Peers: true, ReadBack: true})
		stop := start(t, offered(p, "a"))
		pass(10 * time.Second)
		l.down()
		l.restart(t, `{"name":"boot"}`)
		l.join(t, peerA, `{"name":"Echo"}`)
		pass(30 * time.Second)
		l.holds(t, `{"name":"boot"}`)
		if got := codes(p); got != "platform_events_lost info" || ids(p.Peers()) != "" {
			t.Errorf("while it is away: %s, peers %s", got, ids(p.Peers()))
		}
		l.up(t)
		pass(35 * time.Second)
		l.holds(t, `{"name":"a"}`)
		if got := codes(p); got != "" || ids(p.Peers()) != peerA {
			t.Errorf("once it is back: %s, peers %s", got, ids(p.Peers()))
		}
		stop()
	})
}

// TestTwoSidecarsOnOneWorkspace push at each other, but not for ever as fast as they can, and say so. Once one of them is
// gone, the other's card stays.
func TestTwoSidecarsOnOneWorkspace(t *testing.T) {
	for _, readBack := range []bool{true, false} {
		t.Run(fmt.Sprintf("read back %v", readBack), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, logs := newLive(t), &buffer{}
				logger := hclog.New(&hclog.LoggerOptions{Output: logs, Level: hclog.Info})
				a := on(t, l, options{Events: true, ReadBack: readBack, Logger: logger})
				b := on(t, l, options{Events: true, ReadBack: readBack})
				stopA := start(t, offered(a, "a"))
				pass(time.Second)
				stopB := start(t, offered(b, "b"))
				pass(time.Minute)
				l.replace(t, `{"name":"spark"}`) // both are listening by now
				pass(time.Hour)
				// Each waits for 100 ms, doubled up to 30 s, and then 30 s or the 24 s to 36 s of a slow retry each time.
				if n := l.count(pushCall); n < 100 || n > 2*(3600/24+10) {
					t.Errorf("%d pushes in an hour", n)
				}
				if !strings.Contains(codes(a), "card_contested warning") && a.Health().LastError == "" {
					t.Errorf("a does not complain: %+v", a.Health())
				}
				if n := strings.Count(logs.String(), "\n"); n > 20 {
					t.Errorf("%d lines of log:\n%s", n, logs)
				}
				stopB()
				pass(10 * time.Minute)
				l.holds(t, `{"name":"a"}`)
				if got := codes(a); got != "" || a.Health().LastError != "" {
					t.Errorf("afterwards: %s, %+v", got, a.Health())
				}
				stopA()
			})
		})
	}
}

// TestStreamThatIsRefused is asked for again, now and then, and told once.
func TestStreamThatIsRefused(t *testing.T) {
	for _, test := range []struct {
		name        string
		answer      http.HandlerFunc
		least, most int // connections in an hour
		condition   string
		message     string
	}{
		{"unauthorized", status(401, `{"error":"invalid workspace auth token"}`), 100, 151, "platform_events_lost warning", "401 Unauthorized: invalid workspace auth token"},
		{"no route", status(404, "404 page not found"), 9, 14, "platform_events_lost info", "404 Not Found"},
		{"failing", status(500, ""), 100, 140, "platform_events_lost info", "500 Internal Server Error"},
		{"busy", status(429, "", "Retry-After", "60"), 55, 61, "platform_rate_limited warning, platform_events_lost info", "429"},
		{"a page", status(200, "<html>"), 100, 151, "platform_events_lost info", "something else than a WebSocket"},
		{"elsewhere", status(307, "", "Location", "http://elsewhere.test/ws"), 100, 151, "platform_events_lost info", "307"},
		{"ends at once", func(w http.ResponseWriter, r *http.Request) {
			if conn, err := websocket.Accept(w, r, nil); err == nil {
				_ = conn.CloseNow()
			}
		}, 100, 140, "platform_events_lost info", "EOF"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, logs := newLive(t), &buffer{}
				p := on(t, l, options{Events: true, Logger: hclog.New(&hclog.LoggerOptions{Output: logs, Level: hclog.Info})})
				l.set(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/ws" {
						test.answer(w, r)
					}
				})
				stop := start(t, offered(p, "a"))
				pass(time.Hour)
				if n := l.count(wsCall); n < test.least || n > test.most {
					t.Errorf("%d connections in an hour", n)
				}
				if got := codes(p); got != test.condition {
					t.Errorf("conditions %q", got)
				}
				for _, c := range p.Conditions() {
					if c.Code == "platform_rate_limited" {
						continue // has its own test
					}
					if !strings.Contains(c.Message, test.message) || c.Hint == "" || c.Since.IsZero() || c.Subject != "http://platform.test:8080/registry/update-card" {
						t.Errorf("condition %+v", c)
					}
				}
				if n := strings.Count(logs.String(), "\n"); n != 1 {
					t.Errorf("%d lines of log:\n%s", n, logs)
				}
				l.set(nil)
				pass(6 * time.Minute)
				if got := codes(p); got != "" {
					t.Errorf("conditions %q once it is well again", got)
				}
				stop()
			})
		})
	}
}

// status answers with a status.
func status(code int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	}
}

// TestTokenOfTheStreamIsReadAtEachConnect.
func TestTokenOfTheStreamIsReadAtEachConnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLive(t)
		var now atomic.Value
		now.Store("old")
		p := on(t, l, options{Events: true, Token: func() (string, error) { return now.Load().(string), nil }})
		stop := start(t, offered(p, "a"))
		pass(time.Minute)
		if got := codes(p); got != "platform_events_lost warning" {
			t.Errorf("conditions %q", got)
		}
		now.Store(token)
		pass(40 * time.Second)
		if got := codes(p); got != "" || p.Health().LastError != "" {
			t.Errorf("conditions %q, health %+v", got, p.Health())
		}
		stop()
	})
}

// TestStreamThatIsSilent is noticed: the platform does not ping, so pannier does. Where nobody is at the other end any more,
// a ping does not leave, or it leaves and is lost.
func TestStreamThatIsSilent(t *testing.T) {
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprintf("pings are lost: %v", lost), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLive(t)
				p := on(t, l, options{Events: true})
				gone := make(chan struct{})
				l.set(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/ws" {
						deaf(t, w, r, lost, gone)
					}
				})
				stop := start(t, offered(p, "a"))
				pass(35 * time.Second)
				if n := l.count(wsCall); n != 1 {
					t.Errorf("%d connections", n)
				}
				l.set(nil)
				pass(15 * time.Second)
				if n := l.count(wsCall); n != 1 {
					t.Errorf("%d connections after the ping was not answered", n)
				}
				pass(time.Hour)
				if n := l.count(wsCall); n != 0 || codes(p) != "" {
					t.Errorf("%d connections although pings are answered, %s", n, codes(p))
				}
				close(gone)
				stop()
			})
		})
	}
}

// deaf makes the handshake and answers nothing until it is told to end. What comes is read and lost, or not even read.
func deaf(t *testing.T, w http.ResponseWriter, r *http.Request, lost bool, gone <-chan struct{}) {
	hijacked := &hijacking{ResponseWriter: w}
	if _, err := websocket.Accept(hijacked, r, nil); err != nil {
		t.Error(err)
		return
	}
	defer hijacked.conn.Close()
	if lost {
		_, _ = io.Copy(io.Discard, hijacked.conn)
	}
	<-gone
}

// hijacking keeps the connection that is taken from a server.
type hijacking struct {
	http.ResponseWriter
	conn net.Conn
}

func (w *hijacking) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	w.conn = conn
	return conn, rw, err
}

// TestFramesThatCanNotBeRead cost nothing, not even the connection.
func TestFramesThatCanNotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLive(t)
		own := `"workspace_id":"` + workspaceID + `"`
		l.set(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/ws" {
				stream(t, w, r, time.Second,
					"", "{", "null", "[]", `"x"`, `{"event":1}`, `{"event":"AGENT_CARD_UPDATED","workspace_id":7}`,
					`{"event":"NO_SUCH_EVENT",`+own+`,"payload":{"agent_card":{"name":"x"}}}`,
					`{"event":"TASK_UPDATED",`+own+`,"payload":null}`, `{"event":"AGENT_CARD_UPDATED",`+own+`,"payload":"x"}`,
					`{"event":"AGENT_CARD_UPDATED",`+own+`,"timestamp":"yesterday","payload":{"agent_card":{"name":"a"}}}`,
					`{"event":"AGENT_CARD_UPDATED",`+strings.Repeat("[", 20000),
				)
			}
		})
		p := on(t, l, options{Events: true, ReadBack: true})
		stop := start(t, offered(p, "a"))
		pass(10 * time.Second)
		if l.count(wsCall) != 1 || l.count(pushCall) != 1 || codes(p) != "" {
			t.Errorf("conditions %q", codes(p))
		}
		stop()
	})
}

// TestHugeFrame is not kept in memory; that there was one is enough to look.
func TestHugeFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLive(t)
		frames := feed(t, l)
		p := on(t, l, options{Events: true, ReadBack: true})
		stop := start(t, offered(p, "a"))
		pass(30 * time.Second)
		l.restart(t, `{"name":"boot"}`)
		frames <- strings.Repeat("x", 2*molecule.MaxFrameBytes)
		synctest.Wait()
		l.holds(t, `{"name":"a"}`)
		if l.count(wsCall) != 1 {
			t.Error("the connection did not outlast a large event")
		}
		stop()
	})
}
