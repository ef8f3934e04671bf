package rpc

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"pannier"
	"pannier/service"
)

// The codes that programs switch on (Pioneer skills protocol), and three that it has not.
const (
	notFound     = "skills.not_found"
	invalid      = "skills.invalid_request"
	source       = "skills.source_not_supported"
	internal     = "skills.internal_error"
	notUsable    = "skills.not_usable"
	forbidden    = "skills.forbidden"
	notAvailable = "skills.unavailable"
)

func fault(number int, code, text, hint string) *Error {
	return NewError(number, code, Details{Error: text, Hint: hint})
}

func invalidParams(text, hint string) *Error {
	return fault(CodeInvalidParams, invalid, text, hint)
}

var errSlugMissing = invalidParams("slug is missing", "name the skill as skills/list does")

// errorOf returns an error of the service for JSON-RPC, with the code and the text that it has over HTTP.
func (h *skills) errorOf(r *http.Request, err error) *Error {
	if problem, ok := h.Service.Problem(r.URL.EscapedPath(), err); ok {
		number, code := numberOf(problem)
		return NewError(number, code, Details{
			Error: problem.Detail, Hint: problem.Hint, Code: problem.Code, Conflict: problem.Conflict,
			Findings: problem.Findings, Reasons: problem.Reasons,
		})
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fault(CodeServer, notAvailable, "the call took too long", "try again")
	}
	if !errors.Is(err, context.Canceled) { // the caller has gone
		h.Logger.Error("request failed", "path", r.URL.EscapedPath(), "error", err)
	}
	return fault(CodeInternal, internal, "the call failed: "+err.Error(), service.HintLog)
}

// refusal is how a refusal is reported.
type refusal struct {
	number int
	code   string
}

// refusals are those by their codes for which that does not follow from the status (Pioneer skills protocol, its
// error codes; skills.install_blocked.conflict, skills.invalid_package and skills.upload.quota are added).
var refusals = func() map[string]refusal {
	refusals := map[string]refusal{}
	for as, codes := range map[refusal][]string{
		{CodeInvalidRequest, "skills.install_blocked.conflict"}: {
			"install.collision", "install.conflict", "install.duplicate",
		},
		{CodeInvalidRequest, "skills.install_blocked.dependency"}: {"install.dependency"},
		{CodeInvalidRequest, "skills.install_blocked.security"}:   {"install.security"},
		{CodeInvalidRequest, "skills.install_blocked.trust"}:      {"install.trust"},
		{CodeInvalidRequest, "skills.invalid_package"}:            {"install.invalid", "install.no_skill", "install.slug"},
		{CodeInvalidRequest, "skills.update_conflict.fingerprint_mismatch"}: {
			"install.exists", "install.fingerprint",
		},
		{CodeInvalidRequest, "skills.upload.digest_mismatch"}: {"upload.digest_mismatch"},
		{CodeInvalidRequest, "skills.upload.expired"}:         {"upload.expired"},
		{CodeInvalidRequest, "skills.upload.invalid_request"}: {"upload.status"},
		{CodeInvalidParams, "skills.upload.not_found"}:        {"upload.not_found"},
		{CodeServer, "skills.upload.quota"}:                   {"upload.quota"},
		{CodeInvalidParams, "skills.upload.size_limit"}:       {"upload.size_limit"},
		{CodeInvalidRequest, "skills.upload.size_limit"}:      {"upload.incomplete"},
		{CodeInvalidRequest, invalid}: {
			"health.condition", "install.not_managed", "install.too_large", "scan.accept.fingerprint",
			"scan.accept.full", "scan.accept.not_found",
		},
		{CodeInvalidParams, invalid}: {"install.slug_mismatch"},
		{CodeServer, notAvailable}: {
			"install.body_timeout", "install.busy", "install.changing", "install.disk_full", "install.intent",
			"install.lock", "install.own_directory", "install.read_only", "install.root_missing",
			"install.unavailable", "install.unreadable", "install.unsettled", "state.intact",
		},
		{CodeInvalidRequest, notFound}: {"install.no_previous", "install.not_found"},
		{CodeInvalidParams, source}:    {"install.root_kind", "policy.source_kind"},
	} {
		for _, code := range codes {
			refusals[code] = as
		}
	}
	return refusals
}()

// numberOf returns the number and the code of a problem.
func numberOf(p pannier.ErrorDocument) (int, string) {
	if r, ok := refusals[p.Code]; ok {
		return r.number, r.code
	}
	switch {
	case strings.HasPrefix(p.Code, "archive."):
		return CodeInvalidRequest, "skills.upload.invalid_archive"
	case strings.HasPrefix(p.Code, "upload."):
		return CodeInvalidParams, "skills.upload.invalid_request"
	}
	switch p.Status {
	case http.StatusNotFound:
		return CodeInvalidParams, notFound
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		return CodeInvalidParams, invalid
	case http.StatusConflict:
		return CodeInvalidRequest, notUsable
	case http.StatusForbidden:
		return CodeInvalidRequest, forbidden
	case http.StatusServiceUnavailable:
		return CodeServer, notAvailable
	}
	return CodeInternal, internal
}
