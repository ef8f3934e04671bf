package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"pannier"
	"pannier/publish/answer"
	"pannier/publish/api/psu1"
	"pannier/publish/api/rpc"
	"pannier/service"
)

// RPC is what the JSON-RPC of the socket takes beside the rest of the options (Pioneer skills protocol). All of it is
// optional.
type RPC struct {
	// WorkspaceID is what a workspace_id among the parameters has to be.
	WorkspaceID string
	// Workspace is the workspace's path on this side, for the paths of skills.
	Workspace string
	// MinimumTrust is what the settings ask of the origin of a skill.
	MinimumTrust pannier.Trust
	// ToolTrust returns what runtime tools of a kind take beside that; without it they take no more.
	ToolTrust func(pannier.RuntimeToolKind) pannier.Trust
	// Rejection returns the reason of a resolution against a skill; without it the reason is left out.
	Rejection func(*pannier.Entry) string
	// Updated returns when a skill was last written, the zero time where that is not known.
	Updated func(*pannier.Skill) time.Time
	// Subscribe returns a channel that has the newest snapshot whenever there is one that was not fetched, the current one
	// at once. Without it there are no notifications.
	Subscribe func() (snapshots <-chan *pannier.Snapshot, cancel func())
}

var streamRoutes = []route{
	{
		pattern: "GET /v1/events", endpoint: endpoint{serve: (*Handler).events}, early: true, untagged: true,
		id: "followEvents", summary: "The events as server-sent events; the data of each is an Event of the components.", texts: []string{"text/event-stream"},
		parameters: []parameter{
			queryList("types", pannier.EventType(""), "Only events of these types."),
			query("follow", "boolean", "With 0 the stream ends with the newest event there is."),
			{"Last-Event-ID", "header", "The number of the event to begin behind.", uint64(0)},
		},
		has: func(o *Options) bool { return o.Events != nil },
	},
	{
		pattern: "GET /v1/rpc", endpoint: endpoint{serve: (*Handler).socket}, early: true, untagged: true,
		id: "openRPC", summary: "Makes a WebSocket (RFC 6455) that carries JSON-RPC 2.0.",
		parameters: []parameter{query("ticket", "string", "One of POST /v1/tickets, in the place of a token.")},
		others:     map[string]string{"101": "The connection is a WebSocket from here on."},
	},
	{
		pattern: "POST /v1/rpc", endpoint: endpoint{(*Handler).call, singleOrBatch{rpcCall{}}, singleOrBatch{rpcAnswer{}}}, early: true,
		id: "callRPC", summary: "Answers single calls of JSON-RPC 2.0, or a batch.",
		others: map[string]string{"204": "There were notifications only, which have no answer."},
	},
}

// CallEnvelope and AnswerEnvelope are those of JSON-RPC 2.0, as the body and the answer of a [Route].
var CallEnvelope, AnswerEnvelope any = rpcCall{}, rpcAnswer{}

// rpcCall and rpcAnswer are the envelopes of JSON-RPC 2.0, as the OpenAPI document has them.
type (
	rpcCall struct {
		Version string `json:"jsonrpc"`
		ID      any    `json:"id,omitempty"`
		Method  string `json:"method"`
		Params  any    `json:"params,omitempty"`
	}
	rpcAnswer struct {
		Version string    `json:"jsonrpc"`
		ID      any       `json:"id"`
		Result  any       `json:"result,omitempty"`
		Error   *rpcError `json:"error,omitempty"`
	}
	rpcError struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    any    `json:"data,omitempty"`
	}
)

type rpcMethod struct {
	name  string
	call  callFunc
	scope service.Scope // what a token must allow; empty is ScopeRead
	// has reports whether a handler with these options has the method; nil is always.
	has     func(*Options) bool
	changes bool // a call may lead to a notification
	long    bool // a call may take as long as a tool of a skill
}

var rpcMethods = []rpcMethod{
	{name: "skills/list", call: calls((*Handler).rpcList)},
	{name: "skills/find", call: calls((*Handler).rpcFind)},
	{name: "skills/health", call: calls((*Handler).rpcHealth)},
	{name: "skills/resolve", call: calls((*Handler).rpcResolve)},
	{name: "skills/prompt", call: calls((*Handler).rpcPrompt)},
	{name: "skills/read", call: calls((*Handler).rpcRead)},
	{name: "skills/policy/list", call: calls((*Handler).rpcPolicies)},
	{"skills/policy/set", calls((*Handler).rpcSetPolicy), service.ScopeWrite, hasChanges, true, false},
	{"skills/install", calls((*Handler).rpcInstallSkill), service.ScopeWrite, hasInstall, true, false},
	{"skills/update", calls((*Handler).rpcUpdateSkill), service.ScopeWrite, hasInstall, true, false},
	{"skills/uninstall", calls((*Handler).rpcUninstall), service.ScopeWrite, hasInstall, true, false},
	{"skills/upload/start", calls((*Handler).rpcUploadStart), service.ScopeWrite, hasUploads, false, false},
	{"skills/upload/finish", calls((*Handler).rpcUploadFinish), service.ScopeWrite, hasUploads, false, false},
	{"skills/upload/abort", calls((*Handler).rpcUploadAbort), service.ScopeWrite, hasUploads, false, false},
	{"skills/upload/status", calls((*Handler).rpcUploadStatus), service.ScopeWrite, hasUploads, false, false},
	{"skills/tools/call", calls((*Handler).rpcCallTool), service.ScopeCall, hasTools, false, true},
	{"skills/tools/register", calls((*Handler).rpcRegisterTool), service.ScopeCall, hasTools, false, false},
	{"skills/tools/cancel", calls((*Handler).rpcCancelTool), service.ScopeCall, hasTools, false, false},
}

