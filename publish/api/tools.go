package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"pannier"
	"pannier/publish/answer"
	"pannier/publish/api/rpc"
	"pannier/service"
)

// maxToolCall is how long a call can take in all: the wait for its turn, and the longest timeout.
const maxToolCall = 10 * time.Minute

func hasTools(o *Options) bool { return o.Service.Tools != nil }

var toolRoutes = []route{
	{
		pattern: "GET /v1/tools", endpoint: writes[pannier.ToolList]((*Handler).listTools),
		id: "listTools", summary: "The tools of the usable skills, whether they can be called now, and those that are kept back.", has: hasTools,
	},
	{
		pattern: "POST /v1/tools/{name}", endpoint: endpoint{serve: (*Handler).callTool, answer: pannier.ToolResult{}}, bodySchema: pannier.ToolCall{}, optional: true,
		scope: service.ScopeCall, id: "callTool", summary: "Calls a tool of a skill. With text/event-stream, output arrives as it is written. Emits skill_tool_called.",
		texts: []string{"text/event-stream"}, has: hasTools,
	},
	{
		pattern: "DELETE /v1/tools/calls/{id}", endpoint: returns((*Handler).cancelTool), scope: service.ScopeCall,
		id: "cancelToolCall", summary: "Cancels a call of the same client.", has: hasTools,
	},
}

func (h *Handler) listTools(w http.ResponseWriter, r *http.Request, s *pannier.Snapshot) error {
	return WriteJSON(w, r, h.Service.Tools.List(s))
}

