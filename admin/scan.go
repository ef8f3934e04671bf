package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pannier"
	"pannier/admin/install"
)

// Verdicts stores the results of scans. A change is on disk when a method returns, or not made if the method fails.
type Verdicts interface {
	// Put stores a verdict by its fingerprint, and returns it as stored.
	Put(pannier.ScanVerdict) (pannier.ScanVerdict, error)
	// Hold stores a verdict without a fingerprint by the path of the skill. Release removes it.
	Hold(*pannier.Skill, pannier.ScanVerdict) error
	Release(path string) error
	// Accept replaces the acceptances of a fingerprint at a path, and Accepted returns them.
	Accept(path string, fingerprint pannier.Digest, accepted []pannier.Acceptance) error
	Accepted(path string, fingerprint pannier.Digest) []pannier.Acceptance
	// Withdraw removes all acceptances at a path.
	Withdraw(path string) error
}

// ScanOptions configure scans. [Service.Scan] needs all of them.
type ScanOptions struct {
	Verdicts Verdicts
	// Fingerprint computes the fingerprint of a skill directory. It fails with [pannier.ErrChanged] while the directory
	// keeps changing.
	Fingerprint func(context.Context, *pannier.Skill) (pannier.Digest, error)
	// Scan scans a skill directory. The Service sets fingerprint, time, slug and path of the report. If ctx ends the
	// scan, the report has the findings so far.
	Scan func(context.Context, *pannier.Skill) (pannier.ScanReport, error)
	// IsRule reports whether the scanner has a rule. Ruleset identifies the set of rules.
	IsRule  func(string) bool
	Ruleset string
	// ApplyVerdict evaluates a skill again with its stored verdict, and returns a snapshot that shows the result. The
	// fingerprint is zero if the skill has none.
	ApplyVerdict func(*pannier.Skill, pannier.Digest) *pannier.Snapshot
}

const (
	scanTimeout = 45 * time.Second // less than the timeout of the socket
	scanTries   = 3                // of a directory that changes during the scan
)

// scanIntent is the audited intent of a scan.
type scanIntent struct {
	Path string `json:"path"`
	*pannier.AcceptRequest
	Withdraw bool `json:"withdraw,omitempty"`
}

// scanOutcome is the audited outcome of a scan. The findings are in the state store.
type scanOutcome struct {
	Path        string               `json:"path"`
	Fingerprint pannier.Digest       `json:"fingerprint,omitzero"`
	Decision    pannier.ScanDecision `json:"decision,omitempty"`
	Findings    int                  `json:"findings"`
	// Blocking includes accepted rules: a state recovered from the audit log blocks them again.
	Blocking []string             `json:"blocking,omitempty"`
	Accepted []pannier.Acceptance `json:"accepted,omitempty"`
	Unkept   string               `json:"unkept,omitempty"`
	// HeldBy identifies the files of a blocking verdict without a fingerprint.
	HeldBy *heldBy `json:"held_by,omitempty"`
}

// heldBy has the digests of SKILL.md and _meta.json.
type heldBy struct {
	Digest     pannier.Digest `json:"digest,omitzero"`
	MetaDigest pannier.Digest `json:"meta_digest,omitzero"`
}

// Scan scans a skill directory, stores the verdict by its fingerprint, and returns it with the snapshot that shows it.
// One scan runs at a time. Other changes are made meanwhile: only storing the verdict waits for them. A canceled scan
// stores nothing.
//
// If there is no fingerprint, or the scan times out, a blocking verdict is stored by the path of the skill; otherwise a
// skill could prevent its own block. A verdict that does not block is not stored then, and the report says so. A
// complete scan removes the verdict stored by the path before.
//
// Accepted rules do not block the skill as long as it has this fingerprint at this path. Accepting without a
// fingerprint is a [*pannier.Refusal]. Acceptances last until they are withdrawn.
func (s *Service) Scan(
	ctx context.Context, actor pannier.Actor, skill *pannier.Skill, req pannier.ScanRequest,
) (pannier.ScanReport, *pannier.Snapshot, error) {
	if err := s.checkAccept(req.Accept); err != nil {
		return pannier.ScanReport{}, nil, err
	}
	if err := acquire(ctx, s.scanning); err != nil {
		return pannier.ScanReport{}, nil, err
	}
	defer func() { <-s.scanning }()
	intent := scanIntent{Path: skill.Path, Withdraw: req.Withdraw}
	if len(req.Accept.Rules) > 0 {
		intent.AcceptRequest = &req.Accept
	}
	var report pannier.ScanReport
	e := pannier.AuditEntry{Action: pannier.ActionScan, Actor: actor, Slug: skill.Slug, Detail: intent}
	snapshot, err := s.audited(e, func() (o outcome, err error) {
		o, err = s.scan(ctx, actor, skill, req, &report)
		o.detail = scanOutcomeOf(skill, report)
		return o, err
	})
	if err != nil {
		return pannier.ScanReport{}, nil, fmt.Errorf("scan %s: %w", skill.Slug, err)
	}
	return report, snapshot, nil
}

