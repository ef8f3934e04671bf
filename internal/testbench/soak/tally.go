package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// tally is what a soak has counted and measured.
type tally struct {
	rounds, ops, divergences, resyncFound int
	quiet                                 time.Time
	issued                                map[int]int // tokens, by writer
	first                                 uint64      // version of the snapshot after the first round
	latencies                             []time.Duration
	gauges                                []gauges // of the present life, at quiet times
}

// gauges are what must not grow.
type gauges struct{ rss, files, goroutines float64 }

// maxGauges bounds what is kept; of more, every other one is dropped.
const maxGauges = 4096

// visible notes how long after the last change the list showed it.
func (t *tally) visible(d time.Duration) {
	t.latencies = append(t.latencies, d)
	t.latencies = t.latencies[max(0, len(t.latencies)-maxGauges):]
}

// reborn forgets what was measured of an earlier process.
func (t *tally) reborn() { t.gauges = nil }

// sample measures the sidecar.
func (s *soak) sample(ctx context.Context) error {
	m, err := s.side.metrics(ctx)
	if err != nil {
		return err
	}
	t := &s.tally
	t.gauges = append(t.gauges, gauges{m["process_resident_memory_bytes"], m["process_open_fds"], m["go_goroutines"]})
	if len(t.gauges) > maxGauges {
		thinned := t.gauges[:0]
		for i := 0; i < len(t.gauges); i += 2 {
			thinned = append(thinned, t.gauges[i])
		}
		t.gauges = thinned
	}
	return nil
}

// growth compares the first and the last quarter of the last life.
func (t *tally) growth() error {
	const enough = 24
	if len(t.gauges) < enough {
		return nil
	}
	quarter := len(t.gauges) / 4
	// The first rounds fill caches.
	first, last := t.gauges[quarter/4:quarter+quarter/4], t.gauges[len(t.gauges)-quarter:]
	var errs []error
	for _, g := range []struct {
		name          string
		of            func(gauges) float64
		factor, added float64
	}{
		{"resident bytes", func(g gauges) float64 { return g.rss }, 1.3, 16 << 20},
		{"open files", func(g gauges) float64 { return g.files }, 1, 8},
		{"goroutines", func(g gauges) float64 { return g.goroutines }, 1, 10},
	} {
		before, after := median(first, g.of), median(last, g.of)
		if after > before*g.factor+g.added {
			errs = append(errs, fmt.Errorf("%s grew from %.0f to %.0f", g.name, before, after))
		}
	}
	return errors.Join(errs...)
}

func median(samples []gauges, of func(gauges) float64) float64 {
	var values []float64
	for _, g := range samples {
		values = append(values, of(g))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// quantile returns the smallest sample that at least that part of the samples does not exceed. samples are sorted.
func quantile(samples []time.Duration, q float64) time.Duration {
	if len(samples) == 0 {
		return 0
	}
	return samples[max(0, int(math.Ceil(q*float64(len(samples))))-1)]
}

// line tells how far the soak is.
func (s *soak) line() string {
	t, now := &s.tally, gauges{}
	if n := len(t.gauges); n > 0 {
		now = t.gauges[n-1]
	}
	sorted := slices.Sorted(slices.Values(t.latencies))
	counts := s.endpoint.Counts()
	return fmt.Sprintf("%6s  ops %d  rounds %d  divergences %d  lives %d  visible p50 %v p99 %v max %v  resync found %d  rss %.1f MiB  fds %.0f  goroutines %.0f  pushes %d of %d",
		time.Since(s.began).Round(time.Second), t.ops, t.rounds, t.divergences, s.life.number,
		quantile(sorted, .5).Round(time.Millisecond), quantile(sorted, .99).Round(time.Millisecond), quantile(sorted, 1).Round(time.Millisecond),
		t.resyncFound, now.rss/(1<<20), now.files, now.goroutines, counts.Acknowledged, counts.Updates)
}
