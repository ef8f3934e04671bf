package admin

import (
	"errors"
	"time"

	"pannier"
	"pannier/admin/install"
)

// keepStaged keeps the verdict of a staged skill and what is accepted of it, before the skill is put in its place: it must be
// neither pending nor blocked when it is served. undo takes the acceptances back. A dry run keeps nothing.
func (d *Service) keepStaged(actor pannier.Actor, req pannier.InstallRequest, st *install.Staged) (undo func() error, accepted []pannier.Acceptance, err error) {
	verdicts, at := d.o.Scans.Verdicts, time.Now().UTC().Round(0)
	keep := func() error { return nil }
	if verdicts == nil || req.DryRun || st.Fingerprint.IsZero() {
		return keep, req.Accept.Acceptances(nil, actor, at), nil
	}
	path := st.Skill.Path
	before := verdicts.Accepted(path, st.Fingerprint)
	accepted = before
	if len(req.Accept.Rules) > 0 {
		accepted = req.Accept.Acceptances(before, actor, at)
		if err := verdicts.Accept(path, st.Fingerprint, accepted); err != nil {
			return nil, nil, err
		}
		keep = func() error { return verdicts.Accept(path, st.Fingerprint, before) }
	}
	_, err = verdicts.Put(pannier.ScanVerdict{
		Fingerprint: st.Fingerprint, At: at, Decision: st.Decision, Origin: pannier.ScanInstall, Ruleset: d.o.Scans.Ruleset,
		Findings: st.Findings, Truncated: st.Truncated,
	})
	if err != nil {
		return nil, nil, errors.Join(err, keep())
	}
	return keep, accepted, nil
}
