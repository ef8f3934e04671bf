package contents

import (
	"fmt"
	"maps"

	"pannier"
)

// sectionAccepted is the section of [Blocks] with acceptances. The key of a row is the digest of path and fingerprint.
const sectionAccepted = "scan_accepted"

// MaxAccepted bounds the contents with accepted rules.
const MaxAccepted = 1000

// content is a fingerprint at a path. An acceptance applies neither to other content at the path nor to the same
// content elsewhere.
type content struct {
	path        string
	fingerprint pannier.Digest
}

func (c content) key() string {
	return pannier.DigestOf([]byte(c.path + "\x00" + c.fingerprint.String())).String()
}

// acceptedRow has the acceptances of one content.
type acceptedRow struct {
	Path        []byte               `json:"path"` // may be invalid UTF-8
	Fingerprint pannier.Digest       `json:"fingerprint"`
	Accepted    []pannier.Acceptance `json:"accepted"`
}

// Accept replaces the acceptances of a fingerprint at a path. An empty list withdraws them.
func (s *Verdicts) Accept(path string, fingerprint pannier.Digest, accepted []pannier.Acceptance) error {
	of := content{path, fingerprint}
	s.writing.Lock()
	defer s.writing.Unlock()
	if len(accepted) == 0 {
		return s.withdrawLocked(of)
	}
	if len(accepted) > pannier.MaxAcceptedRules {
		return tooMany(fmt.Sprintf("%d rules would be accepted for the skill", len(accepted)),
			fmt.Sprintf("accept at most %d rules; `pannier scan --accept none` withdraws those of a skill",
				pannier.MaxAcceptedRules))
	}
	if _, there := s.accepted[of]; !there && len(s.accepted) >= MaxAccepted {
		return tooMany(fmt.Sprintf("rules are accepted for %d contents, which is the limit", MaxAccepted),
			"withdraw acceptances with `pannier scan SLUG --accept none`")
	}
	if err := s.blocks.Put(sectionAccepted, of.key(), acceptedRow{[]byte(path), fingerprint, accepted}); err != nil {
		return fmt.Errorf("store the acceptances of %s: %w", path, err)
	}
	s.publish(func() { s.accepted[of] = accepted })
	return nil
}

func tooMany(message, hint string) error {
	return &pannier.Refusal{Code: "scan.accept.full", Message: message, Hint: hint}
}

// Withdraw removes all acceptances at a path.
func (s *Verdicts) Withdraw(path string) error {
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

func (s *Verdicts) withdrawLocked(of content) error {
	if _, there := s.accepted[of]; !there {
		return nil
	}
	if err := s.blocks.Delete(sectionAccepted, of.key()); err != nil {
		return fmt.Errorf("withdraw the acceptances of %s: %w", of.path, err)
	}
	s.publish(func() { delete(s.accepted, of) })
	return nil
}

// Accepted returns the acceptances of a fingerprint at a path. The list is never changed.
func (s *Verdicts) Accepted(path string, fingerprint pannier.Digest) []pannier.Acceptance {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted[content{path, fingerprint}]
}
