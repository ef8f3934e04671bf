package admin

import (
	"context"
	"errors"
	"time"

	"pannier"
)

// ScanInBackground scans a skill directory that was read with a fingerprint, and keeps the verdict for that fingerprint. It is
// not audited, because no client asked for it, and it does not wait for mutations or explicit scans. [pannier.ErrChanged] says
// that the directory has another fingerprint now; no verdict is kept then. A scan that takes longer than it may is kept with the
// finding that says so.
func (d *Service) ScanInBackground(ctx context.Context, skill *pannier.Skill, fingerprint pannier.Digest) error {
	report, err := d.examineOnce(ctx, skill, fingerprint)
	if err != nil {
		return err
	}
	v := report.ScanVerdict
	v.Fingerprint, v.At, v.Origin = fingerprint, time.Now().UTC().Round(0), pannier.ScanBackground
	if v, err = d.o.Scans.Verdicts.Put(v); err != nil {
		return err
	}
	d.o.Emit(pannier.EventSkillScanned, pannier.SkillScanned{
		Slug: skill.Slug, Path: skill.Path, Fingerprint: fingerprint, Decision: v.Decision, Origin: v.Origin, Findings: len(report.Findings),
	})
	return nil
}

// examineOnce scans a directory, and fails where it has another fingerprint after that.
func (d *Service) examineOnce(ctx context.Context, skill *pannier.Skill, fingerprint pannier.Digest) (pannier.ScanReport, error) {
	bounded, cancel := context.WithTimeout(ctx, scanTimeout)
	defer cancel()
	report, err := d.o.Scans.Scan(bounded, skill)
	if err != nil && (ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded)) {
		return report, err
	}
	after, err := d.o.Scans.Fingerprint(ctx, skill)
	if err == nil && after != fingerprint {
		err = pannier.ErrChanged
	}
	return report, err
}
