package api

import (
	"errors"
	"net/http"
	"strings"

	"pannier"
	"pannier/service"
)

// Scans are what is known of skill directories beside the snapshot. A function that is nil knows nothing.
type Scans struct {
	// Fingerprint returns that of a skill as the snapshot has it, zero where it is not known yet.
	Fingerprint func(*pannier.Skill) pannier.Digest
	// Generation is another number whenever Fingerprint has other answers than before.
	Generation func() uint64
	// Verdict returns what a scan has found of a skill as the snapshot has it.
	Verdict func(*pannier.Skill) (v pannier.ScanVerdict, found bool, err error)
	// Summary returns the same without the findings, nil where there is none. It does not wait for a disk.
	Summary func(*pannier.Skill) *pannier.ScanSummary
}

// generation is read before the answers that depend on it.
func (s Scans) generation() uint64 {
	if s.Generation == nil {
		return 0
	}
	return s.Generation()
}

func (s Scans) fingerprint(skill *pannier.Skill) pannier.Digest {
	if s.Fingerprint == nil {
		return pannier.Digest{}
	}
	return s.Fingerprint(skill)
}

func (s Scans) summary(skill *pannier.Skill) *pannier.ScanSummary {
	if s.Summary == nil {
		return nil
	}
	return s.Summary(skill)
}

// verdict returns what a scan has found of a skill. It is nil if the store cannot be read: the rest of the skill
// is still shown.
func (h *Handler) verdict(s *pannier.Skill) *pannier.ScanVerdict {
	if h.Verdict == nil {
		return nil
	}
	v, found, err := h.Verdict(s)
	if err != nil {
		h.Logger.Error("cannot read the scan of a skill", "skill", s.Slug, "error", err)
	}
	if err != nil || !found {
		return nil
	}
	return &v
}

// acceptRequest reads which rules are to be accepted, with commas between. An empty parameter is not one that was left out.
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
	e, err := service.Find(s, r.PathValue("slug"), r.URL.Query().Get("path"))
	if err != nil {
		return report, err
	}
	req := pannier.ScanRequest{Withdraw: r.URL.Query().Get("accept") == pannier.AcceptNone}
	if !req.Withdraw {
		if req.Accept, err = acceptRequest(r); err != nil {
			return report, err
		}
	}
	report, _, err = h.Scan(r.Context(), ActorOf(r), e.Skill, req)
	if errors.Is(err, pannier.ErrChanged) {
		err = service.ErrChanging
	}
	return report, err
}
