package sidecar

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pannier"
)

// scanMetrics measure scans of the workspace, from batch to snapshot.
type scanMetrics struct {
	duration     *prometheus.HistogramVec
	scans        *prometheus.CounterVec
	resyncFound  prometheus.Counter
	lastScan     prometheus.Gauge
	changeResult map[bool]string
}

func newScanMetrics(reg prometheus.Registerer) *scanMetrics {
	m := &scanMetrics{
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "pannier_scan_duration_seconds", Help: "Time from a batch to its snapshot, by what triggered the scan.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"trigger"}),
		scans: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pannier_scans_total", Help: "Looks at the disk, by what triggered them and whether the catalog changed.",
		}, []string{"trigger", "result"}),
		resyncFound: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pannier_resync_found_changes_total", Help: "Changes that only a resync saw. It stays 0 where the kernel tells of changes.",
		}),
		lastScan: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "pannier_last_scan_timestamp_seconds", Help: "When the last scan of the workspace ended.",
		}),
		changeResult: map[bool]string{true: "changed", false: "unchanged"},
	}
	for _, t := range pannier.Triggers() {
		m.duration.WithLabelValues(string(t))
		for _, result := range m.changeResult {
			m.scans.WithLabelValues(string(t), result)
		}
	}
	reg.MustRegister(m.duration, m.scans, m.resyncFound, m.lastScan)
	return m
}

func (m *scanMetrics) observe(t pannier.Trigger, changed bool, took time.Duration) {
	m.duration.WithLabelValues(string(t)).Observe(took.Seconds())
	m.scans.WithLabelValues(string(t), m.changeResult[changed]).Inc()
	if changed && t == pannier.TriggerResync {
		m.resyncFound.Inc()
	}
	m.lastScan.SetToCurrentTime()
}
