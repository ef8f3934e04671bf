package api

import (
	"cmp"
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics count the answers of each route and the streams that were dropped, and time what an agent asks for at each turn.
type metrics struct {
	requests *prometheus.CounterVec
	dropped  prometheus.Counter
	resolve  prometheus.Histogram
	turns    *prometheus.CounterVec
}

// resolveBuckets are around the millisecond that a turn may cost.
var resolveBuckets = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{requests: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "pannier_api_requests_total", Help: "Answers of the socket, by route and status.",
	}, []string{"route", "code"}), dropped: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "pannier_event_streams_dropped_total", Help: "Event streams whose reader was too slow.",
	}), resolve: prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "pannier_resolve_duration_seconds", Help: "How long it took to resolve a turn and to render its prompt.", Buckets: resolveBuckets,
	}), turns: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "pannier_turns_total", Help: "Turns that were answered, by whether their events were recorded.",
	}, []string{"recorded"})}
	for _, recorded := range []bool{true, false} {
		m.turns.WithLabelValues(strconv.FormatBool(recorded))
	}
	for _, status := range []int{http.StatusNotFound, http.StatusMethodNotAllowed} {
		m.requests.WithLabelValues(unrouted, strconv.Itoa(status))
	}
	if reg != nil {
		reg.MustRegister(m.requests, m.dropped, m.resolve, m.turns)
	}
	return m
}

// unrouted is the label of all requests that no route takes, so that clients cannot create series.
const unrouted = "none"

// prepare makes the series of a route that people look at or alert on, so that they are there before the first request.
func (m *metrics) prepare(route string) {
	for _, status := range []int{http.StatusOK, http.StatusInternalServerError, http.StatusServiceUnavailable} {
		m.requests.WithLabelValues(route, strconv.Itoa(status))
	}
}

// count notes an answer; route is empty where there is none.
func (m *metrics) count(route string, status int) {
	m.requests.WithLabelValues(cmp.Or(route, unrouted), strconv.Itoa(status)).Inc()
}
