package watcher_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"pannier/watcher"
)

func TestMetricsAreThereFromTheStart(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	o := watcher.Options{Rules: rules(t.TempDir()), Registerer: registry}
	if _, err := watcher.New(o); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range families {
		for _, m := range f.GetMetric() {
			series := f.GetName()
			for _, l := range m.GetLabel() {
				series += fmt.Sprintf("{%s=%s}", l.GetName(), l.GetValue())
			}
			got = append(got, series)
		}
	}
	slices.Sort(got)
	want := strings.Fields(`
		pannier_watch_errors_total{kind=emfile}
		pannier_watch_errors_total{kind=enospc}
		pannier_watch_errors_total{kind=lost_root}
		pannier_watch_errors_total{kind=other}
		pannier_watch_errors_total{kind=overflow}
		pannier_watch_events_total
		pannier_watch_mode{mode=degraded}
		pannier_watch_mode{mode=inotify+poll}
		pannier_watch_mode{mode=inotify}
		pannier_watch_mode{mode=poll}
		pannier_watch_rearms_total{reason=overflow}
		pannier_watch_rearms_total{reason=retry}
		pannier_watch_rearms_total{reason=root}
		pannier_watch_roots_missing
		pannier_watches
		pannier_watches_polled`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
	if _, err := watcher.New(o); err == nil {
		t.Error("metrics that are registered already are no error")
	}
}

// TestPolledDirectoriesAreNeverCountedAsWatched collects all values of the gauge while directories are armed that are only
// polled.
func TestPolledDirectoriesAreNeverCountedAsWatched(t *testing.T) {
	root := t.TempDir()
	if err := skills(root, "5"); err != nil {
		t.Fatal(err)
	}
	w, err := watcher.New(watcher.Options{Rules: rules(root), Mode: watcher.Poll})
	if err != nil {
		t.Fatal(err)
	}
	var values []float64
	w.OnWatches(func(n float64) { values = append(values, n) })
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	<-w.Armed()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if len(values) < 2 || slices.Max(values) > 0 {
		t.Errorf("directories that the kernel watches, although it was not asked: %v", values)
	}
}
