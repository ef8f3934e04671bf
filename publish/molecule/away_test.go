package molecule_test

import (
	"fmt"
	"net/http"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// TestPlatformThatWasAwayForLong gets the newest card within one step of the backoff, once, however many were offered.
func TestPlatformThatWasAwayForLong(t *testing.T) {
	for _, events := range []bool{false, true} {
		t.Run(fmt.Sprintf("events %v", events), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLive(t)
				p := on(t, l, options{Events: events, ReadBack: true})
				stop := start(t, offered(p, "a"))
				pass(10 * time.Second)
				l.down()
				for i := range 10 {
					p.Offer(cardOf(fmt.Sprint(i)))
					pass(time.Minute)
				}
				if h := p.Health(); h.LastError == "" || h.Since.IsZero() {
					t.Errorf("health %+v", h)
				}
				l.count(pushCall)
				l.up(t)
				pass(30*time.Second + time.Millisecond)
				l.holds(t, `{"name":"9"}`)
				if n := l.count(pushCall); n != 1 {
					t.Errorf("%d pushes", n)
				}
				if h := p.Health(); h.LastError != "" || h.Acknowledged != cardOf("9").Digest {
					t.Errorf("health %+v", h)
				}
				stop()
			})
		})
	}
}

// TestPlatformThatIsBackIsNotWaitedFor: the stream that connects says that it is there.
func TestPlatformThatIsBackIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLive(t)
		l.set(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				w.WriteHeader(http.StatusNotFound) // which is tried again about every 30 s
			}
		})
		p := on(t, l, options{Events: true})
		stop := start(t, offered(p, "a"))
		pass(time.Second)
		l.down()
		pass(2 * time.Second)
		l.set(nil)
		l.up(t)
		pass(5 * time.Second)
		l.holds(t, `{"name":"a"}`)
		stop()
	})
}

// TestNoOfferIsLost: a card that comes while another one is on its way is the next, however the two fall together.
func TestNoOfferIsLost(t *testing.T) {
	p, w := wired(t, options{}, always(200, ""))
	stop := start(t, p)
	late := time.After(60 * time.Second)
	for i := range 10_000 {
		first, second := cardOf(fmt.Sprint(i)), cardOf(fmt.Sprint(i, "b"))
		p.Offer(first)
		for range i % 7 {
			runtime.Gosched()
		}
		p.Offer(second)
		for p.Health().Acknowledged != second.Digest {
			select {
			case <-late:
				t.Fatalf("run %d: %+v", i, p.Health())
			default:
				runtime.Gosched()
			}
		}
	}
	stop()
	if n := len(w.seen()); n < 10_000 || n > 20_000 {
		t.Errorf("%d pushes of 20,000 cards", n)
	}
}
