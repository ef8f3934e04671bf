package service

import (
	"encoding/json"
	"strings"
	"time"

	"pannier"
)

// RecordLoaded records that the instructions of a skill are served.
func (s *Service) RecordLoaded(t Text) {
	s.MarkLoaded(t.Entry)
	s.Emit(pannier.EventSkillLoaded, Loaded(t.Entry, t.Frontmatter))
}

// MarkLoaded records when the instructions of a skill were served, without an event: turns emit those that their
// budget allows.
func (s *Service) MarkLoaded(e *pannier.Entry) {
	advance(&s.Activity.Of(s.Snapshot()).Of(e).loaded, time.Now().Unix())
}

// recordInvoked records that a skill is given to an agent to follow, which serves its instructions too.
func (s *Service) recordInvoked(t Text, invoked pannier.SkillInvoked) {
	s.RecordLoaded(t)
	s.Activity.Of(s.Snapshot()).Of(t.Entry).Activate(time.Now().Unix())
	invoked.Name, invoked.Slug, invoked.EffectiveAllowedTools = t.Name, t.Slug, t.AllowedTools
	s.Emit(pannier.EventSkillInvoked, invoked)
}

// ModeOf returns who invoked a skill that is active in a turn for a reason; false if the skill is only offered.
func ModeOf(reason string) (pannier.InvocationMode, bool) {
	switch reason {
	case pannier.ViaImplicit, pannier.ViaMentioned:
		return "", false
	case pannier.ViaPath:
		return pannier.InvokedAutomatically, true
	}
	return pannier.InvokedManually, true
}

const maxWarningText = 512

// Loaded returns the event of instructions that are served.
func Loaded(e *pannier.Entry, frontmatter json.RawMessage) pannier.SkillLoaded {
	loaded := pannier.SkillLoaded{Name: e.Name, Path: e.Path, Digest: e.Digest, Frontmatter: frontmatter}
	for _, p := range e.Problems {
		if p.Severity != pannier.SeverityInfo && len(loaded.Warnings) < pannier.MaxLoadWarnings {
			detail := p.Place() + ": " + p.Message
			if len(detail) > maxWarningText {
				detail = strings.ToValidUTF8(strings.Clone(detail[:maxWarningText]), "")
			}
			loaded.Warnings = append(loaded.Warnings, pannier.SkillWarning{Kind: p.Code, Detail: detail})
		}
	}
	return loaded
}