func (h *Handler) newRPC() *rpc.Server {
	o := rpc.Options{
		Methods: map[string]rpc.Method{}, ErrorOf: h.rpcError, Subscribe: h.RPC.Subscribe, Changed: h.rpcChanged, MaxConns: h.capacity.WebSockets,
		Logger: h.Logger, Registerer: h.Registerer,
	}
	for _, m := range rpcMethods {
		if m.has == nil || m.has(&h.Options) {
			timeout := time.Duration(0)
			if m.long {
				timeout = MaxToolCall
			}
			o.Methods[m.name] = rpc.Method{Changes: m.changes, Timeout: timeout, Answer: func(r *http.Request, params json.RawMessage) (any, error) {
				return m.call(h, r, m, params)
			}}
		}
	}
	if h.Service.Uploads != nil {
		o.Binary, o.MaxBinary = h.rpcChunk, h.Service.Uploads.Limits().MaxChunk+psu1.MaxPrefix
	}
	return rpc.New(o)
}

// inWorkspace are the parameters that every method has.
type inWorkspace struct {
	WorkspaceID *string `json:"workspace_id"`
}

func (p inWorkspace) workspace() *string { return p.WorkspaceID }

// callFunc answers a call of a method.
type callFunc func(h *Handler, r *http.Request, m rpcMethod, params json.RawMessage) (any, error)

// calls returns what calls a function with the newest snapshot and with parameters, which are read strictly.
func calls[P interface{ workspace() *string }](answer func(*Handler, *http.Request, *pannier.Snapshot, P) (any, error)) callFunc {
	return func(h *Handler, r *http.Request, m rpcMethod, params json.RawMessage) (any, error) {
		var p P
		if err := rpc.Params(params, &p); err != nil {
			return nil, err
		}
		if id := p.workspace(); id != nil {
			if err := h.checkWorkspace(*id); err != nil {
				return nil, err
			}
		}
		s := h.Service.Snapshot()
		if s == nil {
			return nil, service.ErrNotReady
		}
		if m.scope != "" {
			if err := h.Service.Require(r.Context(), requestOf(r, m.name), m.scope); err != nil {
				return nil, err
			}
		}
		return answer(h, r, s, p)
	}
}

func (h *Handler) checkWorkspace(id string) error {
	switch id {
	case "":
		return invalidParams("workspace_id is empty", "leave it out, or use that of GET /v1/health")
	case h.RPC.WorkspaceID:
		return nil
	}
	return rpcFault(rpc.CodeInvalidParams, rpcNotFound, fmt.Sprintf("unknown workspace %.100q", id), "leave it out, or use that of GET /v1/health")
}

func (h *Handler) call(w http.ResponseWriter, r *http.Request, _ *pannier.Snapshot) error {
	text, err := readText(r)
	if err != nil {
		return err
	}
	text = h.calls.Answer(r, text)
	if text == nil {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	writeEncoded(w, r, "application/json", answer.Encoded{Body: text})
	rpc.Release(text)
	return nil
}

func (h *Handler) socket(w http.ResponseWriter, r *http.Request, _ *pannier.Snapshot) error {
	if hasTicket(r) {
		var err error
		if r, _, err = h.redeem(r, nil); err != nil {
			return h.deny(r, err)
		}
	}
	leave, ok := TrackUpgraded(r.Context())
	if !ok {
		return http.ErrServerClosed
	}
	defer leave()
	stop, cancel := UntilShutdown(r.Context())
	defer cancel()
	err := h.calls.Accept(w, r, stop)
	if errors.Is(err, rpc.ErrFull) {
		endConnection(w)
		return &statusError{http.StatusServiceUnavailable, "too_many_sockets", fmt.Sprintf("%d WebSockets are open already", h.capacity.WebSockets), "close one that is not used"}
	}
	if e, ok := errors.AsType[*rpc.HandshakeError](err); ok {
		return &statusError{e.Status, "no_websocket", e.Error(), "GET makes a WebSocket (RFC 6455); POST takes single calls"}
	}
	return err
}
