package api

import (
	"cmp"
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics count the answers of each route and the streams that were dropped.
type metrics struct {
	requests *prometheus.CounterVec
	dropped  prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{requests: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "pannier_api_requests_total", Help: "Answers of the socket, by route and status.",
	}, []string{"route", "code"}), dropped: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "pannier_event_streams_dropped_total", Help: "Event streams whose reader was too slow.",
	})}
	for _, status := range []int{http.StatusNotFound, http.StatusMethodNotAllowed} {
		m.requests.WithLabelValues(unrouted, strconv.Itoa(status))
	}
	if reg != nil {
		reg.MustRegister(m.requests, m.dropped)
	}
	return m
}

// unrouted is the label of all requests that no route takes, so that clients cannot create series.
const unrouted = "none"

// count notes an answer; route is empty where there is none.
func (m *metrics) count(route string, status int) {
	m.requests.WithLabelValues(cmp.Or(route, unrouted), strconv.Itoa(status)).Inc()
}
