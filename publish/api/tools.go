package api

import (
	"net/http"
	"time"

	"pannier"
	"pannier/publish/api/rpc"
)

// MaxToolCall is how long a call can take in all: the wait for its turn, and the longest timeout.
const MaxToolCall = 10 * time.Minute

func hasTools(o *Options) bool { return o.Service.Tools != nil }

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
	return h.Service.CancelTool(r.Context(), p.CallID)
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
