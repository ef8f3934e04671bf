package api

import (
	"net/http"
	"strconv"

	"pannier"
)

var sessionRoutes = []route{
	{
		pattern: "GET /v1/session", endpoint: returns((*Handler).session), early: true,
		id: "getSession", summary: "Who the caller is to this sidecar, what it may do, and which workspace is served.",
	},
	{
		pattern: "POST /v1/tickets", endpoint: returns((*Handler).issueTicket), early: true,
		id: "issueTicket", summary: "A ticket that opens one WebSocket with the rights of the caller, within 30 seconds.",
	},
}

func (h *Handler) session(r *http.Request, _ *pannier.Snapshot) (pannier.Session, error) {
	health := h.Health()
	s := pannier.Session{
		Scopes: []string{}, Version: health.Version, Workspace: health.Workspace, WorkspaceID: health.WorkspaceID,
	}
	caller, known := CallerFrom(r.Context())
	scope := ScopeRead // as requireScope has it of a caller that is not known
	if known {
		s.Name, scope = nameOf(caller), h.scopeOf(caller)
	}
	for _, other := range Scopes() {
		if scope.Includes(other) {
			s.Scopes = append(s.Scopes, string(other))
		}
	}
	s.Write = scope.Includes(ScopeWrite)
	if h.Uploads != nil {
		l := h.Uploads.Limits()
		s.Install = &pannier.SessionInstall{MaxCompressed: l.MaxCompressed, MaxUncompressed: l.MaxUnpacked, MaxFile: l.MaxFile, MaxEntries: l.MaxEntries}
	}
	return s, nil
}

// nameOf returns what a caller is called: the name of its token, or its user id.
func nameOf(c Caller) string {
	if c.Token != "" {
		return c.Token
	}
	return "uid " + strconv.FormatUint(uint64(c.UID), 10)
}
