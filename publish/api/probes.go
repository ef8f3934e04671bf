package api

import (
	"encoding/json"
	"net/http"
	"slices"

	"pannier"
	"pannier/service"
)

var probeRoutes = []route{
	{
		pattern: "GET /v1/health", endpoint: returns((*Handler).health), early: true,
		id: "getHealth", summary: "What is wrong, and what to do.",
	},
	{
		pattern:  "GET /v1/stats",
		endpoint: returns(func(h *Handler, _ *http.Request, _ *pannier.Snapshot) (pannier.Stats, error) { return h.Stats(), nil }),
		early:    true,
		id:       "getStats", summary: "What happened within the last hour, by minute.",
		has: func(o *Options) bool { return o.Stats != nil },
	},
	{
		pattern: "POST /v1/health/acknowledge", endpoint: takes((*Handler).acknowledge), scope: service.ScopeWrite,
		id: "acknowledgeCondition", summary: "Ends a condition of health that lasts until an operator acknowledges it.",
		has: func(o *Options) bool { return o.Service.Changes != nil },
	},
	{
		pattern: "GET /healthz", endpoint: endpoint{serve: (*Handler).healthz}, early: true,
		id: "getHealthz", summary: "Success while the process answers.", texts: []string{"text/plain"},
	},
	{
		pattern: "GET /readyz", endpoint: endpoint{serve: (*Handler).ready},
		id: "getReadyz", summary: "Success once the first scan is served and the workspace is watched.",
		texts: []string{"text/plain"},
	},
	{
		pattern: "GET /livez", endpoint: endpoint{serve: (*Handler).live}, early: true,
		id: "getLivez", summary: "Success unless a restart would help.", texts: []string{"text/plain"},
	},
	{
		pattern: "GET /metrics", endpoint: endpoint{serve: (*Handler).writeMetrics}, early: true, anyQuery: true,
		untagged: true,
		id:       "getMetrics", summary: "The metrics, as Prometheus reads them.", texts: []string{"text/plain"},
		has: func(o *Options) bool { return o.Metrics != nil },
	},
	{
		pattern: "GET /openapi.json", endpoint: writes[map[string]json.RawMessage]((*Handler).writeOpenAPI),
		early: true,
		id:    "getOpenAPI", summary: "This document.",
	},
}

var probes = []string{"/metrics", "/healthz", "/readyz", "/livez"}

// Probes returns the part of the handler that monitoring asks, metrics and probes, for a listener that others than the
// socket's callers reach. It answers nothing else.
func (h *Handler) Probes() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slices.Contains(probes, r.URL.Path) {
			h.ServeHTTP(w, r)
			return
		}
		h.fail(
			w, r,
			&statusError{
				http.StatusNotFound,
				"no_such_route",
				"there is nothing at " + r.URL.Path,
				"here are /metrics, /healthz, /readyz and /livez; everything else is on the socket",
			},
		)
		h.metrics.count("", http.StatusNotFound)
	})
}

func (h *Handler) health(*http.Request, *pannier.Snapshot) (pannier.Health, error) {
	return h.Health(), nil
}

type acknowledgement struct {
	Condition string `json:"condition"`
}

func (h *Handler) acknowledge(
	r *http.Request, _ *pannier.Snapshot, body acknowledgement,
) (health pannier.Health, err error) {
	if err := h.Service.Acknowledge(r.Context(), body.Condition); err != nil {
		return health, err
	}
	return h.Health(), nil
}

func (h *Handler) writeMetrics(w http.ResponseWriter, r *http.Request, _ *pannier.Snapshot) error {
	h.Metrics.ServeHTTP(w, r)
	return nil
}

func (h *Handler) healthz(w http.ResponseWriter, r *http.Request, _ *pannier.Snapshot) error {
	return writeBody(w, r, "text/plain; charset=utf-8", []byte("ok\n"))
}

// live answers with success unless a restart would help. The platform, the skills and the disk have no part in that.
func (h *Handler) live(w http.ResponseWriter, r *http.Request, _ *pannier.Snapshot) error {
	if h.Alive != nil {
		if err := h.Alive(); err != nil {
			return &statusError{
				http.StatusServiceUnavailable, "not_alive", err.Error(),
				"restart the sidecar; its log may say what it waits for",
			}
		}
	}
	return writeBody(w, r, "text/plain; charset=utf-8", []byte("alive\n"))
}

func (h *Handler) ready(w http.ResponseWriter, r *http.Request, _ *pannier.Snapshot) error {
	if h.Watched != nil && !h.Watched() {
		return errNotWatched
	}
	return writeBody(w, r, "text/plain; charset=utf-8", []byte("ready\n"))
}
