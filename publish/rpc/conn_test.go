package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"pannier/publish/rpc"
)

// The tests in this file run on a clock of their own, over pipes.

func TestFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t.Context(), options(nil))
		defer s.end()
		conn := s.dial(t)
		for _, tt := range []struct{ text, want string }{
			{`{"jsonrpc":"2.0","id":1,"method":"add","params":{"a":1}}`, `{"jsonrpc":"2.0","id":1,"result":1}`},
			{`[{"jsonrpc":"2.0","id":2,"method":"add"}]`, `[{"jsonrpc":"2.0","id":2,"result":0}]`},
			{`{`, parse("the text is not one JSON value: unexpected end of JSON input")},
		} {
			write(t, conn, tt.text)
			if got := read(t, conn); got != tt.want {
				t.Errorf("%s: %s", tt.text, got)
			}
		}
		if err := conn.Write(t.Context(), websocket.MessageBinary, []byte("PSU1")); err != nil {
			t.Fatal(err)
		}
		if got, want := read(t, conn), fault("null", -32600, "rpc.binary_refused", "a frame is text"); got != want {
			t.Errorf("a binary frame: %s", got)
		}
		if err := conn.Close(websocket.StatusNormalClosure, ""); err != nil {
			t.Error(err)
		}
	})
}

// closing returns how the peer is closed, once it has read everything before.
func closing(t *testing.T, conn *websocket.Conn) (websocket.StatusCode, string) {
	t.Helper()
	for {
		_, _, err := conn.Read(t.Context())
		if err == nil {
			continue
		}
		if e, ok := errors.AsType[websocket.CloseError](err); ok {
			return e.Code, e.Reason
		}
		t.Fatalf("no close frame: %v", err)
	}
}

func TestFrameTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t.Context(), options(nil))
		defer s.end()
		conn := s.dial(t)
		fits := `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", rpc.MaxFrame-len(`{"jsonrpc":"2.0","id":"","method":"add"}`)) + `","method":"add"}`
		write(t, conn, fits)
		if got := read(t, conn); !strings.HasSuffix(got, `xx","result":0}`) {
			t.Errorf("the largest frame: %.100s", got)
		}
		go conn.Write(t.Context(), websocket.MessageText, []byte(fits+" "))
		if code, reason := closing(t, conn); code != websocket.StatusMessageTooBig {
			t.Errorf("closed with %v %s", code, reason)
		}
		conn.CloseNow()
	})
}

