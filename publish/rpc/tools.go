package rpc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"pannier"
	"pannier/service"
)

// methodInvoke is what a client is called with that has registered a tool of the agent.
const methodInvoke = "skills/tools/invoke"

type registerParams struct {
	inWorkspace
	Name *string `json:"name"`
}

type registeredTool struct {
	Name       string `json:"name"`
	Registered bool   `json:"registered"`
}

// registerTool is skills/tools/register: the connection carries a tool of the agent out until it ends.
func (h *skills) registerTool(ctx context.Context, _ *pannier.Snapshot, p registerParams) (any, error) {
	peer := PeerOf(ctx)
	switch {
	case p.Name == nil:
		return nil, invalidParams("name is missing", "name the tool as target_tool of a skill does")
	case peer == nil:
		return nil, invalidParams("a tool belongs to a WebSocket, and this is POST", "register it over GET /v1/rpc")
	}
	name := *p.Name
	remove, err := h.Service.Tools.Register(
		service.ActorFrom(ctx).Owner(), name,
		func(ctx context.Context, arguments json.RawMessage) (pannier.ToolResult, error) {
			return invoke(ctx, peer, name, arguments)
		},
	)
	if err != nil {
		return nil, err
	}
	peer.OnLeave(remove)
	return registeredTool{name, true}, nil
}

type invocation struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// invoked is the answer of a client. OK is true where it is absent.
type invoked struct {
	Output string `json:"output"`
	OK     *bool  `json:"ok"`
}

// invoke has a client carry a tool of the agent out.
func invoke(ctx context.Context, peer *Peer, name string, arguments json.RawMessage) (pannier.ToolResult, error) {
	text, err := peer.Call(ctx, methodInvoke, invocation{name, arguments})
	failed := func(code, message, hint string) (pannier.ToolResult, error) {
		return pannier.ToolResult{}, &pannier.ToolError{Code: code, Message: message, Hint: hint}
	}
	if said, ok := errors.AsType[*PeerError](err); ok {
		return failed(
			pannier.ToolFailed, "the agent answered: "+pannier.Truncate(said.Message, 1000),
			"see the log of the agent",
		)
	}
	switch {
	case errors.Is(err, ErrPeerGone):
		return failed(
			pannier.ToolRunnerGone, "the agent closed the connection that had registered "+name,
			"retry when the agent is connected again",
		)
	case errors.Is(err, ErrPeerFull):
		return failed(pannier.ToolBusy, err.Error(), "retry when one has ended")
	case err != nil:
		return pannier.ToolResult{}, err
	}
	var answer invoked
	if err := Params(text, &answer); err != nil {
		return failed(
			pannier.ToolFailed, "the agent answered with something else than {\"output\": \"…\"}",
			"see the log of the agent",
		)
	}
	result := pannier.ToolResult{OK: answer.OK == nil || *answer.OK, Output: answer.Output}
	if !result.OK {
		result.Error = &pannier.ToolError{
			Code: pannier.ToolFailed, Message: "the tool of the agent failed", Hint: "see its output",
		}
	}
	return result, nil
}

type toolParams struct {
	inWorkspace
	Name *string `json:"name"`
	pannier.ToolCall
}

// callTool is skills/tools/call: POST /v1/tools/{name}, for the same callers.
func (h *skills) callTool(ctx context.Context, _ *pannier.Snapshot, p toolParams) (any, error) {
	if p.Name == nil {
		return nil, invalidParams("name is missing", "name the tool as `pannier tool list` does")
	}
	return h.Service.CallTool(ctx, pannier.ToolRequest{ToolCall: p.ToolCall, Name: *p.Name})
}

type permissionParams struct {
	inWorkspace
	SkillSlug  *string            `json:"skill_slug"`
	SourceKind pannier.SourceKind `json:"source_kind"`
}

// toolPermission is skills/tools/permission: GET /v1/tools/permissions/{slug}.
func (h *skills) toolPermission(ctx context.Context, _ *pannier.Snapshot, p permissionParams) (any, error) {
	if p.SkillSlug == nil {
		return nil, invalidParams("skill_slug is missing", "name the skill")
	}
	return h.Service.ToolPermission(ctx, pannier.PolicyKey{
		Slug: *p.SkillSlug, SourceKind: cmp.Or(p.SourceKind, pannier.SourceWorkspace),
	})
}

type cancelParams struct {
	inWorkspace
	CallID string `json:"call_id"`
}

// cancelTool is skills/tools/cancel.
func (h *skills) cancelTool(ctx context.Context, _ *pannier.Snapshot, p cancelParams) (any, error) {
	return h.Service.CancelTool(ctx, p.CallID)
}