func (s *Service) scan(
	ctx context.Context, actor pannier.Actor, skill *pannier.Skill, req pannier.ScanRequest, report *pannier.ScanReport,
) (outcome, error) {
	r, complete, err := s.scanUnchanged(ctx, skill)
	r.Slug, r.Path, r.At, r.Origin = skill.Slug, skill.Path, time.Now().UTC().Round(0), pannier.ScanExplicit
	*report = r
	if err == nil && len(req.Accept.Rules) > 0 && r.Fingerprint.IsZero() {
		err = &pannier.Refusal{
			Code: "scan.accept.fingerprint", Message: "the skill has no fingerprint, so its findings cannot be accepted",
			Hint: "make every file of the skill readable, and remove large data from it",
		}
	}
	if err == nil {
		err = req.Accept.CheckFound(r.Findings)
	}
	blocks := len(r.Blocking()) > 0
	if err != nil || !complete && !blocks {
		return outcome{}, err
	}
	if blocks {
		report.Unkept = ""
	}
	return s.commitVerdict(ctx, actor, skill, req, report)
}

// checkAccept refuses rules that cannot be accepted.
func (s *Service) checkAccept(req pannier.AcceptRequest) error {
	return req.Check(func(rule string) bool { return s.o.Scans.IsRule != nil && s.o.Scans.IsRule(rule) })
}

// scanUnchanged scans a directory, again if its fingerprint changes during the scan. complete is false if the scan
// timed out.
func (s *Service) scanUnchanged(
	ctx context.Context, skill *pannier.Skill,
) (report pannier.ScanReport, complete bool, err error) {
	bounded, cancel := context.WithTimeout(ctx, scanTimeout)
	defer cancel()
	for range scanTries {
		before, unknown := s.o.Scans.Fingerprint(bounded, skill)
		report, err := s.o.Scans.Scan(bounded, skill)
		var after pannier.Digest
		switch {
		case ctx.Err() != nil:
			return report, false, ctx.Err()
		case errors.Is(err, context.DeadlineExceeded):
			report.Unkept, report.Truncated = fmt.Sprintf("the scan timed out after %s", scanTimeout), true
			return report, false, nil
		case err != nil:
			return report, false, err
		case unknown == nil:
			after, unknown = s.o.Scans.Fingerprint(bounded, skill)
		}
		switch {
		case ctx.Err() != nil:
			return report, false, ctx.Err()
		case unknown == nil && after == before:
			report.Fingerprint = before
			return report, true, nil
		case unknown != nil && !errors.Is(unknown, pannier.ErrChanged):
			report.Unkept = unknown.Error()
			return report, true, nil
		}
	}
	return pannier.ScanReport{}, false, pannier.ErrChanged
}

// commitVerdict stores a verdict by its fingerprint, or by path if it blocks and has none, with its acceptances, which
// it adds to the report, and applies them in the registry.
func (s *Service) commitVerdict(
	ctx context.Context, actor pannier.Actor, skill *pannier.Skill, req pannier.ScanRequest, report *pannier.ScanReport,
) (outcome, error) {
	if err := acquire(ctx, s.changing); err != nil {
		return outcome{}, err
	}
	defer func() { <-s.changing }()
	found, verdicts := report.ScanVerdict, s.o.Scans.Verdicts
	if req.Withdraw {
		if err := verdicts.Withdraw(skill.Path); err != nil {
			return outcome{}, err
		}
	}
	if found.Fingerprint.IsZero() && len(found.Blocking()) > 0 {
		if err := verdicts.Hold(skill, found); err != nil {
			return outcome{}, err
		}
	} else {
		if !found.Fingerprint.IsZero() {
			accepted := verdicts.Accepted(skill.Path, found.Fingerprint)
			if len(req.Accept.Rules) > 0 {
				accepted = req.Accept.Acceptances(accepted, actor, report.At)
				if err := verdicts.Accept(skill.Path, found.Fingerprint, accepted); err != nil {
					return outcome{}, err
				}
			}
			report.ScanVerdict = found.Accept(accepted)
			if _, err := verdicts.Put(found); err != nil {
				return outcome{}, err
			}
		}
		// The verdict that was stored by path is removed last, so that a failure leaves a block in place.
		if err := verdicts.Release(skill.Path); err != nil {
			return outcome{}, err
		}
	}
	o := outcome{snapshot: s.o.Scans.ApplyVerdict(skill, report.Fingerprint)}
	if report.Unkept == "" {
		v := report.ScanVerdict
		o.event, o.data = pannier.EventSkillScanned, pannier.SkillScanned{
			Slug: skill.Slug, Path: skill.Path, Fingerprint: v.Fingerprint, Decision: v.Decision, Origin: v.Origin,
			Findings: len(v.Findings),
		}
	}
	return o, nil
}

func scanOutcomeOf(skill *pannier.Skill, r pannier.ScanReport) scanOutcome {
	o := scanOutcome{
		Path: r.Path, Fingerprint: r.Fingerprint, Decision: r.Decision, Findings: len(r.Findings),
		Blocking: pannier.ScanVerdict{Findings: r.Findings}.Blocking(), Accepted: r.Accepted, Unkept: r.Unkept,
	}
	if o.Fingerprint.IsZero() && len(o.Blocking) > 0 {
		o.HeldBy = &heldBy{skill.Digest, skill.MetaDigest}
	}
	return o
}

// storeVerdict stores the verdict and the acceptances of a staged skill before it is moved into place, so that it is
// never served as pending or blocked. undo withdraws the acceptances. A dry run stores nothing.
func (s *Service) storeVerdict(
	actor pannier.Actor, req pannier.InstallRequest, st *install.Staged,
) (undo func() error, accepted []pannier.Acceptance, err error) {
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
