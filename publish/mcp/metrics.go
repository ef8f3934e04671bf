package mcp

import "github.com/prometheus/client_golang/prometheus"

// metrics count the requests of hosts by method and era.
type metrics struct {
	requests *prometheus.CounterVec
	sessions prometheus.Gauge
}

// methods are those that have series of their own, so that hosts cannot create any.
var methods = map[string]bool{
	"initialize": true, "server/discover": true, "ping": true, "subscriptions/listen": true,
	"completion/complete": true, "tools/list": true, "tools/call": true, "prompts/list": true, "prompts/get": true,
	"resources/list": true, "resources/read": true, "resources/templates/list": true, "resources/subscribe": true,
	"resources/unsubscribe": true, "resources/directory/read": true, "skills/list": true, "skills/get": true,
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{requests: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "pannier_mcp_requests_total",
		Help: "Requests of MCP hosts, by method, era of the protocol (session or stateless) and result.",
	}, []string{"method", "era", "result"}), sessions: prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "pannier_mcp_sessions", Help: "Open sessions of MCP hosts over HTTP.",
	})}
	for method := range methods {
		for _, era := range []string{eraSession, eraStateless} {
			m.requests.WithLabelValues(method, era, "ok")
		}
	}
	if reg != nil {
		reg.MustRegister(m.requests, m.sessions)
	}
	return m
}

const (
	eraSession   = "session"
	eraStateless = "stateless"
)

func (m *metrics) count(method string, modern bool, err error) {
	if !methods[method] {
		method = "other"
	}
	era, result := eraSession, "ok"
	if modern {
		era = eraStateless
	}
	if err != nil {
		result = "error"
	}
	m.requests.WithLabelValues(method, era, result).Inc()
}