// TestCallsUnderWay are bounded; those beyond are refused at once, and room comes back.
func TestCallsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goOn := make(chan struct{})
		s := serve(t.Context(), options(goOn))
		defer s.end()
		conn := s.dial(t)
		for i := range 16 {
			write(t, conn, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"wait"}`, i))
		}
		synctest.Wait()
		write(t, conn, `[{"jsonrpc":"2.0","id":"one","method":"add"},{"jsonrpc":"2.0","method":"add"},5]`)
		busy := fault(`"one"`, -32000, "rpc.too_many_calls", "too many calls of this connection are under way; ask again after an answer")
		if got, want := read(t, conn), "["+busy+","+invalid("null", "a call is an object, and this is none")+"]"; got != want {
			t.Errorf("beyond: %s", got)
		}
		other := s.dial(t)
		write(t, other, `{"jsonrpc":"2.0","id":1,"method":"add"}`)
		if got := read(t, other); got != `{"jsonrpc":"2.0","id":1,"result":0}` {
			t.Errorf("another connection: %s", got)
		}
		close(goOn)
		for range 16 {
			if got := read(t, conn); !strings.HasSuffix(got, `"result":"waited"}`) {
				t.Errorf("under way: %s", got)
			}
		}
		synctest.Wait()
		write(t, conn, `{"jsonrpc":"2.0","id":1,"method":"add"}`)
		if got := read(t, conn); got != `{"jsonrpc":"2.0","id":1,"result":0}` {
			t.Errorf("afterwards: %s", got)
		}
		conn.CloseNow()
		other.CloseNow()
	})
}

func TestCallTakesTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t.Context(), options(nil))
		defer s.end()
		conn := s.dial(t)
		start := time.Now()
		write(t, conn, `{"jsonrpc":"2.0","id":1,"method":"wait"}`)
		if got := read(t, conn); !strings.Contains(got, "context deadline exceeded") || time.Since(start) != time.Minute {
			t.Errorf("%s after %v", got, time.Since(start))
		}
		conn.CloseNow()
	})
}

// TestChangesAreTold once each, the newest of several, and behind the answer of the call that made them.
func TestChangesAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &feed{}
		f.set(1)
		o := options(nil)
		o.Subscribe = f.subscribe
		answered := make(chan struct{})
		o.Methods["change"] = rpc.Method{Changes: true, Answer: func(*http.Request, json.RawMessage) (any, error) {
			f.set(9)
			<-answered
			return "changed", nil
		}}
		s := serve(t.Context(), o)
		defer s.end()
		conn := s.dial(t)
		synctest.Wait() // nobody is told of what it finds
		f.set(2)
		if got := read(t, conn); got != `{"jsonrpc":"2.0","method":"changed","params":[1,2]}` {
			t.Errorf("a change: %s", got)
		}
		synctest.Wait()
		for version := range uint64(5) {
			f.set(3 + version) // the first is on its way, over a pipe that nobody reads
			synctest.Wait()
		}
		for _, want := range []string{`[2,3]`, `[3,7]`} {
			if got := read(t, conn); got != `{"jsonrpc":"2.0","method":"changed","params":`+want+`}` {
				t.Errorf("several: %s", got)
			}
		}
		write(t, conn, `{"jsonrpc":"2.0","id":1,"method":"change"}`)
		synctest.Wait()
		close(answered)
		for _, want := range []string{`{"jsonrpc":"2.0","id":1,"result":"changed"}`, `{"jsonrpc":"2.0","method":"changed","params":[7,9]}`} {
			if got := read(t, conn); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		conn.CloseNow()
	})
}

// TestFirstSnapshotIsTold to whoever came before it.
func TestFirstSnapshotIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &feed{}
		o := options(nil)
		o.Subscribe = f.subscribe
		s := serve(t.Context(), o)
		defer s.end()
		conn := s.dial(t)
		synctest.Wait()
		f.set(5)
		if got := read(t, conn); got != `{"jsonrpc":"2.0","method":"changed","params":[0,5]}` {
			t.Errorf("got %s", got)
		}
		conn.CloseNow()
	})
}

// TestSlowReader is dropped with a reason, which it gets if it reads at last, and another connection does not notice.
func TestSlowReader(t *testing.T) {
	for _, tt := range []struct {
		name   string
		ask    int
		reads  bool
		after  time.Duration
		reason string
	}{
		{"it reads at last", 1, true, 10 * time.Second, "a message was left unread for 10s"},
		{"it never reads", 1, false, 15 * time.Second, ""},
		{"it asks and asks", 70, true, 0, "too many messages were left unread"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := options(nil)
				metrics := prometheus.NewRegistry()
				o.Registerer = metrics
				o.Methods["echo"] = rpc.Method{Answer: answerWith(json.RawMessage(`"` + strings.Repeat("x", 10000) + `"`))}
				s := serve(t.Context(), o)
				defer s.end()
				conn, other := s.dial(t), s.dial(t)
				start := time.Now()
				for range tt.ask {
					write(t, conn, `{"jsonrpc":"2.0","id":1,"method":"echo"}`)
					synctest.Wait()
				}
				write(t, other, `{"jsonrpc":"2.0","id":1,"method":"add"}`)
				if got := read(t, other); got != `{"jsonrpc":"2.0","id":1,"result":0}` {
					t.Errorf("another connection: %s", got)
				}
				other.CloseNow()
				if tt.reads {
					<-time.After(tt.after + time.Second) // on the clock of the test
					if code, reason := closing(t, conn); code != websocket.StatusPolicyViolation || reason != tt.reason {
						t.Errorf("closed with %v %q", code, reason)
					}
				} else {
					s.stopped(t, metrics)
					if took := time.Since(start); took != tt.after {
						t.Errorf("dropped after %v", took)
					}
				}
				conn.CloseNow()
				if err := testutil.GatherAndCompare(metrics, strings.NewReader(`
