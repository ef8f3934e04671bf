package molecule_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestHangingRequestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, w := wired(t, options{}, func(_ int, r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		begun := time.Now()
		start(t, p)
		p.Offer(cardOf("a"))
		pass(15*time.Second + time.Millisecond)
		if h := p.Health(); !strings.Contains(h.LastError, "no complete answer within 15s") {
			t.Errorf("after %v and %d requests: %+v", time.Since(begun), len(w.seen()), h)
		}
	})
}

func TestStopWaitsForTheRequestInFlight(t *testing.T) {
	for _, test := range []struct {
		name     string
		takes    time.Duration
		returned time.Duration
		acked    bool
	}{
		{"within the grace", time.Second, time.Second, true},
		{"beyond the grace", time.Hour, 2 * time.Second, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, w := wired(t, options{}, func(_ int, r *http.Request) (*http.Response, error) {
					select {
					case <-time.After(test.takes):
						return respond(200, "")
					case <-r.Context().Done():
						return nil, r.Context().Err()
					}
				})
				stop := start(t, p)
				p.Offer(cardOf("a"))
				synctest.Wait()
				p.Offer(cardOf("b"))
				stopped := time.Now()
				stop()
				if got := time.Since(stopped); got != test.returned {
					t.Errorf("Run returned %v after it was told to, want %v", got, test.returned)
				}
				if got := w.cards(); got != "a" {
					t.Errorf("pushed %q, want no try after the stop", got)
				}
				if acked := p.Health().Acknowledged == cardOf("a").Digest; acked != test.acked {
					t.Errorf("acknowledged: %v, want %v", acked, test.acked)
				}
			})
		})
	}
}

func TestRunWithEndedContextPushesNothing(t *testing.T) {
	p, w := wired(t, options{}, always(200, ""))
	p.Offer(cardOf("a"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Run(ctx); err != nil || len(w.seen()) != 0 {
		t.Errorf("Run returned %v after %d requests", err, len(w.seen()))
	}
}
