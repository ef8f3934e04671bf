package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"pannier"
	"pannier/service"
)

// Runner is how a runner of tools in the agent's container connects. Without Accept the route does not exist.
type Runner struct {
	// UIDs are the users whose runner is accepted. No other is, not even root.
	UIDs []uint32
	// Accept makes a WebSocket of a request and serves it until the runner leaves or stop is done. If it returns
	// [ErrRunnerConnected], it has not answered.
	Accept func(w http.ResponseWriter, r *http.Request, stop context.Context) error
}

// ErrRunnerConnected says that a workspace has a runner already.
var ErrRunnerConnected = errors.New("another runner is connected")

var runnerRoutes = []route{{
	pattern: "GET /v1/runner", endpoint: endpoint{serve: (*Handler).runner}, early: true, untagged: true,
	id: "openRunner", summary: "Makes a WebSocket (RFC 6455) over which the one runner of the workspace carries out tools.",
	others: map[string]string{"101": "The connection is a WebSocket from here on."}, has: func(o *Options) bool { return o.Runner.Accept != nil },
}}

func (h *Handler) runner(w http.ResponseWriter, r *http.Request, _ *pannier.Snapshot) error {
	caller, ok := service.CallerFrom(r.Context())
	switch {
	case !ok || caller.Token != "":
		return &statusError{http.StatusForbidden, "forbidden", "a runner connects over the unix socket", "mount the directory of the socket in the agent's container"}
	case !slices.Contains(h.Runner.UIDs, caller.UID):
		return &statusError{http.StatusForbidden, "forbidden", fmt.Sprintf("the user %d may not be a runner", caller.UID), "name the uid in tools.runner_uids of the sidecar"}
	case !strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
		return &statusError{http.StatusUpgradeRequired, "no_websocket", "this is not a request for a WebSocket", "run \"pannier runner\""}
	}
	leave, ok := TrackUpgraded(r.Context())
	if !ok {
		return http.ErrServerClosed
	}
	defer leave()
	stop, cancel := UntilShutdown(r.Context())
	defer cancel()
	err := h.Runner.Accept(w, r, stop)
	if errors.Is(err, ErrRunnerConnected) {
		return &statusError{http.StatusConflict, "runner_connected", "another runner is connected", "stop it; a workspace has one runner"}
	}
	return err
}
