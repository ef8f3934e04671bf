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

// tellRPC tells an error of the handler to a caller of JSON-RPC: the same code and the same words, in another form.
func (h *Handler) tellRPC(r *http.Request, err error) *rpc.Error {
	if refusal, ok := errors.AsType[*pannier.Refusal](err); ok {
		class := classOf(refusal.Code)
		return rpc.NewError(class.number, class.code, rpc.Details{Error: refusal.Message, Hint: refusal.Hint, Code: refusal.Code})
	}
	if e, ok := errors.AsType[*statusError](err); ok {
		number, code := rpcNumber(e.status)
		return rpc.NewError(number, code, rpc.Details{Error: e.detail, Hint: e.hint, Code: e.code})
	}
	switch {
	case errors.Is(err, pannier.ErrNotAudited):
		h.Logger.Error("refused, because it could not be audited", "path", r.URL.EscapedPath(), "error", err)
		return rpc.NewError(rpc.CodeServer, rpcNotAvailable, rpc.Details{Error: "nothing was changed, because " + err.Error(), Hint: "make room in the state directory, or make it writable", Code: "not_audited"})
	case errors.Is(err, context.DeadlineExceeded):
		return rpcFault(rpc.CodeServer, rpcNotAvailable, "the call took too long", "try again")
	case errors.Is(err, context.Canceled): // nobody waits for it
	default:
		h.Logger.Error("request failed", "path", r.URL.EscapedPath(), "error", err)
	}
	return rpcFault(rpc.CodeInternal, rpcInternal, "the call failed: "+err.Error(), "the sidecar's log says more")
}

// rpcNumber returns number and code for what has a status over HTTP.
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
