// Package api serves the snapshot on a unix socket, as HTTP and JSON, so that every language and `curl --unix-socket`
// can use it at once.
//
// A handler composes what others own: the snapshot of the registry, the text of a skill from the loader, a resolution
// and its prompt. It holds no state but answers to the newest snapshot that others may ask for too. Every request is
// answered from one snapshot: the newest, or the one after a new scan where the disk has moved on.
//
// Errors are application/problem+json (RFC 9457) with a stable `code`, a `detail` and a `hint`. Answers to GET carry
// a strong ETag. Requests with an Origin or a Referer are refused unless [Browsers] allow them, because only a
// browser sends them, and bodies are bounded and may hold no field that is not known.
package api

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"pannier"
	"pannier/internal/onetime"
	"pannier/publish/answer"
	"pannier/publish/card"
	"pannier/publish/turn"
	"pannier/service"
)

// Reports are what the sidecar tells of itself. All but Health are optional.
type Reports struct {
	// Health returns what is wrong, Stats what happened within the last hour.
	Health func() pannier.Health
	Stats  func() pannier.Stats
	// Alive returns why a restart would help, for /livez.
	Alive func() error
	// Watched reports whether all of the workspace is watched, for /readyz.
	Watched func() bool
	// Card returns the agent card of the newest snapshot. It is not called before the first, and needed from then on.
	Card func() card.Card
	// CardStatus returns what the platforms hold.
	CardStatus func() pannier.CardStatus
	// Peers returns the workspaces that the agent can delegate to, in their order. What it returns is not changed.
	Peers func() []pannier.Peer
}

// Options are what the handler composes. All but the ones marked optional are needed.
type Options struct {
	// Service decides and records what clients ask for.
	Service *service.Service
	// Turns answers turns; it is not needed by a handler without a snapshot.
	Turns *turn.Turns
	Reports
	// MaxArchiveBytes bounds the body of an installation.
	MaxArchiveBytes int64

	// RPC answers JSON-RPC; optional.
	RPC RPC
	// Shared keeps encoded lists; optional.
	Shared *answer.Shared
	// Routes are those of modules.
	Routes []Route

	Events     *EventSource          // optional: serves the event stream
	Metrics    http.Handler          // optional: serves /metrics
	Registerer prometheus.Registerer // optional
	Logger     hclog.Logger          // optional
}

// Handler answers the requests of the socket. It is for any number of callers.
type Handler struct {
	Options
	mux         *http.ServeMux
	routes      map[string]route // by pattern
	openAPIText func() (answer.Encoded, error)
	metrics     *metrics
	capacity    Capacity
	streams     atomic.Int64 // event streams that are open
	frames      frames
	tickets     *onetime.Store[ticketHolder]
}

// New returns a handler.
func New(o Options) *Handler {
	o.Logger = cmp.Or(o.Logger, hclog.NewNullLogger())
	if o.Shared == nil {
		o.Shared = &answer.Shared{}
	}
	h := &Handler{
		Options: o, mux: http.NewServeMux(), routes: map[string]route{}, capacity: CapacityNow(),
		metrics: newMetrics(o.Registerer), tickets: onetime.New[ticketHolder](ticketTTL),
	}
	h.openAPIText = sync.OnceValues(func() (answer.Encoded, error) { return answer.Of(h.openAPI()) })
	for _, route := range slices.Concat(routes(), moduleRoutes(o.Routes)) {
		if route.has == nil || route.has(&h.Options) {
			h.add(route)
		}
	}
	return h
}

const maxRequestBytes = 1 << 20

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	found, pattern := h.mux.Handler(r)
	counted := &countingWriter{ResponseWriter: w, status: http.StatusOK}
	if r.Body != http.NoBody {
		limit := int64(maxRequestBytes)
		if len(h.routes[pattern].raw) > 0 {
			limit = h.MaxArchiveBytes + 1 // so that the installer reports a larger archive
		}
		r.Body = http.MaxBytesReader(w, r.Body, limit)
	}
	if err := admit(r); err != nil {
		h.fail(counted, r, h.deny(r, err))
	} else if r, err = limitScope(r); err != nil {
		h.fail(counted, r, err)
	} else if err := checkFilePath(r); err != nil {
		h.fail(counted, r, err)
	} else if pattern == "" {
		h.unrouted(counted, r)
	} else if strings.Contains(pattern, "{") {
		h.mux.ServeHTTP(counted, r) // which notes the parts of the path
	} else {
		found.ServeHTTP(counted, r)
	}
	h.metrics.count(pattern, counted.status)
	h.logRequest(r, counted.status)
}

func (h *Handler) logRequest(r *http.Request, status int) {
	if !h.Logger.IsDebug() {
		return
	}
	fields := []any{"method", r.Method, "path", r.URL.EscapedPath(), "status", status}
	if peer, ok := service.CallerFrom(r.Context()); ok && peer.Token != "" {
		fields = append(fields, "token", peer.Token)
	} else if ok {
		fields = append(fields, "uid", peer.UID, "gid", peer.GID)
	}
	h.Logger.Debug("answered", fields...)
}

// unrouted answers a request that no route takes, with the status that the router would give.
func (h *Handler) unrouted(w http.ResponseWriter, r *http.Request) {
	probe := &probeWriter{header: http.Header{}}
	h.mux.ServeHTTP(probe, r)
	if allow := probe.header.Get("Allow"); allow != "" {
		w.Header().Set("Allow", allow)
		h.fail(
			w, r,
			&statusError{
				http.StatusMethodNotAllowed,
				"method_not_allowed",
				r.Method + " is not a method of " + r.URL.Path,
				"use one of " + allow,
			},
		)
		return
	}
	h.fail(
		w, r,
		&statusError{
			http.StatusNotFound,
			"no_such_route",
			"there is nothing at " + r.URL.Path,
			"the routes begin with /v1/, such as /v1/skills and /v1/health",
		},
	)
}
