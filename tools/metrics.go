package tools

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pannier"
)

type metrics struct {
	calls    *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pannier_tool_calls_total", Help: "Calls of tools of skills by kind and result: ok, failed, or refused before anything ran.",
		}, []string{"kind", "result"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "pannier_tool_call_seconds", Help: "How long calls of tools took that were carried out, with the wait for their turn.",
			Buckets: []float64{0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300},
		}, []string{"kind"}),
	}
	for _, kind := range pannier.RuntimeToolKinds() { // each has its series from the start
		m.duration.WithLabelValues(string(kind))
		for _, result := range []string{"ok", "failed", "refused"} {
			m.calls.WithLabelValues(string(kind), result)
		}
	}
	if reg != nil {
		reg.MustRegister(m.calls, m.duration)
	}
	return m
}

// observe counts a call. A tool that is not known has the kind "unknown".
func (m *metrics) observe(kind pannier.RuntimeToolKind, result pannier.ToolResult, err error, took time.Duration) {
	name := string(kind)
	if name == "" {
		name = "unknown"
	}
	switch {
	case err != nil:
		m.calls.WithLabelValues(name, "refused").Inc()
		return
	case result.OK:
		m.calls.WithLabelValues(name, "ok").Inc()
	default:
		m.calls.WithLabelValues(name, "failed").Inc()
	}
	m.duration.WithLabelValues(name).Observe(took.Seconds())
}
