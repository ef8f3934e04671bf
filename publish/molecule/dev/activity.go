package dev

import (
	"net/http"
	"slices"
	"strings"

	"pannier/publish/molecule"
)

// activityTypes are those that the real server takes.
var activityTypes = []string{"a2a_send", "a2a_receive", "task_update", "agent_log", molecule.ActivityPromotion, "memory_write", "error"}

const (
	textInvalidType = "invalid activity type"
	textNotOwn      = "source_id must match workspace"
)

// serveActivity logs an activity, and keeps nothing of it.
func (p *Platform) serveActivity(w http.ResponseWriter, r *http.Request) {
	var req molecule.ActivityRequest
	release, ok := p.read(w, r, &req)
	if !ok {
		return
	}
	defer release()
	id := r.PathValue("id")
	p.mu.Lock()
	err := p.authorizeLocked(id, r.Header)
	p.mu.Unlock()
	switch {
	case err != nil:
		refuseFor(w, err, textUpdateFailed)
	case !slices.Contains(activityTypes, req.Type):
		refuse(w, http.StatusBadRequest, textInvalidType)
	case !strings.EqualFold(req.SourceID, id):
		refuse(w, http.StatusForbidden, textNotOwn)
	default:
		p.log.Info("activity", "workspace", id, "type", req.Type, "summary", req.Summary)
		answer(w, http.StatusOK, statusResponse{Status: "logged"})
	}
}
