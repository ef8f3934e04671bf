package scans

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"pannier"
)

// bucketHeld has the verdicts that belong to a place, with their findings.
const bucketHeld = "scans_held"

// MaxHeld bounds the verdicts that belong to a place.
const MaxHeld = 10_000

// Held is what is needed to judge by a verdict that belongs to a place. It holds for the skill that lies there for as long
// as its SKILL.md and its _meta.json have these digests.
type Held struct {
	Digest, MetaDigest pannier.Digest
	// Rules are those that block. The list is never changed.
	Rules []string
	// Findings counts them.
	Findings int
	At       time.Time
}

// blockRow is such a verdict without its findings.
type blockRow struct {
	Path       []byte         `json:"path"` // of any bytes
	Digest     pannier.Digest `json:"digest"`
	MetaDigest pannier.Digest `json:"meta_digest"`
	Findings   int            `json:"findings"`
	rulesRow
}

func (r blockRow) held() Held {
	return Held{r.Digest, r.MetaDigest, r.Rules, max(r.Findings, len(r.Rules)), r.At}
}

// heldRow is such a verdict as it is kept.
type heldRow struct {
	Path       []byte              `json:"path"` // of any bytes too
	Digest     pannier.Digest      `json:"digest"`
	MetaDigest pannier.Digest      `json:"meta_digest"`
	Verdict    pannier.ScanVerdict `json:"verdict"`
}

func (r heldRow) block() blockRow {
	return blockRow{r.Path, r.Digest, r.MetaDigest, len(r.Verdict.Findings), rulesRow{r.Verdict.At, r.Verdict.Blocking()}}
}

// openHeld reads what is held. It fails where a row makes no sense.
func (s *Store) openHeld() error {
	s.held = map[string]Held{}
	return eachRow(s.blocks, sectionHeld, func(key string, row blockRow) error {
		if pathKey(string(row.Path)) != key {
			return errors.New("its name is not the digest of its path")
		}
		s.held[string(row.Path)] = row.held()
		return nil
	})
}

// Hold keeps a verdict that there is no fingerprint for, by the place of the skill. Where it fails, what was held stays.
func (s *Store) Hold(skill *pannier.Skill, v pannier.ScanVerdict) error {
	row := heldRow{[]byte(skill.Path), skill.Digest, skill.MetaDigest, bounded(v)}
	s.writing.Lock()
	defer s.writing.Unlock()
	if _, ok := s.held[skill.Path]; !ok && len(s.held) >= MaxHeld {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(s.held)), func(a, b string) int {
			return cmp.Or(s.held[a].At.Compare(s.held[b].At), cmp.Compare(a, b))
		})
		if err := s.releaseLocked(oldest); err != nil {
			return err
		}
	}
	if err := s.blocks.Put(sectionHeld, pathKey(skill.Path), row.block()); err != nil {
		return fmt.Errorf("keep the scan of %s: %w", skill.Path, err)
	}
	held := maps.Clone(s.held)
	held[skill.Path] = row.block().held()
	s.show(func() { s.held = held })
	if err := s.rows.Put(bucketHeld, pathKey(skill.Path), row); err != nil {
		return fmt.Errorf("keep the findings in %s: %w", skill.Path, err)
	}
	return nil
}

// Release forgets what is held of a place, if anything is.
func (s *Store) Release(path string) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.releaseLocked(path)
}

func (s *Store) releaseLocked(path string) error {
	if _, ok := s.held[path]; !ok {
		return nil
	}
	if err := errors.Join(s.rows.Delete(bucketHeld, pathKey(path)), s.blocks.Delete(sectionHeld, pathKey(path))); err != nil {
		return fmt.Errorf("forget the scan of %s: %w", path, err)
	}
	held := maps.Clone(s.held)
	delete(held, path)
	s.show(func() { s.held = held })
	return nil
}

// Held returns what is held, by path. The map is never changed.
func (s *Store) Held() map[string]Held {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}

// HeldAt returns the verdict that is held of a place, and false where there is none.
func (s *Store) HeldAt(path string) (v pannier.ScanVerdict, found bool, err error) {
	h, held := s.Held()[path]
	if !held {
		return pannier.ScanVerdict{}, false, nil
	}
	var row heldRow
	found, err = s.rows.Get(bucketHeld, pathKey(path), &row)
	if err == nil && found && slices.Equal(row.Verdict.Blocking(), h.Rules) {
		row.Verdict.Origin = cmp.Or(row.Verdict.Origin, pannier.ScanExplicit)
		return row.Verdict, true, nil
	}
	return withoutPlaces(pannier.Digest{}, h.At, h.Rules), true, nil
}
