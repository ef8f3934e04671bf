package molecule_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestSeriesFromTheStart: what only read-back can fail with has a series only with it.
func TestSeriesFromTheStart(t *testing.T) {
	for _, readBack := range []bool{false, true} {
		reg := prometheus.NewRegistry()
		newPublisher(t, options{Registerer: reg, ReadBack: readBack, Outbox: t.TempDir()})
		newPublisher(t, options{Registerer: reg, ReadBack: readBack, URL: "https://other.test"})
		problems, err := testutil.GatherAndLint(reg)
		if err != nil || len(problems) != 0 {
			t.Errorf("lint: %v %v", problems, err)
		}
		want := map[string]int{
			"pannier_publish_failed_total": 18, "pannier_outbox_errors_total": 2, "pannier_reconcile_total": 6,
		}
		if readBack {
			want["pannier_publish_failed_total"] = 20
		}
		for name, n := range want {
			if got, err := testutil.GatherAndCount(reg, name); got != n || err != nil {
				t.Errorf("read back %v: %d series of %s, want %d (%v)", readBack, got, name, n, err)
			}
		}
	}
}
