package contents

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"pannier"
)

// rulesRow has the rules that block a fingerprint.
type rulesRow struct {
	At    time.Time `json:"at"`
	Rules []string  `json:"rules"`
}

func (r rulesRow) summary() Summary {
	return Summary{ScanSummary: pannier.ScanSummary{
		Decision: pannier.ScanBlock, Origin: pannier.ScanExplicit, At: r.At, Findings: len(r.Rules), Blocking: r.Rules,
	}}
}

// blockedRow is a blocked directory.
type blockedRow struct {
	Path        []byte         `json:"path"` // may be invalid UTF-8
	Fingerprint pannier.Digest `json:"fingerprint"`
}

// pathKey is the key of a path, which may be invalid UTF-8.
func pathKey(path string) string { return pannier.DigestOf([]byte(path)).String() }

// Blocked returns the fingerprints of the directories that were blocked last, by path. The map is never changed.
func (s *Verdicts) Blocked() map[string]pannier.Digest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.blocked
}

// SetBlocked stores the blocked directories. The map must not be changed afterwards. Nothing is written if nothing
// changes.
func (s *Verdicts) SetBlocked(blocked map[string]pannier.Digest) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.setBlockedLocked(blocked)
}

func (s *Verdicts) setBlockedLocked(blocked map[string]pannier.Digest) error {
	if maps.Equal(s.blocked, blocked) {
		return nil
	}
	rows := make(map[string]json.RawMessage, len(blocked))
	for path, fingerprint := range blocked {
		raw, err := json.Marshal(blockedRow{[]byte(path), fingerprint})
		if err != nil {
			return err
		}
		rows[pathKey(path)] = raw
	}
	if err := s.blocks.Replace(sectionBlocked, rows); err != nil {
		return fmt.Errorf("store the blocked skills: %w", err)
	}
	s.publish(func() { s.blocked = blocked })
	return nil
}

// Restore sets the rules that block a fingerprint, which the directory at a path has. An empty list unblocks it.
func (s *Verdicts) Restore(path string, fingerprint pannier.Digest, rules []string, at time.Time) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.releaseLocked(path); err != nil {
		return err
	}
	blocked := maps.Clone(s.blocked)
	before := s.kept[fingerprint]
	switch {
	case len(rules) > 0:
		blocked[path] = fingerprint
		if before.AlwaysBlocks() && slices.Equal(before.Blocking, rules) {
			break
		}
		if err := s.blocks.Put(sectionRules, fingerprint.String(), rulesRow{at, rules}); err != nil {
			return err
		}
		s.publish(func() { s.kept[fingerprint] = rulesRow{at, rules}.summary() })
	case before.AlwaysBlocks():
		if err := s.blocks.Delete(sectionRules, fingerprint.String()); err != nil {
			return err
		}
		s.publish(func() { delete(s.kept, fingerprint) })
	}
	if len(rules) == 0 {
		delete(blocked, path)
	}
	return s.setBlockedLocked(blocked)
}
