package api

import (
	"context"
	"errors"
	"net/http"

	"pannier"
)

// The methods in this file answer callers in this process as the routes answer requests. Their errors are of type
// [*pannier.Refusal] where a client can act on them.

// Content returns what an agent needs to follow a skill, as GET /v1/skills/{slug}/content does.
func (h *Handler) Content(ctx context.Context, slug string) (pannier.Content, error) {
	s := h.Snapshot()
	if s == nil {
		return pannier.Content{}, asRefusal(errNotReady)
	}
	e, doc, err := h.readFresh(ctx, s, slug)
	if err != nil {
		return pannier.Content{}, asRefusal(err)
	}
	h.recordLoaded(e, doc)
	return h.contentOf(ctx, e, doc), nil
}

// RunCommand returns the text of a command, as POST /v1/commands/{name} does.
func (h *Handler) RunCommand(ctx context.Context, name, args string) (pannier.CommandRun, error) {
	s := h.Snapshot()
	if s == nil {
		return pannier.CommandRun{}, asRefusal(errNotReady)
	}
	args, err := checkArgs(args)
	if err != nil {
		return pannier.CommandRun{}, asRefusal(err)
	}
	run, err := h.runNamed(ctx, s, name, args)
	return run, asRefusal(err)
}

// MayCallTools reports whether the client of a request may call tools of skills.
func (h *Handler) MayCallTools(ctx context.Context) bool {
	return h.requireScope((&http.Request{}).WithContext(ctx), ScopeCall) == nil
}

// CallTool calls a tool of a skill for the client of a request, as POST /v1/tools/{name} does.
func (h *Handler) CallTool(ctx context.Context, call pannier.ToolRequest) (pannier.ToolResult, error) {
	r := (&http.Request{}).WithContext(ctx)
	if err := h.requireScope(r, ScopeCall); err != nil {
		return pannier.ToolResult{}, asRefusal(err)
	}
	call.Actor = actorOf(r)
	call.Owner = call.Actor.Owner()
	return h.Tools.Call(ctx, call)
}

// Refuse says why a skill cannot be used, or has no text that can be read.
func Refuse(e *pannier.Entry) error {
	switch {
	case !e.Usable:
		return asRefusal(unusable(e))
	case e.ToolsOnly:
		return asRefusal(errToolsOnly(e))
	}
	return asRefusal(errHeldFor(e))
}

// RefuseFile says why a file of a skill cannot be opened. Errors that are about no file come back as they are.
func RefuseFile(e *pannier.Entry, err error) error { return asRefusal(fileRefused(e, err)) }

func asRefusal(err error) error {
	if e, ok := errors.AsType[*statusError](err); ok {
		return &pannier.Refusal{Code: e.code, Message: e.detail, Hint: e.hint}
	}
	return err
}
