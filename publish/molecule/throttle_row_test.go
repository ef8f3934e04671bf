package molecule_test

import (
	"testing"
	"testing/synctest"
	"time"

	"pannier"
)

// TestLongRowOfRefusals follows refusals that ask for waits longer than a minute: health shows one row, since its
// beginning.
func TestLongRowOfRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLive(t)
		p := on(t, l, options{Peers: true})
		l.set(status(429, "", "Retry-After", "120"))
		stop := start(t, offered(p, "a"))
		defer stop()
		pass(time.Second)
		limited := func() *pannier.Condition {
			for _, c := range p.Conditions() {
				if c.Code == "platform_rate_limited" {
					return &c
				}
			}
			return nil
		}
		first := limited()
		if first == nil {
			t.Fatal("health does not show the first refusal")
		}
		for range 60 {
			pass(10 * time.Second)
			now := limited()
			if now == nil || !now.Since.Equal(first.Since) {
				t.Fatalf("the row began at %s, health shows %+v", first.Since, now)
			}
		}
		l.set(nil)
		pass(4 * time.Minute)
		if got := codes(p); got != "" {
			t.Errorf("conditions %q once it is well again", got)
		}
	})
}
