package push

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	pushes       prometheus.Counter
	failures     *prometheus.CounterVec // by reason
	duration     prometheus.Observer
	successful   prometheus.Gauge
	lastSuccess  prometheus.Gauge
	coalesced    prometheus.Counter
	outbox       prometheus.Gauge
	outboxErrors prometheus.Counter
	reconciles   *prometheus.CounterVec // by result
	following    prometheus.Gauge
	peers        prometheus.Gauge
}

const (
	namespace     = "pannier"
	platformLabel = "platform"
)

// newMetrics registers the metrics, or uses those that another publisher has registered.
func newMetrics(reg prometheus.Registerer, label string, readBack bool) (*metrics, error) {
	r := registration{reg: reg, label: prometheus.Labels{platformLabel: label}}
	m := &metrics{
		pushes:       r.counter("publish_total", "Tries to push the agent card, failed ones included.").WithLabelValues(),
		failures:     r.counter("publish_failed_total", "Tries to push the agent card that failed, by reason.", "reason"),
		duration:     r.duration("publish_duration_seconds", "How long a try to push the agent card took."),
		successful:   r.gauge("last_publish_successful", "Whether the newest try to push the agent card succeeded; 0 before the first."),
		lastSuccess:  r.gauge("last_publish_success_timestamp_seconds", "When the platform last took the agent card, in Unix time; 0 before the first time."),
		coalesced:    r.counter("coalesced_total", "Cards that a newer one replaced before the platform had them.").WithLabelValues(),
		outbox:       r.gauge("outbox_pending", "Whether a card waits for the platform to take it."),
		outboxErrors: r.counter("outbox_errors_total", "Times that the outbox could not be read or written.").WithLabelValues(),
		reconciles:   r.counter("reconcile_total", "Checks whether the platform still holds the card, by result.", "result"),
		following:    r.gauge("platform_events_connected", "Whether the platform's event stream is followed."),
		peers:        r.gauge("peers", "Peers of the workspace, as the platform last told."),
	}
	for _, reason := range []Reason{Connect, Timeout, Unauthorized, Rejected, NotFound, Throttled, Server, Redirect, Other} {
		m.failures.WithLabelValues(string(reason))
	}
	if readBack {
		m.failures.WithLabelValues(string(NotStored))
	}
	for _, result := range []string{resultSame, resultReplaced, resultUnreadable} {
		m.reconciles.WithLabelValues(result)
	}
	return m, r.err
}

func (m *metrics) observe(a attempt, begun, ended time.Time) {
	m.pushes.Inc()
	m.duration.Observe(ended.Sub(begun).Seconds())
	if a.err != nil {
		m.failures.WithLabelValues(string(a.Reason)).Inc()
		m.successful.Set(0)
		return
	}
	m.recordSuccess(ended)
}

func (m *metrics) recordSuccess(at time.Time) {
	m.successful.Set(1)
	m.lastSuccess.Set(float64(at.UnixMilli()) / 1000)
}

// setPending records whether the target lacks the newest card.
func (m *metrics) setPending(yes bool) {
	if yes {
		m.outbox.Set(1)
	} else {
		m.outbox.Set(0)
	}
}

// registration makes the metrics of one platform. All platforms that share a registerer share the vectors.
type registration struct {
	reg   prometheus.Registerer // nil for none
	label prometheus.Labels
	err   error
}

func (r *registration) counter(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, append([]string{platformLabel}, labels...))
	return share(r, v).MustCurryWith(r.label)
}

func (r *registration) gauge(name, help string) prometheus.Gauge {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, []string{platformLabel})
	return share(r, v).With(r.label)
}

// duration has buckets up to the longest attempt.
func (r *registration) duration(name, help string) prometheus.Observer {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Name: name, Help: help,
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 15},
	}, []string{platformLabel})
	return share(r, v).With(r.label)
}

// share registers a vector, and returns the one that is registered already if there is one.
func share[C prometheus.Collector](r *registration, vector C) C {
	if r.reg == nil {
		return vector
	}
	err := r.reg.Register(vector)
	if already, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		if existing, ok := already.ExistingCollector.(C); ok {
			return existing
		}
	}
	r.err = errors.Join(r.err, err)
	return vector
}
