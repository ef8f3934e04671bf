package rpc

import (
	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	methods map[string]Method
	calls   *prometheus.CounterVec
	open    prometheus.Gauge
	dropped *prometheus.CounterVec
}

// Why connections are dropped.
const (
	slowReader = "slow_reader"
	missedPong = "missed_pong"
)

// unknown is the label of all methods that there are not, so that clients cannot create series.
const unknown = "none"

func newMetrics(o Options) *metrics {
	m := &metrics{methods: o.Methods, calls: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "pannier_rpc_calls_total", Help: "JSON-RPC calls, by method and outcome.",
	}, []string{"method", "outcome"}), open: prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "pannier_rpc_connections", Help: "WebSockets that are open.",
	}), dropped: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "pannier_rpc_dropped_total",
		Help: "WebSockets that were dropped because their peer did not read or did not answer a ping.",
	}, []string{"reason"})}
	for method := range o.Methods {
		m.calls.WithLabelValues(method, "ok")
		m.calls.WithLabelValues(method, "error")
	}
	m.calls.WithLabelValues(unknown, "error")
	m.dropped.WithLabelValues(slowReader)
	m.dropped.WithLabelValues(missedPong)
	if o.Registerer != nil {
		o.Registerer.MustRegister(m.calls, m.open, m.dropped)
	}
	return m
}

func (m *metrics) count(method string, err *Error) {
	outcome := "ok"
	if err != nil {
		outcome = "error"
	}
	if _, ok := m.methods[method]; !ok {
		method = unknown
	}
	m.calls.WithLabelValues(method, outcome).Inc()
}
