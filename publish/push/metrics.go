package push

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the series of one platform. All exist from the start.
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

const platformLabel = "platform"

// newMetrics registers the metrics, or uses those that another publisher has registered.
func newMetrics(reg prometheus.Registerer, label string, readBack bool) (*metrics, error) {
	v := newVectors()
	if err := v.register(reg); err != nil {
		return nil, err
	}
	m := &metrics{
		pushes:       v.pushes.WithLabelValues(label),
		failures:     v.failures.MustCurryWith(prometheus.Labels{platformLabel: label}),
		duration:     v.duration.WithLabelValues(label),
		successful:   v.successful.WithLabelValues(label),
		lastSuccess:  v.lastSuccess.WithLabelValues(label),
		coalesced:    v.coalesced.WithLabelValues(label),
		outbox:       v.outbox.WithLabelValues(label),
		outboxErrors: v.outboxErrors.WithLabelValues(label),
		reconciles:   v.reconciles.MustCurryWith(prometheus.Labels{platformLabel: label}),
	}
	m.following, m.peers = v.following.WithLabelValues(label), v.peers.WithLabelValues(label)
	for _, reason := range []Reason{Connect, Timeout, Unauthorized, Rejected, NotFound, Throttled, Server, Redirect, Other} {
		m.failures.WithLabelValues(string(reason))
	}
	if readBack {
		m.failures.WithLabelValues(string(NotStored))
	}
	for _, result := range []string{resultSame, resultReplaced, resultUnreadable} {
		m.reconciles.WithLabelValues(result)
	}
	return m, nil
}

// observe counts one attempt.
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

// recordSuccess records when the target stored a card.
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

// vectors are the metrics of all platforms that share a registerer.
type vectors struct {
	pushes, failures, coalesced     *prometheus.CounterVec
	outboxErrors, reconciles        *prometheus.CounterVec
	duration                        *prometheus.HistogramVec
	successful, lastSuccess, outbox *prometheus.GaugeVec
	following, peers                *prometheus.GaugeVec
}

func newVectors() *vectors {
	return &vectors{
		pushes:       counterVec("publish_total", "Tries to push the agent card, failed ones included."),
		failures:     counterVec("publish_failed_total", "Tries to push the agent card that failed, by reason.", "reason"),
		coalesced:    counterVec("coalesced_total", "Cards that a newer one replaced before the platform had them."),
		duration:     durationVec("publish_duration_seconds", "How long a try to push the agent card took."),
		successful:   gaugeVec("last_publish_successful", "Whether the newest try to push the agent card succeeded; 0 before the first."),
		lastSuccess:  gaugeVec("last_publish_success_timestamp_seconds", "When the platform last took the agent card, in Unix time; 0 before the first time."),
		outbox:       gaugeVec("outbox_pending", "Whether a card waits for the platform to take it."),
		outboxErrors: counterVec("outbox_errors_total", "Times that the outbox could not be read or written."),
		reconciles:   counterVec("reconcile_total", "Checks whether the platform still holds the card, by result.", "result"),
		following:    gaugeVec("platform_events_connected", "Whether the platform's event stream is followed."),
		peers:        gaugeVec("peers", "Peers of the workspace, as the platform last told."),
	}
}

const namespace = "pannier"

func counterVec(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help},
		append([]string{platformLabel}, labels...))
}

func gaugeVec(name, help string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, []string{platformLabel})
}

// durationVec has buckets up to the total timeout.
func durationVec(name, help string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Name: name, Help: help,
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 15},
	}, []string{platformLabel})
}

// register registers each vector, or puts the one that is registered already in its place.
func (v *vectors) register(reg prometheus.Registerer) error {
	if reg == nil {
		return nil
	}
	return errors.Join(
		share(reg, &v.pushes), share(reg, &v.failures), share(reg, &v.coalesced), share(reg, &v.duration),
		share(reg, &v.successful), share(reg, &v.lastSuccess), share(reg, &v.outbox), share(reg, &v.outboxErrors),
		share(reg, &v.reconciles), share(reg, &v.following), share(reg, &v.peers),
	)
}

func share[C prometheus.Collector](reg prometheus.Registerer, c *C) error {
	err := reg.Register(*c)
	if already, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		existing, ok := already.ExistingCollector.(C)
		if ok {
			*c = existing
			return nil
		}
	}
	return err
}
