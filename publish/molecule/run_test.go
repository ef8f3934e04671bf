package molecule_test

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/publish/molecule"
)

func TestNewestCardWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, w := wired(t, options{}, always(200, `{"status":"updated"}`))
		for _, name := range []string{"a", "b", "c"} {
			p.Offer(cardOf(name))
		}
		stop := start(t, p)
		synctest.Wait()
		if got := w.cards(); got != "c" {
			t.Errorf("pushed %q, want c alone", got)
		}
		stop()
		want := pannier.PushHealth{
			Platform:     "http://platform.test:8080/registry/update-card",
			Desired:      cardOf("c").Digest,
			Acknowledged: cardOf("c").Digest,
			LastSuccess:  time.Now(),
		}
		if diff := cmp.Diff(want, p.Health()); diff != "" {
			t.Errorf("health (-want +got):\n%s", diff)
		}
	})
}

func TestAcknowledgedCardIsNotPushedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, w := wired(t, options{}, always(204, ""))
		start(t, p)
		for range 3 {
			p.Offer(cardOf("a"))
			pass(time.Minute)
		}
		if got := w.cards(); got != "a" {
			t.Errorf("pushed %q, want a once", got)
		}
	})
}

func TestCardOfferedDuringPushIsNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		p, w := wired(t, options{}, func(int, *http.Request) (*http.Response, error) {
			<-release
			return respond(200, "")
		})
		start(t, p)
		p.Offer(cardOf("a"))
		synctest.Wait()
		p.Offer(cardOf("b"))
		p.Offer(cardOf("c"))
		synctest.Wait()
		if got := w.cards(); got != "a" {
			t.Errorf("pushed %q while a was in flight", got)
		}
		close(release)
		synctest.Wait()
		if got := w.cards(); got != "a c" {
			t.Errorf("pushed %q, want a c", got)
		}
	})
}

// TestBackAndForthDuringPush: a card that is offered again while another one is in flight has to follow it, although it
// was acknowledged before.
func TestBackAndForthDuringPush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		p, w := wired(t, options{}, func(n int, _ *http.Request) (*http.Response, error) {
			if n == 2 {
				<-release
			}
			return respond(200, "")
		})
		start(t, p)
		p.Offer(cardOf("a"))
		synctest.Wait()
		p.Offer(cardOf("b"))
		synctest.Wait()
		p.Offer(cardOf("a"))
		close(release)
		synctest.Wait()
		if got := w.cards(); got != "a b a" {
			t.Errorf("pushed %q, want a b a", got)
		}
	})
}

func TestBackoffDoublesToItsCap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, w := wired(t, options{}, always(503, ""))
		start(t, p)
		p.Offer(cardOf("a"))
		pass(3 * time.Minute)
		want := []time.Duration{
			100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond,
			1600 * time.Millisecond, 3200 * time.Millisecond, 6400 * time.Millisecond, 12800 * time.Millisecond,
			25600 * time.Millisecond, 30 * time.Second, 30 * time.Second,
		}
		if diff := cmp.Diff(want, w.gaps()[:len(want)]); diff != "" {
			t.Errorf("waits (-want +got):\n%s", diff)
		}
	})
}

func TestJitterIsFull(t *testing.T) {
	p := newPublisher(t, options{})
	const most = 1000
	low, high := false, false
	for range 10000 {
		d := p.Jitter(most)
		if d < 0 || d > most {
			t.Fatalf("jitter %d is not in [0, %d]", d, most)
		}
		low, high = low || d < most/10, high || d > most*9/10
	}
	if !low || !high {
		t.Errorf("jitter does not reach both ends: low %v, high %v", low, high)
	}
}

func TestNewCardCutsBackoffShortOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, w := wired(t, options{}, always(500, ""))
		start(t, p)
		p.Offer(cardOf("a"))
		pass(3*time.Minute + time.Second)
		before := len(w.seen())
		p.Offer(cardOf("a")) // nothing new, so no try
		synctest.Wait()
		if got := len(w.seen()); got != before {
			t.Errorf("%d tries for a card that did not change", got-before)
		}
		p.Offer(cardOf("b"))
		pass(20 * time.Second)
		seen := w.seen()[before:]
		if len(seen) != 1 || seen[0].card != "b" {
			t.Errorf("tries after the new card: %v, want one of b", seen)
		}
	})
}

