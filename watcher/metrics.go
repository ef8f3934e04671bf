package watcher

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// The values of the labels, each of which has a series from the start.
const (
	kindOverflow = "overflow"
	kindENOSPC   = "enospc"
	kindEMFILE   = "emfile"
	kindLostRoot = "lost_root"
	kindOther    = "other"

	rearmRoot     = "root"
	rearmOverflow = "overflow"
	rearmRetry    = "retry"
)

type metrics struct {
	watches prometheus.Gauge
	polled  prometheus.Gauge
	missing prometheus.Gauge
	events  prometheus.Counter
	errors  *prometheus.CounterVec
	rearms  *prometheus.CounterVec
	mode    *prometheus.GaugeVec
}

// newMetrics returns metrics that are registered with r, if that is not nil.
func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		watches: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "pannier_watches", Help: "Directories that the kernel watches.",
		}),
		polled: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "pannier_watches_polled", Help: "Directories that are polled, whether the kernel watches them too or not.",
		}),
		missing: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "pannier_watch_roots_missing", Help: "Roots that are not there, or cannot be watched.",
		}),
		events: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pannier_watch_events_total", Help: "Events that the kernel told of, whether they mattered or not.",
		}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pannier_watch_errors_total", Help: "What kept watching from working, by kind.",
		}, []string{"kind"}),
		rearms: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pannier_watch_rearms_total", Help: "How often directories were armed anew, by reason.",
		}, []string{"reason"}),
		mode: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "pannier_watch_mode", Help: "1 for the mode that watching is in, 0 for the others.",
		}, []string{"mode"}),
	}
	for _, kind := range []string{kindOverflow, kindENOSPC, kindEMFILE, kindLostRoot, kindOther} {
		m.errors.WithLabelValues(kind)
	}
	for _, reason := range []string{rearmRoot, rearmOverflow, rearmRetry} {
		m.rearms.WithLabelValues(reason)
	}
	m.setMode(modeDegraded)
	if r == nil {
		return m, nil
	}
	var errs []error
	for _, c := range []prometheus.Collector{m.watches, m.polled, m.missing, m.events, m.errors, m.rearms, m.mode} {
		errs = append(errs, r.Register(c))
	}
	return m, errors.Join(errs...)
}

func (m *metrics) setMode(mode string) {
	for _, known := range modes {
		value := 0.0
		if known == mode {
			value = 1
		}
		m.mode.WithLabelValues(known).Set(value)
	}
}
