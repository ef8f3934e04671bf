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
	f := &startupHandler{settings: s, build: b, begun: make(chan struct{}), metrics: promhttp.HandlerFor(reg, promhttp.HandlerOpts{Registry: nil})}
	f.early = api.New(api.Options{Snapshot: f.snapshot, Health: f.health, Alive: alive, Metrics: f.metrics})
	reg.MustRegister(newHealthMetrics(f))
	return f
}

// open has a sidecar answer from now on.
func (f *startupHandler) open(c *core, h *api.Handler) {
	f.core.Store(c)
	f.handler.Store(h)
	close(f.begun)
}

// ServeHTTP implements [http.Handler].
func (f *startupHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.choose(r).ServeHTTP(w, r)
}

// probes is what monitoring asks; see [api.Handler.Probes]. Of requests for metrics, which cost most, it takes a few at one
// time.
func (f *startupHandler) probes() http.Handler {
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
		if h := f.handler.Load(); h != nil {
			h.Probes().ServeHTTP(w, r)
			return
		}
		f.early.Probes().ServeHTTP(w, r)
	})
}

// choose returns what answers a request. Before the sidecar is there, that is for health, metrics and probes what it will
// be later; everything else is as far away as /readyz says.
func (f *startupHandler) choose(r *http.Request) http.Handler {
	switch r.URL.Path {
	case "/healthz", "/readyz", "/livez": // they tell how it is now
	default:
		f.await(r)
	}
	if h := f.handler.Load(); h != nil {
		return h
	}
	switch r.URL.Path {
	case "/healthz", "/readyz", "/livez", "/metrics", "/v1/health":
		return f.early
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		later := r.Clone(r.Context())
		later.Method, later.URL.Path, later.URL.RawPath, later.URL.RawQuery = http.MethodGet, "/readyz", "", ""
		f.early.ServeHTTP(w, later)
	})
}

// await waits for the sidecar, for a moment.
func (f *startupHandler) await(r *http.Request) {
	late := time.NewTimer(startTimeout)
	defer late.Stop()
	select {
	case <-f.begun:
	case <-late.C:
	case <-r.Context().Done():
	}
}

// snapshot returns the newest snapshot, nil before the first.
func (f *startupHandler) snapshot() *pannier.Snapshot {
	if c := f.core.Load(); c != nil {
		return c.registry.Current()
	}
	return nil
}

// ready reports what /readyz tells.
func (f *startupHandler) ready() bool {
	c := f.core.Load()
	return c != nil && c.registry.Current() != nil && c.isReady()
}

// health tells what is wrong with the sidecar and the workspace.
func (f *startupHandler) health() pannier.Health {
	if c := f.core.Load(); c != nil {
		return c.health()
	}
	h := newHealth(f.settings, f.build)
	h.Conditions = []pannier.Condition{startingCondition(f.settings, notScanned)}
	h.Watch = pannier.WatchHealth{Mode: "degraded", Roots: []string{}, Problem: "watching has not begun"}
	h.Status = worst(h.Conditions)
	return h
}

// What a start waits for.
const (
	notScanned = "the first scan of the workspace has not ended yet"
	notWatched = "not all directories of the workspace are watched yet"
)

func startingCondition(s config.Settings, waitsFor string) pannier.Condition {
	return pannier.Condition{
		Code: "starting", Severity: pannier.SeverityWarning, Subject: s.Workspace,
		Message: waitsFor, Hint: "wait a moment; where it does not end, the disk may not answer",
	}
}
