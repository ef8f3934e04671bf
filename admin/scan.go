package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pannier"
)

// Verdicts keeps what scans have found. A change is on disk when a call returns, or not made where it fails.
type Verdicts interface {
	// Put keeps a verdict by its fingerprint, and returns it as it is kept.
	Put(pannier.ScanVerdict) (pannier.ScanVerdict, error)
	// Hold keeps one without a fingerprint by the place of the skill, and Release forgets what is held of a place.
	Hold(*pannier.Skill, pannier.ScanVerdict) error
	Release(path string) error
	// Accept keeps what is accepted of a fingerprint at a path, in the place of what was; nothing takes it back. Accepted returns it.
	Accept(path string, fingerprint pannier.Digest, accepted []pannier.Acceptance) error
	Accepted(path string, fingerprint pannier.Digest) []pannier.Acceptance
	// Withdraw takes back all that is accepted at a path.
	Withdraw(path string) error
}

// ScanOptions are what a scan leads to. All are needed where [Service.Scan] is called.
type ScanOptions struct {
	Verdicts Verdicts
	// Fingerprint returns that of a skill directory as it is now. It fails with [pannier.ErrChanged] while the directory
	// keeps changing.
	Fingerprint func(context.Context, *pannier.Skill) (pannier.Digest, error)
	// Scan returns what is found in a skill directory as it is now. Fingerprint, time, slug and path are filled in here.
	// Where it fails because ctx is done, the report tells what was found until then.
	Scan func(context.Context, *pannier.Skill) (pannier.ScanReport, error)
	// IsRule reports whether a scan has a rule, Ruleset names the set of them.
	IsRule  func(string) bool
	Ruleset string
	// ApplyVerdict judges again by what is held of a skill and kept for a fingerprint, which is zero where it has none, and
	// returns a snapshot that shows it.
	ApplyVerdict func(*pannier.Skill, pannier.Digest) *pannier.Snapshot
}

// The bounds of one scan: how long it may take, which is less than the socket waits, and how often a directory is scanned
// that changes meanwhile.
const (
	scanTimeout = 45 * time.Second
	scanTries   = 3
)

// scanIntent is what the audit log says of a scan that was asked for.
type scanIntent struct {
	Path string `json:"path"`
	*pannier.AcceptRequest
	Withdraw bool `json:"withdraw,omitempty"`
}

// scanOutcome is what it says of one that was made. The findings are in the state store.
type scanOutcome struct {
	Path        string               `json:"path"`
	Fingerprint pannier.Digest       `json:"fingerprint,omitzero"`
	Decision    pannier.ScanDecision `json:"decision,omitempty"`
	Findings    int                  `json:"findings"`
	Blocking    []string             `json:"blocking,omitempty"`
	Accepted    []pannier.Acceptance `json:"accepted,omitempty"`
	Unkept      string               `json:"unkept,omitempty"`
	// HeldBy are the files that a verdict without a fingerprint is held by.
	HeldBy *heldBy `json:"held_by,omitempty"`
}

// heldBy are the digests of a SKILL.md and a _meta.json.
type heldBy struct {
	Digest     pannier.Digest `json:"digest,omitzero"`
	MetaDigest pannier.Digest `json:"meta_digest,omitzero"`
}

