package contents

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"pannier"
)

// bucketHeld has the verdicts by path, with their findings.
const bucketHeld = "scans_held"

// MaxPathVerdicts bounds the verdicts by path.
const MaxPathVerdicts = 10_000

// PathVerdict is a verdict by path. It applies to the skill at the path as long as its SKILL.md and _meta.json have
// these digests.
type PathVerdict struct {
	Digest, MetaDigest pannier.Digest
	// Rules are the blocking rules. The list is never changed.
	Rules    []string
	Findings int
	At       time.Time
}

// counts reports whether the verdict applies to a skill.
func (h PathVerdict) counts(s *pannier.Skill) bool {
	return h.Digest == s.Digest && h.MetaDigest == s.MetaDigest
}

// blockRow is a verdict by path without its findings.
type blockRow struct {
	Path       []byte         `json:"path"` // may be invalid UTF-8
	Digest     pannier.Digest `json:"digest"`
	MetaDigest pannier.Digest `json:"meta_digest"`
	Findings   int            `json:"findings"`
	rulesRow
}

func (r blockRow) held() PathVerdict {
	return PathVerdict{r.Digest, r.MetaDigest, r.Rules, max(r.Findings, len(r.Rules)), r.At}
}

// heldRow is a verdict by path with its findings.
type heldRow struct {
	Path       []byte              `json:"path"` // may be invalid UTF-8
	Digest     pannier.Digest      `json:"digest"`
	MetaDigest pannier.Digest      `json:"meta_digest"`
	Verdict    pannier.ScanVerdict `json:"verdict"`
}

// Hold stores a verdict without a fingerprint by the path of the skill. An error leaves the old one in place.
func (s *Verdicts) Hold(skill *pannier.Skill, v pannier.ScanVerdict) error {
	row := heldRow{[]byte(skill.Path), skill.Digest, skill.MetaDigest, bounded(v)}
	rules := rulesRow{v.At, row.Verdict.Blocking()}
	block := blockRow{row.Path, row.Digest, row.MetaDigest, len(row.Verdict.Findings), rules}
	s.writing.Lock()
	defer s.writing.Unlock()
	if _, ok := s.held[skill.Path]; !ok && len(s.held) >= MaxPathVerdicts {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(s.held)), func(a, b string) int {
			return cmp.Or(s.held[a].At.Compare(s.held[b].At), cmp.Compare(a, b))
		})
		if err := s.releaseLocked(oldest); err != nil {
			return err
		}
	}
	if err := s.putHeldLocked(block); err != nil {
		return fmt.Errorf("store the scan of %s: %w", skill.Path, err)
	}
	if err := s.rows.Put(bucketHeld, pathKey(skill.Path), row); err != nil {
		return fmt.Errorf("store the findings of %s: %w", skill.Path, err)
	}
	s.onKept(v)
	return nil
}

func (s *Verdicts) putHeldLocked(row blockRow) error {
	path := string(row.Path)
	if err := s.blocks.Put(sectionHeld, pathKey(path), row); err != nil {
		return err
	}
	held := maps.Clone(s.held)
	held[path] = row.held()
	s.publish(func() { s.held = held })
	return nil
}

// RestoreHeld stores the rules that block the skill at a path as long as its files have these digests.
func (s *Verdicts) RestoreHeld(path string, digest, metaDigest pannier.Digest, rules []string, at time.Time) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.putHeldLocked(blockRow{[]byte(path), digest, metaDigest, len(rules), rulesRow{at, rules}})
}

// Release removes the verdict of a path, if there is one.
func (s *Verdicts) Release(path string) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.releaseLocked(path)
}

func (s *Verdicts) releaseLocked(path string) error {
	if _, ok := s.held[path]; !ok {
		return nil
	}
	key := pathKey(path)
	if err := errors.Join(s.rows.Delete(bucketHeld, key), s.blocks.Delete(sectionHeld, key)); err != nil {
		return fmt.Errorf("remove the scan of %s: %w", path, err)
	}
	held := maps.Clone(s.held)
	delete(held, path)
	s.publish(func() { s.held = held })
	return nil
}

// PathVerdicts returns the verdicts by path. The map is never changed.
func (s *Verdicts) PathVerdicts() map[string]PathVerdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}

// VerdictAt returns the verdict of a path, and false if there is none.
func (s *Verdicts) VerdictAt(path string) (v pannier.ScanVerdict, found bool, err error) {
	h, held := s.PathVerdicts()[path]
	if !held {
		return pannier.ScanVerdict{}, false, nil
	}
	var row heldRow
	found, err = s.rows.Get(bucketHeld, pathKey(path), &row)
	if err == nil && found && slices.Equal(row.Verdict.Blocking(), h.Rules) {
		row.Verdict.Origin = cmp.Or(row.Verdict.Origin, pannier.ScanExplicit)
		return row.Verdict, true, nil
	}
	return withoutLocations(pannier.Digest{}, h.At, h.Rules), true, nil
}
