package molecule

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"pannier"
)

const (
	// throttleLeast is how long requests rest at least after a 429 without Retry-After. Those beside the pushes rest as
	// long after every 429.
	throttleLeast = 5 * time.Second
	// throttleReported is how long health reports a 429 after the time that it asked to wait.
	throttleReported = time.Minute
	// unixTimes are numbers above this: more seconds than a platform asks to wait.
	unixTimes = 100_000_000
	// throttleShare is the part of the allowance, one in so many, that is left to the agents of the address.
	throttleShare = 2
	// throttleLow is the part of the allowance, one in so many, below which health reports what is left.
	throttleLow = 10
)

// throttle is what the platform said about the rate of requests. All agents and sidecars behind an address share its
// limit, and an agent whose heartbeats are refused (429) goes offline. So requests that can wait rest once the next
// would take from the half of the allowance that is left to the agents. An answer is old when the next request is made,
// and sidecars that start together do the same at the same time: what all of them used grows as this one's own part.
type throttle struct {
	mu sync.Mutex
	// used and limit are those of the newest answer that had them, which was number at of the answers that came until
	// renewed; own is the number of the newest.
	used, limit, at, own int64
	renewed              time.Time

	until time.Time // requests that can wait rest until then
	since time.Time // of the row of refusals, each before the end that the one before set
	end   time.Time // of that row, unless another refusal comes
	count int       // in that row
}

func (t *throttle) record(status int, h http.Header, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !now.Before(t.renewed) {
		t.own, t.limit = 0, 0
	}
	t.own++
	if status == http.StatusTooManyRequests {
		if now.After(t.end) {
			t.since, t.count = now, 0
		}
		t.count++
		rested := now.Add(max(retryAfter(h, now), throttleLeast))
		t.restUntil(rested)
		if end := rested.Add(throttleReported); end.After(t.end) {
			t.end = end
		}
		return
	}
	limit, ok := headerNumber(h, "X-RateLimit-Limit")
	left, ok2 := headerNumber(h, "X-RateLimit-Remaining")
	if ok && ok2 && limit > 0 {
		t.used, t.limit, t.at, t.renewed = limit-left, limit, t.own, now.Add(resetAfter(h, now))
	}
	if t.limit > 0 && float64(t.used)*float64(t.own+1)/float64(t.at) > float64(t.limit-t.limit/throttleShare) {
		t.restUntil(t.renewed)
	}
}

func (t *throttle) restUntil(at time.Time) {
	if at.After(t.until) {
		t.until = at
	}
}

func (t *throttle) left(now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(0, t.until.Sub(now))
}

func (t *throttle) conditions(subject string, now time.Time) []pannier.Condition {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.count == 0 || now.After(t.end) {
		if left := t.limit - t.used; left*throttleLow < t.limit && now.Before(t.renewed) {
			return []pannier.Condition{{
				Code: "platform_rate_low", Severity: pannier.SeverityWarning, Subject: subject,
				Message: fmt.Sprintf("%d of %d requests are left to the sidecars and agents behind this address until %s", max(0, left), t.limit, t.renewed.UTC().Format(time.TimeOnly)),
				Hint:    hintRate,
			}}
		}
		return nil
	}
	return []pannier.Condition{{
		Code: "platform_rate_limited", Severity: pannier.SeverityWarning, Since: t.since, Subject: subject,
		Message: fmt.Sprintf("the platform refuses requests because too many come from this address; refused so far: %d", t.count),
		Hint:    hintRate,
	}}
}

const hintRate = "raise the platform's rate limit, or give sidecars and agents addresses of their own; the platform also refuses the heartbeats of agents behind this address"

// resetAfter returns when the allowance is renewed. The header has seconds, or Unix time.
func resetAfter(h http.Header, now time.Time) time.Duration {
	reset, ok := headerNumber(h, "X-RateLimit-Reset")
	if !ok {
		return throttleLeast
	}
	after := time.Duration(min(reset, int64(maxRetryAfter/time.Second))) * time.Second
	if reset > unixTimes {
		after = time.Unix(reset, 0).Sub(now)
	}
	return min(max(after, 0), maxRetryAfter)
}

func headerNumber(h http.Header, name string) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimSpace(h.Get(name)), 10, 64)
	return n, err == nil && n >= 0
}