# HELP pannier_rpc_dropped_total WebSockets that were dropped because their peer did not read or did not answer a ping.
# TYPE pannier_rpc_dropped_total counter
pannier_rpc_dropped_total{reason="missed_pong"} 0
pannier_rpc_dropped_total{reason="slow_reader"} 1
`), "pannier_rpc_dropped_total"); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// stopped waits until no connection is open.
func (s *service) stopped(t *testing.T, metrics prometheus.Gatherer) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for range 10000 {
		synctest.Wait()
		families, err := metrics.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			if family.GetName() == "pannier_rpc_connections" && family.GetMetric()[0].GetGauge().GetValue() == 0 {
				return
			}
		}
		<-tick.C
	}
	t.Fatal("a connection stays open")
}

// TestMissingPong drops a peer that reads and does not answer pings.
func TestMissingPong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t.Context(), options(nil))
		defer s.end()
		conn := s.pipe()
		io.WriteString(conn, "GET / HTTP/1.1\r\nHost: p\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
		start := time.Now()
		text, _ := io.ReadAll(conn)
		_, frames, _ := strings.Cut(string(text), "\r\n\r\n")
		const reason = "no pong came within 10s"
		want := "\x89\x011" + "\x88" + string(rune(2+len(reason))) + "\x03\xf0" + reason
		if frames != want || time.Since(start) != 30*time.Second { // 15 to the ping, 10 without a pong, 5 without a close frame
			t.Errorf("%q after %v", frames, time.Since(start))
		}
		conn.Close()
	})
}

// TestQuietPeer that answers pings stays.
func TestQuietPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t.Context(), options(nil))
		defer s.end()
		conn := s.dial(t)
		ctx, cancel := context.WithCancel(t.Context())
		ended := conn.CloseRead(ctx)
		select {
		case <-ended.Done():
			t.Error("it was closed")
		case <-time.After(time.Hour):
		}
		cancel()
		conn.CloseNow()
	})
}

// TestStop answers calls under way, takes no new ones, and says that it goes away.
func TestStop(t *testing.T) {
	for _, ends := range []bool{true, false} {
		t.Run(fmt.Sprintf("the call ends %t", ends), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				goOn := make(chan struct{})
				s := serve(t.Context(), options(goOn))
				conn := s.dial(t)
				write(t, conn, `{"jsonrpc":"2.0","id":1,"method":"wait"}`)
				synctest.Wait()
				start := time.Now()
				s.stop()
				synctest.Wait()
				if ends {
					close(goOn)
					if got := read(t, conn); got != `{"jsonrpc":"2.0","id":1,"result":"waited"}` {
						t.Errorf("under way: %s", got)
					}
				}
				if code, reason := closing(t, conn); code != websocket.StatusGoingAway || reason != "the sidecar stops" {
					t.Errorf("closed with %v %s", code, reason)
				}
				if took := time.Since(start); ends && took != 0 || !ends && took != 2*time.Second {
					t.Errorf("after %v", took)
				}
				conn.CloseNow()
				s.end()
			})
		})
	}
}

// TestConnectionsAreBounded by the constant where the options do not say.
func TestConnectionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t.Context(), options(nil))
		defer s.end()
		var open []*websocket.Conn
		for range rpc.MaxConns {
			open = append(open, s.dial(t))
		}
		late := s.pipe()
		go io.WriteString(late, "GET / HTTP/1.0\r\n\r\n")
		if text, _ := io.ReadAll(late); !strings.Contains(string(text), rpc.ErrFull.Error()) {
			t.Errorf("one too many: %s", text)
		}
		late.Close()
		open[0].CloseNow()
		synctest.Wait()
		open[0] = s.dial(t)
		for _, conn := range open {
			conn.CloseNow()
		}
	})
}
