package molecule_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"pannier/publish/molecule"
)

// feed puts a stream that tells what it is fed in the place of the platform's own. It takes one connection.
func feed(t *testing.T, l *live) chan<- string {
	t.Helper()
	frames := make(chan string)
	l.set(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/ws" {
			return
		}
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.CloseNow()
		ctx := conn.CloseRead(context.Background())
		for {
			select {
			case <-ctx.Done():
				return
			case frame := <-frames:
				_ = conn.Write(ctx, websocket.MessageText, []byte(frame))
			}
		}
	})
	return frames
}

// updated is the event of a workspace that has a new card.
func updated(workspace, card string) string {
	return `{"event":"AGENT_CARD_UPDATED","payload":{"agent_card":` + card + `},"workspace_id":"` + workspace + `"}`
}

// TestCardTooLargeToBeOurs is replaced as any other is: when the stream tells of it, and where it was there before us.
func TestCardTooLargeToBeOurs(t *testing.T) {
	vast := `{"name":"evil","x":"` + strings.Repeat("y", 5<<20) + `"}`
	for _, readBack := range []bool{true, false} {
		t.Run(fmt.Sprintf("read back %v", readBack), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLive(t)
				l.restart(t, vast)
				p := on(t, l, options{Events: true, ReadBack: readBack})
				stop := start(t, offered(p, "a"))
				synctest.Wait()
				l.holds(t, `{"name":"a"}`)
				for range 3 {
					pass(6 * time.Minute)
					l.replace(t, vast)
					synctest.Wait()
					l.holds(t, `{"name":"a"}`)
				}
				if n := l.count(pushCall); n != 4 || l.count(wsCall) != 1 || codes(p) != "" {
					t.Errorf("%d pushes, %s", n, codes(p))
				}
				stop()
			})
		})
	}
}

// TestOwnCardThatIsLarge is ours, in whatever way the platform writes it.
func TestOwnCardThatIsLarge(t *testing.T) {
	for _, readBack := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			l := newLive(t)
			p := on(t, l, options{Events: true, ReadBack: readBack})
			stop := start(t, offered(p, strings.Repeat("<", molecule.MaxFrameBytes)))
			pass(time.Hour)
			if n := l.count(pushCall); n != 1 || p.Health().LastError != "" || codes(p) != "" {
				t.Errorf("%d pushes, %s, %s", n, p.Health().LastError, codes(p))
			}
			stop()
		})
	}
}

// TestEventsThatDoNotStop cost one look in two seconds, and the first is answered at once.
func TestEventsThatDoNotStop(t *testing.T) {
	online := `{"event":"WORKSPACE_ONLINE","workspace_id":"` + workspaceID + `","payload":{}}`
	large := strings.Repeat("x", molecule.MaxFrameBytes+1000)
	for _, test := range []struct {
		name, frame       string
		reads, peersReads int // in a minute, at most
	}{
		{"our own", online, 31, 1},
		{"ours, large", updated(workspaceID, `"`+large+`"`), 31, 1},
		{"another's, large", updated(peerA, `"`+large+`"`), 1, 31},
		{"anybody's, large", large, 31, 31},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLive(t)
				frames := feed(t, l)
				p := on(t, l, options{Events: true, ReadBack: true, Peers: true})
				stop := start(t, offered(p, "a"))
				pass(10 * time.Second)
				l.count(readCall)
				l.count(peersCall)
				frames <- test.frame
				synctest.Wait()
				if n := l.count(readCall); n != min(test.reads-1, 1) {
					t.Errorf("%d looks at once", n)
				}
				for range 120 {
					frames <- test.frame
					pass(500 * time.Millisecond)
				}
				if n := l.count(readCall); n > test.reads || test.reads > 1 && n < 25 {
					t.Errorf("%d looks in a minute", n)
				}
				if n := l.count(peersCall); n > test.peersReads {
					t.Errorf("peers read %d times in a minute", n)
				}
				if n := l.count(pushCall); n != 1 {
					t.Errorf("%d pushes", n)
				}
				stop()
			})
		})
	}
}

// TestEchoesOfOurOwnCards: a platform that tells late of what we pushed ourselves tells of nobody else.
func TestEchoesOfOurOwnCards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLive(t)
		frames := feed(t, l)
		p := on(t, l, options{Events: true})
		stop := start(t, p)
		for i := range 10 {
			p.Offer(cardOf(fmt.Sprint("c", i)))
			pass(time.Second)
			frames <- updated(workspaceID, fmt.Sprintf(`{"name":"c%d"}`, max(0, i-2)))
			pass(time.Second)
		}
		if n := l.count(pushCall); n != 10 || codes(p) != "" {
			t.Errorf("%d pushes of 10 cards, %s", n, codes(p))
		}
		pass(2 * time.Minute)
		frames <- updated(workspaceID, `{"name":"c8"}`) // which by now somebody has put there
		synctest.Wait()
		if n := l.count(pushCall); n != 1 {
			t.Errorf("%d pushes over an old card", n)
		}
		stop()
	})
}

// TestEventsBeforeACardIsSent tell of what that card replaces anyway.
func TestEventsBeforeACardIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLive(t)
		frames := feed(t, l)
		var unreadable atomic.Bool
		p := on(t, l, options{Events: true, Token: func() (string, error) {
			if unreadable.Load() {
				return "", errBroken
			}
			return token, nil
		}})
		stop := start(t, offered(p, "a"))
		pass(10 * time.Second)
		unreadable.Store(true)
		p.Offer(cardOf("b"))
		pass(time.Second)
		frames <- updated(workspaceID, `{"name":"boot"}`)
		synctest.Wait()
		unreadable.Store(false)
		pass(time.Minute)
		l.holds(t, `{"name":"b"}`)
		if n := l.count(pushCall); n != 2 || codes(p) != "" {
			t.Errorf("%d pushes of 2 cards, %s", n, codes(p))
		}
		stop()
	})
}
