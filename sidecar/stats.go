package sidecar

import (
	"slices"
	"sync"
	"time"

	"pannier"
)

const (
	// statsMinutes is how many minutes are kept.
	statsMinutes = 60
	// maxReloadTimes bounds the durations that are kept of a minute: of more, the newest.
	maxReloadTimes = 256
)

// stats count what happens, by minute. They are for any number of callers, and never wait for a disk.
type stats struct {
	mu      sync.Mutex
	started int64 // in Unix minutes
	// minutes is a ring, by the number of the minute.
	minutes [statsMinutes]minuteCounts
}

type minuteCounts struct {
	minute int64
	pannier.StatsCounts
	reloadTimes []time.Duration
}

func newStats() *stats { return &stats{started: minuteOf(time.Now())} }

func minuteOf(at time.Time) int64 { return at.Unix() / 60 }

// add changes the counts of the present minute.
func (s *stats) add(change func(*minuteCounts)) {
	now := minuteOf(time.Now())
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &s.minutes[now%statsMinutes]
	if m.minute != now {
		*m = minuteCounts{minute: now, reloadTimes: m.reloadTimes[:0]}
	}
	change(m)
}

func (s *stats) reloaded(took time.Duration) {
	s.add(func(m *minuteCounts) {
		if len(m.reloadTimes) < maxReloadTimes {
			m.reloadTimes = append(m.reloadTimes, took)
		} else {
			m.reloadTimes[m.Reloads%maxReloadTimes] = took
		}
		m.Reloads++
	})
}

func (s *stats) pushed(failed bool) {
	s.add(func(m *minuteCounts) {
		m.Pushes++
		if failed {
			m.PushErrors++
		}
	})
}

func (s *stats) installed(status pannier.InstallStatus, err error) {
	s.add(func(m *minuteCounts) {
		switch {
		case err != nil:
			m.Refusals++
		case !status.Unchanged():
			m.Installs++
		}
	})
}

// read returns the counts of the last hour.
func (s *stats) read() pannier.Stats {
	now := minuteOf(time.Now())
	answer := pannier.Stats{Minutes: []pannier.StatsMinute{}}
	var times []time.Duration
	s.mu.Lock()
	defer s.mu.Unlock()
	for at := max(s.started, now-statsMinutes+1); at <= now; at++ {
		minute := pannier.StatsMinute{At: time.Unix(at*60, 0).UTC()}
		if m := &s.minutes[at%statsMinutes]; m.minute == at {
			minute.StatsCounts = withTimes(m.StatsCounts, m.reloadTimes)
			times = append(times, m.reloadTimes...)
			t := &answer.Totals
			t.Reloads, t.Pushes, t.PushErrors = t.Reloads+m.Reloads, t.Pushes+m.Pushes, t.PushErrors+m.PushErrors
			t.Installs, t.Refusals = t.Installs+m.Installs, t.Refusals+m.Refusals
		}
		answer.Minutes = append(answer.Minutes, minute)
	}
	answer.Totals = withTimes(answer.Totals, times)
	return answer
}

// withTimes returns counts with the percentiles of durations.
func withTimes(counts pannier.StatsCounts, times []time.Duration) pannier.StatsCounts {
	if len(times) == 0 {
		return counts
	}
	sorted := slices.Sorted(slices.Values(times))
	at := func(percent int) float64 {
		return float64(sorted[(len(sorted)-1)*percent/100].Microseconds()) / 1000
	}
	counts.ReloadP50MS, counts.ReloadP99MS = at(50), at(99)
	return counts
}
