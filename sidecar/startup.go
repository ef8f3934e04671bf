package sidecar

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"pannier"
	"pannier/config"
	"pannier/publish/api"
	"pannier/service"
)

// startTimeout is how long a request waits for a sidecar that is being put together, which takes some milliseconds unless a
// disk does not answer.
const startTimeout = time.Second

// startupHandler is what answers from the moment that there is a socket, whatever the start of the sidecar behind it waits for. It is
// for any number of callers.
type startupHandler struct {
	settings config.Settings
	build    Build
	metrics  http.Handler
	early    *api.Handler // answers until the sidecar is there
	begun    chan struct{}
	core     atomic.Pointer[core]
	handler  atomic.Pointer[api.Handler]
}

func newStartupHandler(s config.Settings, b Build, reg *prometheus.Registry, alive func() error) *startupHandler {
	h := &startupHandler{settings: s, build: b, begun: make(chan struct{}), metrics: promhttp.HandlerFor(reg, promhttp.HandlerOpts{Registry: nil})}
	decides := service.New(service.Options{Snapshot: h.snapshot})
	h.early = newBareHandler(api.Options{
		Service: decides, Reports: api.Reports{Health: h.health, Alive: alive}, Metrics: h.metrics,
	})
	reg.MustRegister(healthMetrics{h})
	return h
}

// probes is what monitoring asks; see [api.Handler.Probes]. Of requests for metrics, which cost most, it takes a few at one
// time.
func (s *startupHandler) probes() http.Handler {
	scrapes := make(chan struct{}, maxScrapes)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			select {
			case scrapes <- struct{}{}:
				defer func() { <-scrapes }()
			default:
				w.Header().Set("Retry-After", "1")
				http.Error(w, "too many requests for metrics are in flight", http.StatusServiceUnavailable)
				return
			}
		}
		if h := s.handler.Load(); h != nil {
			h.Probes().ServeHTTP(w, r)
			return
		}
		s.early.Probes().ServeHTTP(w, r)
	})
}

// ServeHTTP implements [http.Handler]. Before the sidecar is there, it answers requests for health, metrics and probes as it
// will later; everything else is as far away as /readyz says.
func (s *startupHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/healthz", "/readyz", "/livez": // they answer with the state of now
	default:
		late := time.NewTimer(startTimeout)
		defer late.Stop()
		select {
		case <-s.begun:
		case <-late.C:
		case <-r.Context().Done():
		}
	}
	if h := s.handler.Load(); h != nil {
		h.ServeHTTP(w, r)
		return
	}
	switch r.URL.Path {
	case "/healthz", "/readyz", "/livez", "/metrics", "/v1/health":
	default:
		r = r.Clone(r.Context())
		r.Method, r.URL.Path, r.URL.RawPath, r.URL.RawQuery = http.MethodGet, "/readyz", "", ""
	}
	s.early.ServeHTTP(w, r)
}

// snapshot returns the newest snapshot, nil before the first.
func (s *startupHandler) snapshot() *pannier.Snapshot {
	if c := s.core.Load(); c != nil {
		return c.registry.Current()
	}
	return nil
}

// health returns what is wrong with the sidecar and the workspace.
func (s *startupHandler) health() pannier.Health {
	if c := s.core.Load(); c != nil {
		return c.health()
	}
	h := newHealth(s.settings, s.build)
	h.Conditions = []pannier.Condition{startingCondition(s.settings, notScanned)}
	h.Watch = pannier.WatchHealth{Mode: "degraded", Roots: []string{}, Problem: "watching has not begun"}
	h.Status = worst(h.Conditions)
	return h
}
