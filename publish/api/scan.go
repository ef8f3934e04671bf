package api

import (
	"net/http"
	"strings"

	"pannier"
)

// acceptRequest reads which rules are to be accepted, with commas between. An empty parameter is not one that was
// left out.
func acceptRequest(r *http.Request) (req pannier.AcceptRequest, err error) {
	query := r.URL.Query()
	if query.Has("accept") {
		req.Rules = strings.Split(query.Get("accept"), ",")
	}
	if req.Reason = query.Get("reason"); query.Has("reason") && strings.TrimSpace(req.Reason) == "" {
		err = invalidParameter("reason", "reason is empty", "say why the finding is accepted, in a few words")
	}
	return req, err
}

func (h *Handler) scan(r *http.Request, s *pannier.Snapshot) (report pannier.ScanReport, err error) {
	req := pannier.ScanRequest{Withdraw: r.URL.Query().Get("accept") == pannier.AcceptNone}
	if !req.Withdraw {
		if req.Accept, err = acceptRequest(r); err != nil {
			return report, err
		}
	}
	return h.Service.Scan(r.Context(), s, r.PathValue("slug"), r.URL.Query().Get("path"), req)
}
