package sidecar

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pannier"
)

// scanMetrics measure scans of the workspace, from batch to snapshot.
type scanMetrics struct {
	duration    *prometheus.HistogramVec
	scans       *prometheus.CounterVec
	resyncFound prometheus.Counter
	lastScan    prometheus.Gauge
	// reloaded is 1 if the last scan could take in config.yaml and all roots, lastReload when one last could.
	reloaded, lastReload prometheus.Gauge
	changeResult         map[bool]string
}

func newScanMetrics(reg prometheus.Registerer) *scanMetrics {
	m := &scanMetrics{
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "pannier_scan_duration_seconds", Help: "Time from a batch to its snapshot, by what triggered the scan.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"trigger"}),
		scans: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pannier_scans_total", Help: "Scans of the workspace, by what triggered them and whether the catalog changed.",
		}, []string{"trigger", "result"}),
		resyncFound: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pannier_resync_found_changes_total", Help: "Changes that only a resync saw. It stays 0 where the kernel tells of changes.",
		}),
		lastScan: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "pannier_last_scan_timestamp_seconds", Help: "When the last scan of the workspace ended.",
		}),
		reloaded: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "pannier_last_reload_successful", Help: "1 if the last scan took in config.yaml and all roots, 0 if it kept what they last were.",
		}),
		lastReload: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "pannier_last_reload_success_timestamp_seconds", Help: "When the last scan ended that took in config.yaml and all roots.",
		}),
		changeResult: map[bool]string{true: "changed", false: "unchanged"},
	}
	for _, t := range pannier.Triggers() {
		m.duration.WithLabelValues(string(t))
		for _, result := range m.changeResult {
			m.scans.WithLabelValues(string(t), result)
		}
	}
	reg.MustRegister(m.duration, m.scans, m.resyncFound, m.lastScan, m.reloaded, m.lastReload)
	return m
}

// observe records a scan and the problems of config.yaml and roots that it left.
func (m *scanMetrics) observe(t pannier.Trigger, changed bool, took time.Duration, problems []pannier.Problem) {
	m.duration.WithLabelValues(string(t)).Observe(took.Seconds())
	m.scans.WithLabelValues(string(t), m.changeResult[changed]).Inc()
	if changed && t == pannier.TriggerResync {
		m.resyncFound.Inc()
	}
	m.lastScan.SetToCurrentTime()
	if slices.ContainsFunc(problems, func(p pannier.Problem) bool {
		return p.Severity == pannier.SeverityError && p.Code != codeStateLost
	}) {
		m.reloaded.Set(0)
		return
	}
	m.reloaded.Set(1)
	m.lastReload.SetToCurrentTime()
}
