package api

import (
	"context"
	"net/netip"
	"sync"
	"time"
)

// The bounds of what unauthenticated callers over TCP may take.
const (
	// anonymousConns is how many connections of one address may have brought no valid token yet.
	anonymousConns = 64
	// freeFailures is how many requests of one address may come without a valid token before answers are delayed.
	freeFailures = 10
	firstDelay   = 100 * time.Millisecond
	maxDelay     = 2 * time.Second
	// failuresForgotten is how long an address must be quiet for its failures not to count any more.
	failuresForgotten = time.Minute
	// maxFailing is how many addresses are remembered. Where there are more, the one that is quiet for longest is
	// forgotten.
	maxFailing = 1024
)

// addressOf returns what counts as one address: an address of IPv4, or the /64 of one of IPv6, which one machine has to
// itself. hostport is as net/http gives it; one that cannot be read counts as the zero prefix.
func addressOf(hostport string) netip.Prefix {
	from, err := netip.ParseAddrPort(hostport)
	if err != nil {
		return netip.Prefix{}
	}
	addr, bits := from.Addr().Unmap().WithZone(""), 64
	if addr.Is4() {
		bits = 32
	}
	prefix, _ := addr.Prefix(bits) // fails for more bits than an address has
	return prefix
}

// throttle delays the answers to addresses that keep coming without a valid token. It is for any number of callers.
type throttle struct {
	mu      sync.Mutex
	failing map[netip.Prefix]failures
}

type failures struct {
	count int
	last  time.Time
}

func (t *throttle) fail(address netip.Prefix, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	f, known := t.failing[address]
	if now.Sub(f.last) > failuresForgotten {
		f.count = 0
	}
	if !known && len(t.failing) >= maxFailing {
		var quietest netip.Prefix
		var last time.Time
		for other, f := range t.failing {
			if last.IsZero() || f.last.Before(last) {
				quietest, last = other, f.last
			}
		}
		delete(t.failing, quietest)
	}
	if t.failing == nil {
		t.failing = map[netip.Prefix]failures{}
	}
	f = failures{f.count + 1, now}
	t.failing[address] = f
	if f.count <= freeFailures {
		return 0
	}
	return min(maxDelay, firstDelay<<min(f.count-freeFailures-1, 5))
}

func (t *throttle) forget(address netip.Prefix) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.failing, address)
}

func sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
