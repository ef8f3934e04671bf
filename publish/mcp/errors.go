package mcp

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"pannier"
	"pannier/service"
)

// hostHints replace hints that name commands, by the code of the error.
var hostHints = map[string]string{
	"command_not_found": "prompts/list lists all prompts", "skill_not_found": "skills/list lists all skills",
	string(pannier.FileMissing):     "skills/get and activate_skill list its files",
	string(pannier.FileIsDirectory): "name a file in it; skills/get and activate_skill list its files",
}

// asRefusal returns the refusal that an error is. Its hint is one that a host can follow, since it has no other routes.
func asRefusal(err error) (*pannier.Refusal, bool) {
	refusal, ok := errors.AsType[*pannier.Refusal](err)
	if !ok {
		return nil, false
	}
	hint := cmp.Or(hostHints[refusal.Code], refusal.Hint)
	if before, _, found := strings.Cut(hint, "GET /v1/"); found {
		hint = before + "`pannier show` says more"
	}
	return &pannier.Refusal{Code: refusal.Code, Message: refusal.Message, Hint: hint}, true
}

func refuse(code, message, hint string) error {
	return &pannier.Refusal{Code: code, Message: message, Hint: hint}
}

// errorData is the data of an error: what a program can switch on, and what a person can do.
type errorData struct {
	Code   string `json:"code"`
	Detail string `json:"detail,omitempty"`
	Hint   string `json:"hint,omitempty"`
	URI    string `json:"uri,omitempty"`
}

// wireError returns an error as hosts get it: with the reason and what to do about it. uri is what was asked for, if
// anything.
func (s *Server) wireError(ctx context.Context, method, uri string, err error) error {
	if _, ok := errors.AsType[*jsonrpc.Error](err); ok || ctx.Err() != nil {
		return err
	}
	if refusal, ok := asRefusal(err); ok {
		number := int64(jsonrpc.CodeInvalidParams)
		if refusal.Code == service.CodeChanging || refusal.Code == service.CodeNotReady {
			number = jsonrpc.CodeInternalError
		}
		return &jsonrpc.Error{
			Code: number, Message: textOf(refusal),
			Data: encode(errorData{Code: refusal.Code, Detail: refusal.Message, Hint: refusal.Hint, URI: uri}),
		}
	}
	s.Logger.Error("request failed", "method", method, "error", err)
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
}

// textOf returns a refusal as one text, for people and for models.
func textOf(r *pannier.Refusal) string {
	if r.Hint == "" {
		return r.Message
	}
	return r.Message + ": " + r.Hint
}