func TestRetryAfterIsHonoured(t *testing.T) {
	for _, test := range []struct {
		name, value string
		want        time.Duration
	}{
		{"seconds", "7", 7 * time.Second},
		{"date", "Sat, 01 Jan 2000 00:00:42 GMT", 42 * time.Second},
		{"beyond the cap", "86400", 5 * time.Minute},
		{"beyond all numbers", "99999999999999999999999", 5 * time.Minute},
		{"less than without it", "1", time.Second},
		{"in the past", "Fri, 31 Dec 1999 00:00:00 GMT", 5 * time.Second},
		{"nonsense", "soon", 5 * time.Second},
		{"negative", "-3", 5 * time.Second},
		{"none", "", 5 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // a bubble's clock starts with the year 2000
				p, w := wired(t, options{}, always(429, "", "Retry-After", test.value))
				start(t, p)
				p.Offer(cardOf("a"))
				pass(6 * time.Minute)
				if got := w.gaps()[0]; got != test.want {
					t.Errorf("waited %v, want %v", got, test.want)
				}
			})
		})
	}
}

func TestRetryAfterDateGoesByTheServersClock(t *testing.T) {
	h := http.Header{
		"Date":        {"Sat, 01 Jan 2000 00:00:00 GMT"},
		"Retry-After": {"Sat, 01 Jan 2000 00:00:30 GMT"},
	}
	if got := molecule.RetryAfter(h, time.Now()); got != 30*time.Second {
		t.Errorf("waits %v, want 30s", got)
	}
}

func TestNewCardWaitsOutRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, w := wired(t, options{}, func(n int, _ *http.Request) (*http.Response, error) {
			if n == 1 {
				return respond(503, "", "Retry-After", "60")
			}
			return respond(200, "")
		})
		start(t, p)
		p.Offer(cardOf("a"))
		pass(time.Second)
		p.Offer(cardOf("b"))
		pass(2 * time.Minute)
		if diff := cmp.Diff([]time.Duration{time.Minute}, w.gaps()); diff != "" || w.cards() != "a b" {
			t.Errorf("pushed %q after %v, want a b a minute apart", w.cards(), w.gaps())
		}
	})
}

func TestUnauthorizedReadsTheTokenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens := []string{"old", "new"}
		token := func() (string, error) {
			next := tokens[0]
			tokens = tokens[1:]
			return next, nil
		}
		p, w := wired(t, options{Token: token}, inTurn(401, 200))
		start(t, p)
		p.Offer(cardOf("a"))
		synctest.Wait() // no time passes
		seen := w.seen()
		if len(seen) != 2 {
			t.Fatalf("%d tries, want 2", len(seen))
		}
		for i, want := range []string{"Bearer old", "Bearer new"} {
			if got := seen[i].header.Get("Authorization"); got != want {
				t.Errorf("try %d had %q, want %q", i+1, got, want)
			}
		}
	})
}

func TestUnauthorizedForLongIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, w := wired(t, options{}, always(403, `{"error":"no"}`))
		start(t, p)
		p.Offer(cardOf("a"))
		pass(100 * time.Second)
		if diff := cmp.Diff([]time.Duration{0, 36 * time.Second, 36 * time.Second}, w.gaps()); diff != "" {
			t.Errorf("waits (-want +got):\n%s", diff)
		}
		if h := p.Health(); h.Hint == "" || h.Blocked || h.Since != w.seen()[0].at {
			t.Errorf("health %+v, want a hint since the first try", h)
		}
	})
}

