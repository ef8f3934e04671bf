package module

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"pannier"
	"pannier/publish/api"
	"pannier/service"
	"pannier/tools/runner"
)

// Routes list, call and cancel tools of skills, by the service of the handler.
func Routes() []api.Route {
	return []api.Route{
		{
			Pattern: "GET /v1/tools", Answer: pannier.ToolList{},
			ID: "listTools", Tag: "tools",
			Summary: "The tools of the usable skills, whether they can be called now, and those that are kept back.",
			Serve: func(h *api.Handler, w http.ResponseWriter, r *http.Request, s *pannier.Snapshot) error {
				return api.WriteJSON(w, r, h.Service.Tools.List(s))
			},
		},
		{
			Pattern: "GET /v1/tools/permissions/{slug}", Answer: pannier.ToolPermission{},
			ID: "showToolPermission", Tag: "tools",
			Summary: "What the permission of the tools of a skill covers: files, commands, network, and what a scan found.",
			Serve: func(h *api.Handler, w http.ResponseWriter, r *http.Request, _ *pannier.Snapshot) error {
				permission, err := h.Service.ToolPermission(r.Context(), pannier.PolicyKey{Slug: r.PathValue("slug")})
				if err != nil {
					return err
				}
				return api.WriteJSON(w, r, permission)
			},
		},
		{
			Pattern: "POST /v1/tools/{name}", Scope: service.ScopeCall, Body: pannier.ToolCall{}, OptionalBody: true,
			Answer: pannier.ToolResult{}, Texts: []string{"text/event-stream"},
			ID: "callTool", Tag: "tools",
			Summary: "Calls a tool of a skill. With text/event-stream, output arrives as it is written. " +
				"Emits skill_tool_called.",
			Serve: call,
		},
		{
			Pattern: "GET /v1/tools/calls/{id}/artifacts/{name...}", Scope: service.ScopeCall,
			Texts: []string{"text/plain", "application/octet-stream"},
			ID:    "getArtifact", Tag: "tools",
			Summary: "A file that a call left, byte for byte, for an hour; its ETag is its digest.",
			Serve: func(h *api.Handler, w http.ResponseWriter, r *http.Request, _ *pannier.Snapshot) error {
				name := r.PathValue("name")
				f, err := h.Service.OpenArtifact(r.Context(), r.PathValue("id"), name)
				if err != nil {
					return err
				}
				return h.WriteFile(w, r, f, name, func() {})
			},
		},
		{
			Pattern: "POST /v1/skills/{slug}/prepare", Scope: service.ScopeWrite, Answer: pannier.PreparedSkill{},
			ID: "prepareSkill", Tag: "tools",
			Summary: "Installs the packages that scripts of a skill declare, for calls without a network.",
			Serve: func(h *api.Handler, w http.ResponseWriter, r *http.Request, _ *pannier.Snapshot) error {
				_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(service.MaxToolCall))
				ctx, cancel := api.UntilShutdown(r.Context())
				defer cancel()
				prepared, err := h.Service.PrepareTools(ctx, r.PathValue("slug"))
				if err != nil {
					return err
				}
				return api.WriteJSON(w, r, prepared)
			},
		},
		{
			Pattern: "DELETE /v1/tools/calls/{id}", Scope: service.ScopeCall, Answer: pannier.CanceledToolCall{},
			ID: "cancelToolCall", Tag: "tools", Summary: "Cancels a call of the same client.",
			Serve: func(h *api.Handler, w http.ResponseWriter, r *http.Request, _ *pannier.Snapshot) error {
				canceled, err := h.Service.CancelTool(r.Context(), r.PathValue("id"))
				if err != nil {
					return err
				}
				return api.WriteJSON(w, r, canceled)
			},
		},
	}
}

