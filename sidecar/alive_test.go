package sidecar

import (
	"math"
	"testing"
	"time"
)

func TestAlive(t *testing.T) {
	last := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name            string
		last            time.Time
		silence, resync time.Duration
		alive           bool
	}{
		{"just looked", last, 0, 10 * time.Second, true},
		{"a resync is late", last, 40 * time.Second, 10 * time.Second, true},
		{"three resyncs and the grace", last, time.Minute, 10 * time.Second, true},
		{"longer than that", last, time.Minute + time.Second, 10 * time.Second, false},
		{"tiny resync", last, 29 * time.Second, time.Millisecond, true},
		{"tiny resync and long silence", last, 31 * time.Second, time.Millisecond, false},
		{"longest resync", last, 24 * time.Hour, math.MaxInt64, true},
		{"no resync", last, 1000 * time.Hour, 0, true},
		{"no look yet", time.Time{}, 0, 10 * time.Second, true},
		{"a clock that went back", last, -time.Hour, 10 * time.Second, true},
	} {
		if err := scanOverdue(last.Add(tt.silence), tt.last, tt.resync); (err == nil) != tt.alive {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