// Scan scans a skill directory as it is now, keeps the verdict for its fingerprint, and returns it with the snapshot that
// shows what follows. One scan is under way at a time. Other mutations go through the door meanwhile, because a scan takes
// longer than all of them: only keeping its verdict waits for a turn.
//
// Where there is no fingerprint to keep a verdict by, or where the scan takes longer than it may, one that blocks is held
// by the place of the skill, or else a skill could see to it that nothing blocks it. One that does not block is not kept,
// and the report says so; if the scan went through, nothing is held of the skill any more.
//
// A caller that goes away before the verdict is there ends the scan, and nothing is kept.
//
// With rules to accept, their blocking findings do not block the skill as long as it has this fingerprint at this path. Where one
// has none, that is a [*pannier.Refusal], and nothing is kept. Acceptances stay over later scans of the same content until they
// are withdrawn.
func (d *Service) Scan(ctx context.Context, actor pannier.Actor, skill *pannier.Skill, req pannier.ScanRequest) (pannier.ScanReport, *pannier.Snapshot, error) {
	if err := d.checkAccept(req.Accept); err != nil {
		return pannier.ScanReport{}, nil, err
	}
	if err := enter(ctx, d.scanning); err != nil {
		return pannier.ScanReport{}, nil, err
	}
	defer func() { <-d.scanning }()
	intent, err := d.o.Audit.Append(pannier.AuditEntry{
		Phase: pannier.AuditIntent, Action: pannier.ActionScan, Actor: actor, Slug: skill.Slug, Detail: scanIntentOf(skill, req),
	})
	if err != nil {
		return pannier.ScanReport{}, nil, fmt.Errorf("scan %s: %w", skill.Slug, err)
	}
	report, result, err := d.scan(ctx, actor, skill, req)
	d.conclude(intent, result, err)
	if err != nil {
		return pannier.ScanReport{}, nil, fmt.Errorf("scan %s: %w", skill.Slug, err)
	}
	if result.event != "" {
		d.o.Emit(result.event, result.data)
	}
	return report, result.snapshot, nil
}

func (d *Service) scan(ctx context.Context, actor pannier.Actor, skill *pannier.Skill, req pannier.ScanRequest) (pannier.ScanReport, done, error) {
	report, through, err := d.examine(ctx, skill)
	report.Slug, report.Path, report.At, report.Origin = skill.Slug, skill.Path, time.Now().UTC().Round(0), pannier.ScanExplicit
	blocks := len(report.Blocking()) > 0
	if err == nil {
		err = acceptable(report, req.Accept)
	}
	if err != nil || !through && !blocks {
		return report, done{detail: outcomeOf(skill, report)}, err
	}
	if blocks {
		report.Unkept = ""
	}
	return d.keepVerdict(ctx, actor, skill, report, req)
}

// checkAccept refuses rules that cannot be accepted, before anything is done.
func (d *Service) checkAccept(req pannier.AcceptRequest) error {
	return req.Check(func(rule string) bool { return d.o.Scans.IsRule != nil && d.o.Scans.IsRule(rule) })
}

// acceptable refuses to accept what was not found, and what there is no fingerprint to accept by.
func acceptable(report pannier.ScanReport, req pannier.AcceptRequest) error {
	if len(req.Rules) > 0 && report.Fingerprint.IsZero() {
		return &pannier.Refusal{Code: "scan.accept.fingerprint", Message: "the skill has no fingerprint, so its findings cannot be accepted", Hint: "make every file of the skill readable, and remove large data from it"}
	}
	return req.CheckFound(report.Findings)
}

func scanIntentOf(skill *pannier.Skill, req pannier.ScanRequest) scanIntent {
	intent := scanIntent{Path: skill.Path, Withdraw: req.Withdraw}
	if len(req.Accept.Rules) > 0 {
		intent.AcceptRequest = &req.Accept
	}
	return intent
}