// call answers with the result of a call. What was refused before anything ran is an error.
func call(h *api.Handler, w http.ResponseWriter, r *http.Request, _ *pannier.Snapshot) error {
	req := pannier.ToolRequest{Name: r.PathValue("name")}
	if err := api.ReadOptionalJSON(r, &req.ToolCall, "send {\"arguments\": {…}}"); err != nil {
		return err
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // a connection within the process has no deadlines
	_ = control.SetWriteDeadline(time.Now().Add(service.MaxToolCall))
	ctx, cancel := api.UntilShutdown(r.Context())
	defer cancel()
	if !api.Prefers(w, r, "text/event-stream", "application/json") {
		result, err := h.Service.CallTool(ctx, req)
		if err != nil {
			return err
		}
		return api.WriteJSON(w, r, result)
	}
	leave, err := h.EnterStream(w)
	if err != nil {
		return err
	}
	defer leave()
	s := &stream{w: w, control: control}
	req.Out = func(d pannier.ToolDelta) {
		name := "progress"
		if d.Text != "" {
			name = "output"
		}
		s.send(name, d)
	}
	stopPings := s.ping(ctx)
	result, err := h.Service.CallTool(ctx, req)
	stopPings()
	switch refusal, refused := errors.AsType[*pannier.Refusal](err); {
	case err == nil:
		s.send("result", result)
	case !s.begun:
		return err
	case refused:
		s.send("error", pannier.ToolError{Code: refusal.Code, Message: refusal.Message, Hint: refusal.Hint})
	default:
		s.send("error", pannier.ToolError{Code: "not_audited", Message: err.Error(), Hint: "the sidecar's log says more"})
	}
	return nil
}

// stream writes server-sent events: output or progress as it comes, then the result or an error. A client that reads
// too slowly misses output, and still gets the result.
type stream struct {
	mu      sync.Mutex
	w       http.ResponseWriter
	control *http.ResponseController
	begun   bool
	failed  bool
}

func (s *stream) send(event string, data any) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if enc.Encode(data) == nil {
		s.write("event: " + event + "\ndata: " + text.String() + "\n") // which ends with a newline of its own
	}
}

func (s *stream) write(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed {
		return
	}
	if !s.begun {
		s.begun = true
		s.w.Header().Set("Content-Type", "text/event-stream")
		s.w.Header().Set("Cache-Control", "no-store")
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(api.StreamWrite))
	_, err := io.WriteString(s.w, text)
	if err == nil {
		err = s.control.Flush()
	}
	s.failed = err != nil && !errors.Is(err, http.ErrNotSupported)
}

// ping keeps a silent stream alive until the returned function is called.
func (s *stream) ping(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(api.PingEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				s.write(": ping\n\n")
			}
		}
	}()
	return func() { cancel(); <-ended }
}

// RunnerRoute is how a runner in the agent's container connects. uids are the users whose runner is accepted; no other
// is, not even root. accept makes a WebSocket of a request and serves it until the runner leaves or stop is done. If it
// returns [runner.ErrConnected], it has not answered.
func RunnerRoute(
	uids []uint32, accept func(w http.ResponseWriter, r *http.Request, stop context.Context) error,
) api.Route {
	return api.Route{
		Pattern: "GET /v1/runner", Early: true, Untagged: true,
		ID: "openRunner", Tag: "tools",
		Summary: "Makes a WebSocket (RFC 6455) over which the one runner of the workspace carries out tools.",
		Others:  map[string]string{"101": "The connection is a WebSocket from here on."},
		Serve: func(_ *api.Handler, w http.ResponseWriter, r *http.Request, _ *pannier.Snapshot) error {
			forbidden := func(detail, hint string) error {
				return api.Fail(http.StatusForbidden, "forbidden", detail, hint)
			}
			caller, ok := service.CallerFrom(r.Context())
			switch {
			case !ok || caller.Token != "":
				return forbidden("a runner connects over the unix socket", "mount the directory of the socket in the agent's container")
			case !slices.Contains(uids, caller.UID):
				return forbidden(fmt.Sprintf("the user %d may not be a runner", caller.UID), "name the uid in tools.runner_uids of the sidecar")
			case !strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
				return api.Fail(http.StatusUpgradeRequired, "no_websocket", "this is not a request for a WebSocket",
					"run \"pannier runner\"")
			}
			leave, ok := api.TrackUpgraded(r.Context())
			if !ok {
				return http.ErrServerClosed
			}
			defer leave()
			stop, cancel := api.UntilShutdown(r.Context())
			defer cancel()
			err := accept(w, r, stop)
			if errors.Is(err, runner.ErrConnected) {
				return api.Fail(http.StatusConflict, "runner_connected", "another runner is connected",
					"stop it; a workspace has one runner")
			}
			return err
		},
	}
}
