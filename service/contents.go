package service

import (
	"context"

	"pannier"
)

// Contents tell what is known of skill directories beside the snapshot. None of them but Compute waits for a disk.
type Contents interface {
	// Fingerprint returns that of a skill as the snapshot has it, zero where it is not known yet.
	Fingerprint(*pannier.Skill) pannier.Digest
	// Compute returns the fingerprint of a skill as it is on disk.
	Compute(context.Context, *pannier.Skill) (pannier.Digest, error)
	// Version is another number whenever Fingerprint has other answers than before. It is read before the answers
	// that depend on it.
	Version() uint64
	// Verdict returns what a scan has found of a skill as the snapshot has it.
	Verdict(*pannier.Skill) (v pannier.ScanVerdict, found bool, err error)
	// Summary returns the same without the findings, nil where there is none.
	Summary(*pannier.Skill) *pannier.ScanSummary
}

// unknown is what is known where nothing is.
type unknown struct{}

func (unknown) Fingerprint(*pannier.Skill) pannier.Digest { return pannier.Digest{} }

func (unknown) Compute(context.Context, *pannier.Skill) (pannier.Digest, error) {
	return pannier.Digest{}, pannier.ErrNotServable
}

func (unknown) Version() uint64 { return 0 }

func (unknown) Verdict(*pannier.Skill) (pannier.ScanVerdict, bool, error) {
	return pannier.ScanVerdict{}, false, nil
}

func (unknown) Summary(*pannier.Skill) *pannier.ScanSummary { return nil }

// Verdict returns what a scan has found of a skill. It is nil if the store cannot be read: the rest of the skill is
// still shown.
func (s *Service) Verdict(skill *pannier.Skill) *pannier.ScanVerdict {
	v, found, err := s.Contents.Verdict(skill)
	if err != nil {
		s.Logger.Error("cannot read the scan of a skill", "skill", skill.Slug, "error", err)
	}
	if err != nil || !found {
		return nil
	}
	return &v
}
