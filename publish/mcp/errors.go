package mcp

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"pannier"
)

// hostHints replace hints that name routes of the API, by the code of the error.
var hostHints = map[string]string{
	"command_not_found": "prompts/list lists all prompts", "skill_not_found": "skills/list lists all skills",
	"skill_tools_only":              "add a SKILL.md beside tools/ to give it instructions",
	string(pannier.FileTooLarge):    "activate_skill names",
	string(pannier.FileMissing):     "skills/get and activate_skill list its files",
	string(pannier.FileIsDirectory): "skills/get and activate_skill list its files",
	string(pannier.FileSkipped):     "skills/get and activate_skill list its files",
}

// asRefusal returns the refusal that an error is. Its hint is one that a host can follow, since it has no other routes.
func asRefusal(err error) (*pannier.Refusal, bool) {
	refusal, ok := errors.AsType[*pannier.Refusal](err)
	if !ok {
		return nil, false
	}
	before, _, found := strings.Cut(refusal.Hint, "GET /v1/")
	if !found {
		return refusal, true
	}
	hint := before + cmp.Or(hostHints[refusal.Code], "`pannier show` says more")
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

// wireError returns an error as hosts get it: with the reason and what to do about it. uri is what was asked for, if anything.
func (s *Server) wireError(ctx context.Context, method, uri string, err error) error {
	if _, ok := errors.AsType[*jsonrpc.Error](err); ok || ctx.Err() != nil {
		return err
	}
	if refusal, ok := asRefusal(err); ok {
		return &jsonrpc.Error{
			Code: jsonrpc.CodeInvalidParams, Message: textOf(refusal),
			Data: encode(errorData{Code: refusal.Code, Detail: refusal.Message, Hint: refusal.Hint, URI: uri}),
		}
	}
	switch {
	case errors.Is(err, pannier.ErrChanged):
		err = errors.New(textChanging)
	case !errors.Is(err, errNotReady):
		s.Logger.Error("request failed", "method", method, "error", err)
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
}

const textChanging = "the skill keeps changing while it is read; retry in a moment"

// textOf returns a refusal as one text, for people and for models.
func textOf(r *pannier.Refusal) string {
	if r.Hint == "" {
		return r.Message
	}
	return r.Message + ": " + r.Hint
}
