package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pannier"
)

// Verdicts keeps what scans have found. A verdict is on disk when Put returns, or not kept where it fails; it is returned
// as it is kept.
type Verdicts interface {
	Put(pannier.ScanVerdict) (pannier.ScanVerdict, error)
}

// ScanOptions are what a scan leads to. All are needed where [Door.Scan] is called.
type ScanOptions struct {
	Verdicts Verdicts
	// Fingerprint returns that of a skill directory as it is now. It fails with [pannier.ErrChanged] while the directory
	// keeps changing.
	Fingerprint func(context.Context, *pannier.Skill) (pannier.Digest, error)
	// Scan returns what is found in a skill directory as it is now. Fingerprint, time, slug and path are filled in here.
	// Where it fails because ctx is done, the report tells what was found until then.
	Scan func(context.Context, *pannier.Skill) (pannier.ScanReport, error)
	// ApplyVerdict judges again by what is kept for a fingerprint, and returns a snapshot that shows it.
	ApplyVerdict func(pannier.Digest) *pannier.Snapshot
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
}

// scanOutcome is what it says of one that was made. The findings are in the state store.
type scanOutcome struct {
	Path        string               `json:"path"`
	Fingerprint pannier.Digest       `json:"fingerprint,omitzero"`
	Decision    pannier.ScanDecision `json:"decision,omitempty"`
	Findings    int                  `json:"findings"`
	Blocking    []string             `json:"blocking,omitempty"`
	Unkept      string               `json:"unkept,omitempty"`
}

// Scan scans a skill directory as it is now, keeps the verdict for its fingerprint, and returns it with the snapshot that
// shows what follows. One scan is under way at a time. Other mutations go through the door meanwhile, because a scan takes
// longer than all of them: only keeping its verdict waits for a turn.
//
// A caller that goes away before the verdict is there ends the scan, and nothing is kept. Nor is it where there is no
// fingerprint to keep it by, or where the scan takes longer than it may: then the report says so, and there is no snapshot.
func (d *Door) Scan(ctx context.Context, actor pannier.Actor, skill *pannier.Skill) (pannier.ScanReport, *pannier.Snapshot, error) {
	if err := enter(ctx, d.scanning); err != nil {
		return pannier.ScanReport{}, nil, err
	}
	defer func() { <-d.scanning }()
	intent, err := d.o.Audit.Append(pannier.AuditEntry{
		Phase: pannier.AuditIntent, Action: pannier.ActionScan, Actor: actor, Slug: skill.Slug, Detail: scanIntent{skill.Path},
	})
	if err != nil {
		return pannier.ScanReport{}, nil, fmt.Errorf("scan %s: %w", skill.Slug, err)
	}
	report, result, err := d.scan(ctx, skill)
	d.conclude(intent, result, err)
	if err != nil {
		return pannier.ScanReport{}, nil, fmt.Errorf("scan %s: %w", skill.Slug, err)
	}
	if result.event != "" {
		d.o.Emit(result.event, result.data)
	}
	return report, result.snapshot, nil
}

func (d *Door) scan(ctx context.Context, skill *pannier.Skill) (pannier.ScanReport, done, error) {
	report, err := d.examine(ctx, skill)
	report.Slug, report.Path, report.At = skill.Slug, skill.Path, time.Now().UTC().Round(0)
	if err == nil && report.Unkept == "" {
		return d.keepVerdict(report)
	}
	return report, done{detail: outcomeOf(report)}, err
}

// examine finds out what a directory holds, and by which fingerprint. That is one thing only where the fingerprint is the
// same before and after; where it is not, somebody was writing, and it is looked at again.
func (d *Door) examine(ctx context.Context, skill *pannier.Skill) (pannier.ScanReport, error) {
	bounded, cancel := context.WithTimeout(ctx, scanTimeout)
	defer cancel()
	for range scanTries {
		before, unknown := d.o.Scans.Fingerprint(bounded, skill)
		report, late := d.o.Scans.Scan(bounded, skill)
		switch {
		case ctx.Err() != nil:
			return report, ctx.Err()
		case late != nil && !errors.Is(late, context.DeadlineExceeded):
			return report, late
		case late != nil:
			report.Unkept = fmt.Sprintf("the scan was ended after %s", scanTimeout)
			return report, nil
		case errors.Is(unknown, pannier.ErrChanged):
			continue
		case unknown != nil:
			report.Unkept = unknown.Error()
			return report, nil
		}
		if after, err := d.o.Scans.Fingerprint(bounded, skill); err == nil && after == before {
			report.Fingerprint = before
			return report, nil
		}
	}
	return pannier.ScanReport{}, pannier.ErrChanged
}

// keepVerdict keeps what was found, hands it to the registry, and says so. It waits for its turn, whoever goes away.
func (d *Door) keepVerdict(report pannier.ScanReport) (pannier.ScanReport, done, error) {
	d.turn <- struct{}{}
	defer func() { <-d.turn }()
	if _, err := d.o.Scans.Verdicts.Put(report.ScanVerdict); err != nil {
		return report, done{detail: outcomeOf(report)}, err
	}
	return report, done{
		snapshot: d.o.Scans.ApplyVerdict(report.Fingerprint), detail: outcomeOf(report), event: pannier.EventSkillScanned,
		data: pannier.SkillScanned{
			Slug: report.Slug, Path: report.Path, Fingerprint: report.Fingerprint, Decision: report.Decision, Findings: len(report.Findings),
		},
	}, nil
}

func outcomeOf(r pannier.ScanReport) scanOutcome {
	return scanOutcome{
		Path: r.Path, Fingerprint: r.Fingerprint, Decision: r.Decision, Findings: len(r.Findings), Blocking: r.Blocking(), Unkept: r.Unkept,
	}
}
