package api

import (
	"net/http"
	"strings"

	"pannier"
	"pannier/publish/api/rpc"
	"pannier/service"
)

// refusalClass is how a refusal is reported: by a status over HTTP, by a number and a code over JSON-RPC.
type refusalClass struct {
	status int
	number int
	code   string
}

// refusals are the classes of the codes that are no mistake of the request alone (Pioneer skills protocol, its error codes;
// skills.install_blocked.conflict, skills.invalid_package and skills.upload.quota are added).
var refusals = map[string]refusalClass{
	"token_missing":          {http.StatusUnauthorized, rpc.CodeInternal, rpcInternal},
	"token_unknown":          {http.StatusUnauthorized, rpc.CodeInternal, rpcInternal},
	"ticket_unknown":         {http.StatusUnauthorized, rpc.CodeInternal, rpcInternal},
	service.CodeForbidden:    {http.StatusForbidden, rpc.CodeInvalidRequest, rpcForbidden},
	"browser_refused":        {http.StatusForbidden, rpc.CodeInvalidRequest, rpcForbidden},
	"host_refused":           {http.StatusForbidden, rpc.CodeInvalidRequest, rpcForbidden},
	"peer_unknown":           {http.StatusForbidden, rpc.CodeInvalidRequest, rpcForbidden},
	"policy.source_kind":     {http.StatusBadRequest, rpc.CodeInvalidParams, rpcSource},
	"install.root_kind":      {http.StatusBadRequest, rpc.CodeInvalidParams, rpcSource},
	"install.exists":         {http.StatusConflict, rpc.CodeInvalidRequest, "skills.update_conflict.fingerprint_mismatch"},
	"install.fingerprint":    {http.StatusConflict, rpc.CodeInvalidRequest, "skills.update_conflict.fingerprint_mismatch"},
	"install.collision":      {http.StatusConflict, rpc.CodeInvalidRequest, "skills.install_blocked.conflict"},
	"install.duplicate":      {http.StatusConflict, rpc.CodeInvalidRequest, "skills.install_blocked.conflict"},
	"install.conflict":       {http.StatusConflict, rpc.CodeInvalidRequest, "skills.install_blocked.conflict"},
	"install.not_managed":    {http.StatusConflict, rpc.CodeInvalidRequest, rpcInvalid},
	"install.dependency":     {http.StatusUnprocessableEntity, rpc.CodeInvalidRequest, "skills.install_blocked.dependency"},
	"install.security":       {http.StatusUnprocessableEntity, rpc.CodeInvalidRequest, "skills.install_blocked.security"},
	"install.trust":          {http.StatusUnprocessableEntity, rpc.CodeInvalidRequest, "skills.install_blocked.trust"},
	"install.no_skill":       {http.StatusUnprocessableEntity, rpc.CodeInvalidRequest, "skills.invalid_package"},
	"install.invalid":        {http.StatusUnprocessableEntity, rpc.CodeInvalidRequest, "skills.invalid_package"},
	"install.slug":           {http.StatusUnprocessableEntity, rpc.CodeInvalidRequest, "skills.invalid_package"},
	"install.slug_mismatch":  {http.StatusConflict, rpc.CodeInvalidParams, rpcInvalid},
	"install.not_found":      {http.StatusNotFound, rpc.CodeInvalidRequest, rpcNotFound},
	"install.no_previous":    {http.StatusNotFound, rpc.CodeInvalidRequest, rpcNotFound},
	"install.too_large":      {http.StatusConflict, rpc.CodeInvalidRequest, rpcInvalid},
	"install.changing":       {http.StatusConflict, rpc.CodeServer, rpcNotAvailable},
	"install.unreadable":     {http.StatusConflict, rpc.CodeServer, rpcNotAvailable},
	"install.unsettled":      {http.StatusConflict, rpc.CodeServer, rpcNotAvailable},
	"install.body_timeout":   {http.StatusRequestTimeout, rpc.CodeServer, rpcNotAvailable},
	"install.staging_full":   {http.StatusServiceUnavailable, rpc.CodeServer, rpcNotAvailable},
	"install.disk_full":      {http.StatusInsufficientStorage, rpc.CodeServer, rpcNotAvailable},
	"install.busy":           {http.StatusConflict, rpc.CodeServer, rpcNotAvailable},
	"install.lock":           {http.StatusConflict, rpc.CodeServer, rpcNotAvailable},
	"install.own_directory":  {http.StatusConflict, rpc.CodeServer, rpcNotAvailable},
	"install.intent":         {http.StatusConflict, rpc.CodeServer, rpcNotAvailable},
	"install.root_missing":   {http.StatusConflict, rpc.CodeServer, rpcNotAvailable},
	"install.read_only":      {http.StatusConflict, rpc.CodeServer, rpcNotAvailable},
	"install.disabled":       {http.StatusForbidden, rpc.CodeInvalidRequest, rpcForbidden},
	"install.unavailable":    {http.StatusForbidden, rpc.CodeServer, rpcNotAvailable},
	"state.gone":             {http.StatusServiceUnavailable, rpc.CodeServer, rpcNotAvailable},
	"state.lost":             {http.StatusServiceUnavailable, rpc.CodeServer, rpcNotAvailable},
	"state.unwritable":       {http.StatusServiceUnavailable, rpc.CodeServer, rpcNotAvailable},
	"state.intact":           {http.StatusConflict, rpc.CodeServer, rpcNotAvailable},
	"health.condition":       {http.StatusConflict, rpc.CodeInvalidRequest, rpcInvalid},
	"upload.not_found":       {http.StatusNotFound, rpc.CodeInvalidParams, "skills.upload.not_found"},
	"upload.expired":         {http.StatusGone, rpc.CodeInvalidRequest, "skills.upload.expired"},
	"upload.size_limit":      {http.StatusRequestEntityTooLarge, rpc.CodeInvalidParams, "skills.upload.size_limit"},
	"upload.incomplete":      {http.StatusConflict, rpc.CodeInvalidRequest, "skills.upload.size_limit"},
	"upload.digest_mismatch": {http.StatusConflict, rpc.CodeInvalidRequest, "skills.upload.digest_mismatch"},
	"upload.quota":           {http.StatusTooManyRequests, rpc.CodeServer, "skills.upload.quota"},
	"upload.status":          {http.StatusConflict, rpc.CodeInvalidRequest, "skills.upload.invalid_request"},
}

