package admin

import (
	"errors"
	"time"

	"pannier"
	"pannier/admin/install"
)

// storeVerdict stores the verdict and the acceptances of a staged skill before it is moved into place, so that it is never served
// as pending or blocked. undo withdraws the acceptances. A dry run stores nothing.
func (s *Service) storeVerdict(actor pannier.Actor, req pannier.InstallRequest, st *install.Staged) (undo func() error, accepted []pannier.Acceptance, err error) {
	verdicts, now := s.o.Scans.Verdicts, time.Now().UTC().Round(0)
	undo = func() error { return nil }
	if verdicts == nil || req.DryRun || st.Fingerprint.IsZero() {
		return undo, req.Accept.Acceptances(nil, actor, now), nil
	}
	before := verdicts.Accepted(st.Skill.Path, st.Fingerprint)
	accepted = before
	if len(req.Accept.Rules) > 0 {
		accepted = req.Accept.Acceptances(before, actor, now)
		if err := verdicts.Accept(st.Skill.Path, st.Fingerprint, accepted); err != nil {
			return nil, nil, err
		}
		undo = func() error { return verdicts.Accept(st.Skill.Path, st.Fingerprint, before) }
	}
	_, err = verdicts.Put(pannier.ScanVerdict{
		Fingerprint: st.Fingerprint, At: now, Decision: st.Decision, Origin: pannier.ScanInstall, Ruleset: s.o.Scans.Ruleset,
		Findings: st.Findings, Truncated: st.Truncated,
	})
	if err != nil {
		return nil, nil, errors.Join(err, undo())
	}
	return undo, accepted, nil
}