// examine finds out what a directory holds, and by which fingerprint. That is one thing only where the fingerprint is the
// same before and after; where it is not, somebody was writing, and it is looked at again. It also returns whether the scan
// went through.
func (d *Service) examine(ctx context.Context, skill *pannier.Skill) (report pannier.ScanReport, through bool, err error) {
	bounded, cancel := context.WithTimeout(ctx, scanTimeout)
	defer cancel()
	for range scanTries {
		before, unknown := d.o.Scans.Fingerprint(bounded, skill)
		report, late := d.o.Scans.Scan(bounded, skill)
		switch {
		case ctx.Err() != nil:
			return report, false, ctx.Err()
		case late != nil && !errors.Is(late, context.DeadlineExceeded):
			return report, false, late
		case late != nil:
			report.Unkept, report.Truncated = fmt.Sprintf("the scan was ended after %s", scanTimeout), true
			return report, false, nil
		case errors.Is(unknown, pannier.ErrChanged):
			continue
		case unknown != nil:
			report.Unkept = unknown.Error()
			return report, true, nil
		}
		after, unknown := d.o.Scans.Fingerprint(bounded, skill)
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

// keepVerdict keeps what was found, hands it to the registry, and says so. A caller that goes away before its turn gets none.
func (d *Service) keepVerdict(ctx context.Context, actor pannier.Actor, skill *pannier.Skill, report pannier.ScanReport, req pannier.ScanRequest) (pannier.ScanReport, done, error) {
	if err := enter(ctx, d.turn); err != nil {
		return report, done{detail: outcomeOf(skill, report)}, err
	}
	defer func() { <-d.turn }()
	found := report.ScanVerdict
	if err := d.accept(actor, skill, &report, req); err != nil {
		return report, done{detail: outcomeOf(skill, report)}, err
	}
	result := done{detail: outcomeOf(skill, report)}
	if err := d.store(skill, found); err != nil {
		return report, result, err
	}
	result.snapshot = d.o.Scans.ApplyVerdict(skill, report.Fingerprint)
	if report.Unkept == "" {
		result.event, result.data = pannier.EventSkillScanned, pannier.SkillScanned{
			Slug: report.Slug, Path: report.Path, Fingerprint: report.Fingerprint, Decision: report.Decision, Origin: report.Origin, Findings: len(report.Findings),
		}
	}
	return report, result, nil
}

// accept keeps what is accepted of a scan, and adds it to the report.
func (d *Service) accept(actor pannier.Actor, skill *pannier.Skill, report *pannier.ScanReport, req pannier.ScanRequest) error {
	verdicts := d.o.Scans.Verdicts
	if req.Withdraw {
		if err := verdicts.Withdraw(skill.Path); err != nil {
			return err
		}
	}
	if report.Fingerprint.IsZero() {
		return nil
	}
	accepted := verdicts.Accepted(skill.Path, report.Fingerprint)
	if len(req.Accept.Rules) > 0 {
		accepted = req.Accept.Acceptances(accepted, actor, report.At)
		if err := verdicts.Accept(skill.Path, report.Fingerprint, accepted); err != nil {
			return err
		}
	}
	report.ScanVerdict = report.ScanVerdict.Accept(accepted)
	return nil
}

// store keeps a verdict by its fingerprint, or holds it where it blocks and has none. What was held before is superseded,
// but only once there is something in its place.
func (d *Service) store(skill *pannier.Skill, v pannier.ScanVerdict) error {
	if v.Fingerprint.IsZero() && len(v.Blocking()) > 0 {
		return d.o.Scans.Verdicts.Hold(skill, v)
	}
	if !v.Fingerprint.IsZero() {
		if _, err := d.o.Scans.Verdicts.Put(v); err != nil {
			return err
		}
	}
	return d.o.Scans.Verdicts.Release(skill.Path)
}

// outcomeOf returns what the audit log says of a scan. Blocking has the accepted rules too, so that a state that is recovered from
// the log blocks them.
func outcomeOf(skill *pannier.Skill, r pannier.ScanReport) scanOutcome {
	o := scanOutcome{
		Path: r.Path, Fingerprint: r.Fingerprint, Decision: r.Decision, Findings: len(r.Findings),
		Blocking: pannier.ScanVerdict{Findings: r.Findings}.Blocking(), Accepted: r.Accepted, Unkept: r.Unkept,
	}
	if o.Fingerprint.IsZero() && len(o.Blocking) > 0 {
		o.HeldBy = &heldBy{skill.Digest, skill.MetaDigest}
	}
	return o
}