// contentStatuses are the statuses of refusals of package service.
var contentStatuses = map[string]int{
	service.CodeNotReady: http.StatusServiceUnavailable, service.CodeChanging: http.StatusServiceUnavailable,
	"skill_not_found": http.StatusNotFound, "command_not_found": http.StatusNotFound, "args_too_large": http.StatusRequestEntityTooLarge,
	"skill_shadowed": http.StatusConflict, "skill_unlisted": http.StatusConflict, "skill_disabled": http.StatusConflict,
	"skill_ineligible": http.StatusConflict, "skill_held": http.StatusConflict, "skill_tools_only": http.StatusConflict,
	"not_user_invocable": http.StatusConflict, "version_blocked": http.StatusConflict,
	string(pannier.FileMissing): http.StatusNotFound, string(pannier.FileIsDirectory): http.StatusNotFound, string(pannier.FileSkipped): http.StatusNotFound,
	string(pannier.FileOutside): http.StatusForbidden, string(pannier.FileForeign): http.StatusForbidden, string(pannier.FileSpecial): http.StatusForbidden,
	string(pannier.FileTooLarge): http.StatusForbidden, string(pannier.FileUnreadable): http.StatusForbidden,
}

// classOf returns how a refusal is reported. A code outside the table is an error of the request, or of the archive in it.
func classOf(code string) refusalClass {
	if class, ok := refusals[code]; ok {
		return class
	}
	if class, ok := toolRefusals[code]; ok {
		return class
	}
	if status, ok := contentStatuses[code]; ok {
		number, class := rpcNumber(status)
		return refusalClass{status, number, class}
	}
	switch {
	case code == "scan.accept.not_found", code == "scan.accept.fingerprint", code == "scan.accept.full":
		return refusalClass{http.StatusConflict, rpc.CodeInvalidRequest, rpcInvalid}
	case strings.HasPrefix(code, "archive."):
		return refusalClass{http.StatusUnprocessableEntity, rpc.CodeInvalidRequest, "skills.upload.invalid_archive"}
	case strings.HasPrefix(code, "upload."):
		return refusalClass{http.StatusBadRequest, rpc.CodeInvalidParams, "skills.upload.invalid_request"}
	}
	return refusalClass{http.StatusBadRequest, rpc.CodeInvalidParams, rpcInvalid}
}
