package api

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics count the answers of each route.
type metrics struct {
	requests *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{requests: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "pannier_api_requests_total", Help: "Answers of the socket, by route and status.",
	}, []string{"route", "code"})}
	if reg != nil {
		reg.MustRegister(m.requests)
	}
	return m
}

// prepare makes the series of a route that everybody asks for, so that it is there before the first request.
func (m *metrics) prepare(route string) { m.requests.WithLabelValues(route, "200") }

func (m *metrics) count(route string, status int) {
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
}
