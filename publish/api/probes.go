package api

import (
	"net/http"
	"slices"

	"pannier"
)

// probes are the paths that [Handler.Probes] answers.
var probes = []string{"/metrics", "/healthz", "/readyz", "/livez"}

// Probes returns the part of the handler that monitoring asks, metrics and probes, for a listener that others than the
// socket's callers reach. It answers nothing else.
func (h *Handler) Probes() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slices.Contains(probes, r.URL.Path) {
			h.ServeHTTP(w, r)
			return
		}
		h.fail(w, r, &statusError{http.StatusNotFound, "no_such_route", "there is nothing at " + r.URL.Path, "here are /metrics, /healthz, /readyz and /livez; everything else is on the socket"})
		h.metrics.count("", http.StatusNotFound)
	})
}

// answering answers with success: that there is an answer is what it tells.
func (h *Handler) answering(w http.ResponseWriter, r *http.Request, _ *pannier.Snapshot) error {
	return writeBody(w, r, "text/plain; charset=utf-8", []byte("ok\n"))
}

// live answers with success unless a restart would help. The platform, the skills and the disk have no part in that.
func (h *Handler) live(w http.ResponseWriter, r *http.Request, _ *pannier.Snapshot) error {
	if h.Alive != nil {
		if err := h.Alive(); err != nil {
			return &statusError{http.StatusServiceUnavailable, "not_alive", err.Error(), "restart the sidecar; its log may tell what it hangs on"}
		}
	}
	return writeBody(w, r, "text/plain; charset=utf-8", []byte("alive\n"))
}
