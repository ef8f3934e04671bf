package service

import (
	"errors"
	"net/http"
	"strings"

	"pannier"
)

// statuses are those of the codes of refusals that are no mistake of the request alone.
var statuses = func() map[string]int {
	statuses := map[string]int{}
	for status, codes := range map[int][]string{
		http.StatusUnauthorized: {"ticket_unknown", "token_missing", "token_unknown"},
		http.StatusForbidden: {
			"browser_refused", "host_refused", "install.disabled", "install.unavailable", "peer_unknown",
			CodeForbidden, pannier.ToolDisabled, pannier.ToolNotAllowed, pannier.ToolTrustLevelTooLow,
			string(pannier.FileForeign), string(pannier.FileOutside), string(pannier.FileSpecial),
			string(pannier.FileTooLarge), string(pannier.FileUnreadable),
		},
		http.StatusNotFound: {
			"call_not_found", "command_not_found", "install.no_previous", "install.not_found", "skill_not_found",
			"upload.not_found", pannier.ToolNotFound, pannier.ToolArtifactMissing, string(pannier.FileIsDirectory), string(pannier.FileMissing),
			string(pannier.FileSkipped),
		},
		http.StatusRequestTimeout: {"install.body_timeout"},
		http.StatusConflict: {
			"health.condition", "install.busy", "install.changing", "install.collision", "install.conflict",
			"install.duplicate", "install.exists", "install.fingerprint", "install.intent", "install.lock",
			"install.not_managed", "install.own_directory", "install.read_only", "install.root_missing",
			"install.slug_mismatch", "install.too_large", "install.unreadable", "install.unsettled",
			"not_user_invocable", "scan.accept.fingerprint", "scan.accept.full", "scan.accept.not_found",
			"skill_disabled", "skill_held", "skill_ineligible", "skill_shadowed", "skill_tools_only",
			"skill_unlisted", "state.intact", "upload.digest_mismatch", "upload.incomplete", "upload.status",
			"version_blocked", pannier.ToolCanceled, pannier.ToolChanged, pannier.ToolDependencyMissing,
			pannier.ToolUnscanned,
		},
		http.StatusGone:                  {"upload.expired"},
		http.StatusRequestEntityTooLarge: {"args_too_large", "upload.size_limit"},
		http.StatusUnprocessableEntity: {
			"install.dependency", "install.invalid", "install.no_skill", "install.security", "install.slug",
			"install.trust",
		},
		http.StatusTooManyRequests: {"upload.quota"},
		http.StatusServiceUnavailable: {
			"install.staging_full", "state.gone", "state.lost", "state.unwritable", CodeChanging, CodeNotReady,
			pannier.ToolBusy, pannier.ToolNoRunner, pannier.ToolRunnerGone, pannier.ToolSandboxUnavailable,
		},
		http.StatusInsufficientStorage: {"install.disk_full"},
	} {
		for _, code := range codes {
			statuses[code] = status
		}
	}
	return statuses
}()

// StatusOf returns the HTTP status that a refusal with a code is reported by. A code outside the table is an error of
// the request, or of the archive in it.
func StatusOf(code string) int {
	if status, ok := statuses[code]; ok {
		return status
	}
	if strings.HasPrefix(code, "archive.") {
		return http.StatusUnprocessableEntity
	}
	return http.StatusBadRequest
}

// Problem returns how an error is reported (RFC 9457), with what the client can do about it; false of one that is
// neither a refusal nor expected. request names what was asked for, for the log.
func (s *Service) Problem(request string, err error) (pannier.ErrorDocument, bool) {
	if refusal, ok := errors.AsType[*pannier.Refusal](err); ok {
		doc := NewProblem(StatusOf(refusal.Code), refusal.Code, refusal.Message, refusal.Hint)
		doc.Conflict, doc.Findings, doc.Reasons = refusal.Conflict, refusal.Findings, refusal.Reasons
		return doc, true
	}
	if errors.Is(err, pannier.ErrNotAudited) {
		s.Logger.Error("refused, because it could not be audited", "path", request, "error", err)
		return NewProblem(
			http.StatusServiceUnavailable, "not_audited", "nothing was changed, because "+err.Error(),
			"make room in the state directory, or make it writable",
		), true
	}
	return pannier.ErrorDocument{}, false
}

// NewProblem returns a problem. Joined errors are several lines; a problem is one.
func NewProblem(status int, code, detail, hint string) pannier.ErrorDocument {
	return pannier.ErrorDocument{
		Type: "about:blank", Title: http.StatusText(status), Status: status, Code: code,
		Detail: strings.ReplaceAll(detail, "\n", "; "), Hint: hint,
	}
}

// HintLog is what to do about an unexpected error.
const HintLog = "the sidecar's log says more"

// Unexpected logs an error that is neither a refusal nor expected, and returns how it is reported.
func (s *Service) Unexpected(request string, err error) pannier.ErrorDocument {
	s.Logger.Error("request failed", "path", request, "error", err)
	return NewProblem(http.StatusInternalServerError, "internal", "the request failed: "+err.Error(), HintLog)
}
