package scans

import (
	"errors"
	"fmt"
	"maps"

	"pannier"
)

// sectionAccepted is the section of [Blocks] with what is accepted. The key of a row is the digest of path and fingerprint.
const sectionAccepted = "scan_accepted"

// MaxAccepted bounds the contents that have accepted rules.
const MaxAccepted = 1000

// content is a fingerprint at a path. An acceptance holds for nothing else: not for another content at the path, and not for the
// same content elsewhere.
type content struct {
	path        string
	fingerprint pannier.Digest
}

func (c content) key() string {
	return pannier.DigestOf([]byte(c.path + "\x00" + c.fingerprint.String())).String()
}

// acceptedRow is what is accepted of one content.
type acceptedRow struct {
	Path        []byte               `json:"path"` // of any bytes
	Fingerprint pannier.Digest       `json:"fingerprint"`
	Accepted    []pannier.Acceptance `json:"accepted"`
}

// openAccepted reads what is accepted. It fails where a row makes no sense.
func (s *Store) openAccepted() error {
	s.accepted = map[content][]pannier.Acceptance{}
	return eachRow(s.blocks, sectionAccepted, func(key string, row acceptedRow) error {
		of := content{string(row.Path), row.Fingerprint}
		if of.key() != key || row.Fingerprint.IsZero() {
			return errors.New("its name is not the digest of its content")
		}
		s.accepted[of] = row.Accepted
		return nil
	})
}

// Accept keeps what is accepted of a fingerprint at a path, in the place of what was. An empty list takes it back.
func (s *Store) Accept(path string, fingerprint pannier.Digest, accepted []pannier.Acceptance) error {
	of := content{path, fingerprint}
	s.writing.Lock()
	defer s.writing.Unlock()
	if len(accepted) == 0 {
		return s.withdrawLocked(of)
	}
	if len(accepted) > pannier.MaxAcceptedRules {
		return tooMany(fmt.Sprintf("%d rules would be accepted for the skill", len(accepted)), fmt.Sprintf("accept at most %d rules; `pannier scan --accept none` takes those of a skill back", pannier.MaxAcceptedRules))
	}
	if _, there := s.accepted[of]; !there && len(s.accepted) >= MaxAccepted {
		return tooMany(fmt.Sprintf("rules are accepted for %d contents, which is the limit", MaxAccepted), "take acceptances back with `pannier scan SLUG --accept none`")
	}
	if err := s.blocks.Put(sectionAccepted, of.key(), acceptedRow{[]byte(path), fingerprint, accepted}); err != nil {
		return fmt.Errorf("keep what is accepted in %s: %w", path, err)
	}
	s.show(func() { s.accepted[of] = accepted })
	return nil
}

func tooMany(message, hint string) error {
	return &pannier.Refusal{Code: "scan.accept.full", Message: message, Hint: hint}
}

// Withdraw takes back all that is accepted at a path.
func (s *Store) Withdraw(path string) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	for of := range maps.Clone(s.accepted) {
		if of.path == path {
			if err := s.withdrawLocked(of); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Store) withdrawLocked(of content) error {
	if _, there := s.accepted[of]; !there {
		return nil
	}
	if err := s.blocks.Delete(sectionAccepted, of.key()); err != nil {
		return fmt.Errorf("take back what is accepted in %s: %w", of.path, err)
	}
	s.show(func() { delete(s.accepted, of) })
	return nil
}

// Accepted returns what is accepted of a fingerprint at a path. The list is never changed.
func (s *Store) Accepted(path string, fingerprint pannier.Digest) []pannier.Acceptance {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted[content{path, fingerprint}]
}