// TestRefusedCardBlocksUntilItChanges or is asked for, and else is tried about every 15 minutes, which is told once.
func TestRefusedCardBlocksUntilItChanges(t *testing.T) {
	for _, status := range []int{400, 413, 422} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEvents()
				p, w := wired(t, options{Emit: e.emit}, inTurn(status, status, status, status, status, 200))
				start(t, p)
				p.Offer(cardOf("a"))
				pass(10 * time.Minute)
				p.Offer(cardOf("a"))
				pass(6 * time.Minute)
				if got := w.cards(); got != "a" {
					t.Fatalf("pushed %q, want a once", got)
				}
				pass(40 * time.Minute)
				if got := w.cards(); got != "a a a a" {
					t.Fatalf("pushed %q, want a every 16.5 minutes", got)
				}
				p.Retry()
				synctest.Wait()
				if got := w.cards(); got != "a a a a a" {
					t.Fatalf("pushed %q, want a at once", got)
				}
				if h := p.Health(); !h.Blocked || h.Hint == "" || h.LastError == "" {
					t.Errorf("health %+v, want blocked with error and hint", h)
				}
				if kind, push := e.await(t); kind != pannier.EventCardRejected || push.Digest != cardOf("a").Digest || push.Error == "" {
					t.Errorf("event %v %+v", kind, push)
				}
				p.Offer(cardOf("b"))
				synctest.Wait()
				if h := p.Health(); w.cards() != "a a a a a b" || h.Blocked || h.LastError != "" || !h.Since.IsZero() {
					t.Errorf("pushed %q, health %+v", w.cards(), h)
				}
				if kind, push := e.await(t); kind != pannier.EventCardPushed || push.Error != "" {
					t.Errorf("event %v %+v", kind, push)
				}
			})
		})
	}
}

// TestCardThatGoesBack: what the platform holds is pushed again only where it may hold something else by now.
func TestCardThatGoesBack(t *testing.T) {
	refusedDial := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	for _, test := range []struct {
		name   string
		status int
		err    error
		want   string
	}{
		{"refused", 400, nil, "a b"},
		{"throttled", 429, nil, "a b"},
		{"not connected", 0, refusedDial, "a b"},
		{"failed", 500, nil, "a b a"},
		{"broken", 0, errors.New("EOF"), "a b a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, w := wired(t, options{}, func(n int, _ *http.Request) (*http.Response, error) {
					if n != 2 {
						return respond(200, "")
					}
					if test.err != nil {
						return nil, test.err
					}
					return respond(test.status, "")
				})
				start(t, p)
				p.Offer(cardOf("a"))
				synctest.Wait()
				p.Offer(cardOf("b"))
				synctest.Wait()
				p.Offer(cardOf("a"))
				pass(time.Minute)
				if got := w.cards(); got != test.want {
					t.Errorf("pushed %q, want %q", got, test.want)
				}
				if h := p.Health(); h.LastError != "" || h.Blocked || h.Acknowledged != h.Desired {
					t.Errorf("health %+v, want none of the old error", h)
				}
			})
		})
	}
}

func TestAnswersThatWaitForAPerson(t *testing.T) {
	for status, hint := range map[int]string{404: "X-Molecule-Org-Id", 409: "url", 302: "url"} {
		synctest.Test(t, func(t *testing.T) {
			p, w := wired(t, options{}, always(status, ""))
			p.SetJitter(func(time.Duration) time.Duration { return 0 })
			start(t, p)
			p.Offer(cardOf("a"))
			pass(time.Minute)
			if diff := cmp.Diff([]time.Duration{24 * time.Second, 24 * time.Second}, w.gaps()); diff != "" {
				t.Errorf("%d: waits (-want +got):\n%s", status, diff)
			}
			if h := p.Health(); !strings.Contains(h.Hint, hint) {
				t.Errorf("%d: hint %q does not speak of %q", status, h.Hint, hint)
			}
		})
	}
}

func TestTokenThatCanNotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads := 0 // only Run's goroutine reads the token
		token := func() (string, error) {
			if reads++; reads == 1 {
				return "", errors.New("open token: permission denied")
			}
			return "good", nil
		}
		p, w := wired(t, options{Token: token}, always(200, ""))
		start(t, p)
		p.Offer(cardOf("a"))
		synctest.Wait()
		if h := p.Health(); h.LastError != "push card: read token: open token: permission denied" || len(w.seen()) != 0 {
			t.Errorf("health %+v after %d requests", h, len(w.seen()))
		}
		pass(time.Second)
		if got := w.cards(); got != "a" {
			t.Errorf("pushed %q once the token was there", got)
		}
	})
}