// callTool answers with the result of a call. What was refused before anything ran is an error.
func (h *Handler) callTool(w http.ResponseWriter, r *http.Request, _ *pannier.Snapshot) error {
	req := pannier.ToolRequest{Name: r.PathValue("name")}
	if err := readToolCall(r, &req.ToolCall); err != nil {
		return err
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // a connection within the process has no deadlines
	_ = control.SetWriteDeadline(time.Now().Add(maxToolCall))
	ctx, cancel := UntilShutdown(r.Context())
	defer cancel()
	if Prefers(w, r, "text/event-stream", "application/json") {
		return h.streamTool(ctx, w, control, req)
	}
	result, err := h.Service.CallTool(ctx, req)
	if err != nil {
		return err
	}
	return WriteJSON(w, r, result)
}

// readToolCall reads the body of a call; nothing is a call without arguments.
func readToolCall(r *http.Request, call *pannier.ToolCall) error {
	text, err := readText(r)
	if err != nil || len(strings.TrimSpace(string(text))) == 0 {
		return err
	}
	dec := json.NewDecoder(strings.NewReader(string(text)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(call); err != nil {
		return bodyError(err, "send {\"arguments\": {…}}")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return bodyError(errors.New("unexpected data after the JSON value"), "send one JSON object")
	}
	return nil
}

// streamTool answers with server-sent events: output or progress as it comes, then result, or error.
func (h *Handler) streamTool(ctx context.Context, w http.ResponseWriter, control *http.ResponseController, req pannier.ToolRequest) error {
	leave, err := h.EnterStream(w)
	if err != nil {
		return err
	}
	defer leave()
	s := &toolStream{w: w, control: control}
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
	if err != nil && !s.begun {
		return err
	}
	if err != nil {
		s.send("error", toolErrorOf(err))
		return nil
	}
	s.send("result", result)
	return nil
}

// toolStream writes server-sent events. A client that reads too slowly misses output, and still gets the result.
type toolStream struct {
	mu      sync.Mutex
	w       http.ResponseWriter
	control *http.ResponseController
	begun   bool
	failed  bool
}

func (s *toolStream) send(event string, data any) {
	text, err := answer.Encode(data)
	if err != nil {
		return
	}
	s.write("event: " + event + "\ndata: " + strings.TrimRight(string(text), "\n") + "\n\n")
}

func (s *toolStream) write(text string) {
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
	_ = s.control.SetWriteDeadline(time.Now().Add(streamWrite))
	_, err := io.WriteString(s.w, text)
	if err == nil {
		err = s.control.Flush()
	}
	s.failed = err != nil && !errors.Is(err, http.ErrNotSupported)
}

// ping keeps a silent stream alive until the returned function is called.
func (s *toolStream) ping(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(pingEvery)
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

func toolErrorOf(err error) pannier.ToolError {
	if r, ok := errors.AsType[*pannier.Refusal](err); ok {
		return pannier.ToolError{Code: r.Code, Message: r.Message, Hint: r.Hint}
	}
	return pannier.ToolError{Code: "not_audited", Message: err.Error(), Hint: hintLog}
}

type canceledCall struct {
	CallID   string `json:"call_id"`
	Canceled bool   `json:"canceled"`
}

// cancelTool cancels a call. One that has ended already is none.
func (h *Handler) cancelTool(r *http.Request, _ *pannier.Snapshot) (canceledCall, error) {
	return h.cancel(r, r.PathValue("id"))
}

func (h *Handler) cancel(r *http.Request, id string) (canceledCall, error) {
	return canceledCall{id, true}, h.Service.CancelTool(r.Context(), id)
}

type rpcToolParams struct {
	inWorkspace
	Name *string `json:"name"`
	pannier.ToolCall
}

// rpcCallTool is skills/tools/call: POST /v1/tools/{name}, for the same callers.
func (h *Handler) rpcCallTool(r *http.Request, _ *pannier.Snapshot, p rpcToolParams) (any, error) {
	if p.Name == nil {
		return nil, invalidParams("name is missing", "name the tool as `pannier tool list` does")
	}
	return h.Service.CallTool(r.Context(), pannier.ToolRequest{ToolCall: p.ToolCall, Name: *p.Name})
}

type rpcCancelParams struct {
	inWorkspace
	CallID string `json:"call_id"`
}

// rpcCancelTool is skills/tools/cancel.
func (h *Handler) rpcCancelTool(r *http.Request, _ *pannier.Snapshot, p rpcCancelParams) (any, error) {
	return h.cancel(r, p.CallID)
}

// toolRefusals are the classes of refused calls of tools.
var toolRefusals = map[string]refusalClass{
	"call_not_found":               {http.StatusNotFound, rpc.CodeInvalidParams, rpcNotFound},
	pannier.ToolDisabled:           {http.StatusForbidden, rpc.CodeInvalidRequest, rpcForbidden},
	pannier.ToolNotFound:           {http.StatusNotFound, rpc.CodeInvalidParams, rpcNotFound},
	pannier.ToolNoRunner:           {http.StatusServiceUnavailable, rpc.CodeServer, rpcNotAvailable},
	pannier.ToolRunnerGone:         {http.StatusServiceUnavailable, rpc.CodeServer, rpcNotAvailable},
	pannier.ToolChanged:            {http.StatusConflict, rpc.CodeInvalidRequest, rpcNotUsable},
	pannier.ToolUnscanned:          {http.StatusConflict, rpc.CodeInvalidRequest, rpcNotUsable},
	pannier.ToolNotAllowed:         {http.StatusForbidden, rpc.CodeInvalidRequest, rpcForbidden},
	pannier.ToolTrustLevelTooLow:   {http.StatusForbidden, rpc.CodeInvalidRequest, rpcForbidden},
	pannier.ToolDependencyMissing:  {http.StatusConflict, rpc.CodeInvalidRequest, rpcNotUsable},
	pannier.ToolBusy:               {http.StatusServiceUnavailable, rpc.CodeServer, rpcNotAvailable},
	pannier.ToolCanceled:           {http.StatusConflict, rpc.CodeInvalidRequest, rpcNotUsable},
	pannier.ToolSandboxUnavailable: {http.StatusServiceUnavailable, rpc.CodeServer, rpcNotAvailable},
}
