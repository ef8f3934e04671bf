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
	string(pannier.FileMissing):     "skills/get lists its files",
	string(pannier.FileIsDirectory): "name a file in it; skills/get lists its files",
	pannier.ToolArgumentsInvalid:    "correct the arguments by the parameters of the tool, then call it again",
}

// modelHints replace hints for people in the result of a tool, by the code of the error.
var modelHints = map[string]string{
	string(pannier.FileMissing): toolActivate + " lists the files of the skill", string(pannier.FileSkipped): tellUser,
	string(pannier.FileIsDirectory): "name a file in it; " + toolActivate + " lists the files of the skill",
	string(pannier.FileForeign):     tellUser, string(pannier.FileSpecial): tellUser, string(pannier.FileUnreadable): tellUser,
	codeNotListed: tellUser,
}

// tellUser is what a model can do about what only people can change. It has no shell commands, because a model with a shell
// would run them, and so undo what people decided.
const tellUser = "tell the user, who can change that, and go on without it"

// hintWithoutCommands returns a hint, or what to do in place of one that has a command line or a route of the API.
func hintWithoutCommands(hint string) string {
	if strings.Contains(hint, "pannier ") || strings.Contains(hint, "GET /v1/") {
		return tellUser
	}
	return hint
}

// asRefusal returns the refusal that an error is. Its hint is one that a host can follow, since it has no other routes.
func asRefusal(err error) (*pannier.Refusal, bool) {
	refusal, ok := errors.AsType[*pannier.Refusal](err)
	if !ok {
		return nil, false
	}
	hint := cmp.Or(hostHints[refusal.Code], hintWithoutCommands(refusal.Hint))
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
			Code: number, Message: textOf(refusal.Message, refusal.Hint),
			Data: encode(errorData{Code: refusal.Code, Detail: refusal.Message, Hint: refusal.Hint, URI: uri}),
		}
	}
	s.Logger.Error("request failed", "method", method, "error", err)
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
}

// textOf returns an error as one text.
func textOf(message, hint string) string {
	if hint == "" {
		return message
	}
	return message + ": " + hint
}

// refusedTool returns the result of a tool that is refused. Of a skill that cannot be used the message says why.
func refusedTool(r *pannier.Refusal) *callResult {
	hint := cmp.Or(modelHints[r.Code], r.Hint)
	if strings.HasPrefix(r.Code, "skill_") && r.Code != "skill_not_found" && r.Code != "skill_not_offered" {
		hint = tellUser
	}
	result := textResult(textOf(r.Message, hint))
	result.IsError = true
	return result
}
