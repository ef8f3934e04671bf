package mcp

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"pannier"
)

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
		err = errors.New("the skill keeps changing while it is read; retry in a moment")
	case !errors.Is(err, errNotReady):
		s.Logger.Error("request failed", "method", method, "error", err)
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
}

// textOf returns a refusal as one text, for people and for models.
func textOf(r *pannier.Refusal) string {
	if r.Hint == "" {
		return r.Message
	}
	return r.Message + ": " + r.Hint
}

func asRefusal(err error) (*pannier.Refusal, bool) { return errors.AsType[*pannier.Refusal](err) }
