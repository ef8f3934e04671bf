package api

import (
	"context"
	"errors"
	"net/http"

	"pannier"
)

// The methods in this file answer callers in this process as the routes answer requests. Their errors are of type
// [*pannier.Refusal] where a client can act on them.

// MayCallTools reports whether the client of a request may call tools of skills.
func (h *Handler) MayCallTools(ctx context.Context) bool {
	return h.checkScope((&http.Request{}).WithContext(ctx), ScopeCall) == nil
}

// CallTool calls a tool of a skill for the client of a request, as POST /v1/tools/{name} does.
func (h *Handler) CallTool(ctx context.Context, call pannier.ToolRequest) (pannier.ToolResult, error) {
	r := (&http.Request{}).WithContext(ctx)
	if err := h.requireScope(r, "tools/call of MCP", ScopeCall); err != nil {
		return pannier.ToolResult{}, asRefusal(err)
	}
	call.Actor = ActorOf(r)
	call.Owner = call.Actor.Owner()
	return h.Tools.Call(ctx, call)
}

func asRefusal(err error) error {
	if e, ok := errors.AsType[*statusError](err); ok {
		return &pannier.Refusal{Code: e.code, Message: e.detail, Hint: e.hint}
	}
	return err
}
