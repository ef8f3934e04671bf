package api

import (
	"context"
	"errors"
	"net/http"

	"pannier"
	"pannier/publish/api/rpc"
)

// The codes that programs switch on (Pioneer skills protocol), and three that it has not.
const (
	rpcNotFound     = "skills.not_found"
	rpcInvalid      = "skills.invalid_request"
	rpcSource       = "skills.source_not_supported"
	rpcInternal     = "skills.internal_error"
	rpcNotUsable    = "skills.not_usable"
	rpcForbidden    = "skills.forbidden"
	rpcNotAvailable = "skills.unavailable"
)

func rpcFault(number int, code, text, hint string) *rpc.Error {
	return rpc.NewError(number, code, rpc.Details{Error: text, Hint: hint})
}

func invalidParams(text, hint string) *rpc.Error {
	return rpcFault(rpc.CodeInvalidParams, rpcInvalid, text, hint)
}

var errSlugMissing = invalidParams("slug is missing", "name the skill as skills/list does")

// rpcError returns an error of the handler for JSON-RPC, with the code and the text that it has over HTTP.
func (h *Handler) rpcError(r *http.Request, err error) *rpc.Error {
	if e := h.statusOf(r, err); e != nil {
		number, code := rpcNumber(e.status)
		details := rpc.Details{Error: e.detail, Hint: e.hint, Code: e.code}
		if refusal, ok := errors.AsType[*pannier.Refusal](err); ok {
			class := classOf(refusal.Code)
			number, code = class.number, class.code
			details.Conflict, details.Findings, details.Reasons = refusal.Conflict, refusal.Findings, refusal.Reasons
		}
		return rpc.NewError(number, code, details)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return rpcFault(rpc.CodeServer, rpcNotAvailable, "the call took too long", "try again")
	}
	if !errors.Is(err, context.Canceled) { // the caller has gone
		h.Logger.Error("request failed", "path", r.URL.EscapedPath(), "error", err)
	}
	return rpcFault(rpc.CodeInternal, rpcInternal, "the call failed: "+err.Error(), hintLog)
}

func rpcNumber(status int) (int, string) {
	switch status {
	case http.StatusNotFound:
		return rpc.CodeInvalidParams, rpcNotFound
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		return rpc.CodeInvalidParams, rpcInvalid
	case http.StatusConflict:
		return rpc.CodeInvalidRequest, rpcNotUsable
	case http.StatusForbidden:
		return rpc.CodeInvalidRequest, rpcForbidden
	case http.StatusServiceUnavailable:
		return rpc.CodeServer, rpcNotAvailable
	}
	return rpc.CodeInternal, rpcInternal
}
