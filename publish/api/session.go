package api

import (
	"net/http"

	"pannier"
	"pannier/service"
)

var sessionRoutes = []route{
	{
		pattern: "GET /v1/session", endpoint: returns((*Handler).session), early: true,
		id: "getSession", summary: "Who the caller is to this sidecar, what it may do, and which workspace is served.",
	},
	{
		pattern: "POST /v1/tickets", endpoint: returns((*Handler).issueTicket), early: true,
		id:      "issueTicket",
		summary: "A ticket that opens one WebSocket with the rights of the caller, within 30 seconds.",
	},
}

func (h *Handler) session(r *http.Request, _ *pannier.Snapshot) (pannier.Session, error) {
	health := h.Health()
	s := pannier.Session{
		Scopes: []string{}, Version: health.Version, Workspace: health.Workspace, WorkspaceID: health.WorkspaceID,
	}
	caller, known := service.CallerFrom(r.Context())
	scope := service.ScopeRead // as the service has it of a caller that is not known
	if known {
		s.Name, scope = caller.Name(), h.Service.ScopeOf(caller)
	}
	for _, other := range service.Scopes() {
		if scope.Includes(other) {
			s.Scopes = append(s.Scopes, string(other))
		}
	}
	s.Write = scope.Includes(service.ScopeWrite)
	if h.Service.Uploads != nil {
		l := h.Service.Uploads.Limits()
		s.Install = &pannier.SessionInstall{
			MaxCompressed: l.MaxCompressed, MaxUncompressed: l.MaxUnpacked, MaxFile: l.MaxFile,
			MaxEntries: l.MaxEntries,
		}
	}
	return s, nil
}
