package dev

import (
	"fmt"
	"math"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	// rateWindow is the time that an allowance of requests is for.
	rateWindow = time.Minute
	// maxAddresses bounds the addresses that are counted at a time.
	maxAddresses = 4096
)

// rate counts the requests of each address in windows of a minute, as the real server does: all that come from one address
// share one allowance.
type rate struct {
	most int // in a window; 0 for no limit

	mu      sync.Mutex
	windows map[string]*window
}

type window struct {
	ends time.Time
	used int
}

// admit counts a request, writes the headers that tell of the allowance, and reports whether the request may go on. Where it
// may not, it is answered.
func (l *rate) admit(w http.ResponseWriter, r *http.Request, now time.Time) bool {
	if l.most <= 0 {
		return true
	}
	address, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		address = r.RemoteAddr
	}
	used, ends := l.count(address, now)
	h := w.Header()
	h.Set("X-Ratelimit-Limit", strconv.Itoa(l.most))
	h.Set("X-Ratelimit-Remaining", strconv.Itoa(max(0, l.most-used)))
	h.Set("X-Ratelimit-Reset", strconv.FormatInt(ends.Unix(), 10))
	if used <= l.most {
		return true
	}
	after := int(math.Ceil(ends.Sub(now).Seconds()))
	h.Set("Retry-After", strconv.Itoa(after))
	h.Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(http.StatusTooManyRequests)
	fmt.Fprintf(w, `{"error":"rate limit exceeded","retry_after":%d}`, after)
	return false
}

func (l *rate) count(address string, now time.Time) (used int, ends time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.windows == nil || len(l.windows) >= maxAddresses {
		l.windows = map[string]*window{}
	}
	w := l.windows[address]
	if w == nil || !now.Before(w.ends) {
		w = &window{ends: now.Add(rateWindow)}
		l.windows[address] = w
	}
	w.used++
	return w.used, w.ends
}
