package admin

import (
	"fmt"
	"slices"

	"pannier"
)

// preflight evaluates a staged skill at its future path. It refuses a skill that can never be used there, and one with
// missing dependencies unless the request allows them.
func (s *Service) preflight(req pannier.InstallRequest, skill *pannier.Skill) (*pannier.Entry, error) {
	placed := *skill
	placed.TrustLevel, placed.Managed, placed.Locked = s.o.Install.Trust, true, true
	before := s.o.Install.Current()
	if now, ok := installedAt(before, skill); ok {
		placed.Implicit = now.Implicit
	}
	e, after := s.o.Install.Preflight(&placed)
	// Another skill that claims the slug does not prevent an update of the installed skill that has it.
	if _, ok := installedAt(before, e.Skill); !ok || e.State == pannier.StateShadowed {
		for _, other := range after.Entries {
			if other.Slug != e.Slug || other.SourceKind != e.SourceKind || other.Path == e.Path {
				continue
			}
			return nil, &pannier.Refusal{
				Code: "install.collision", Message: fmt.Sprintf("slug %s is already used by %s", e.Slug, other.Path),
				Hint:     "remove that skill, or set another `slug` in the frontmatter of one of the two",
				Conflict: &pannier.InstallConflict{Slug: other.Slug, Path: other.Path, Version: other.Version, Managed: other.Managed},
			}
		}
	}
	for _, r := range e.Reasons {
		if refusal := refusalOf(e, r, req.AllowMissing); refusal != nil {
			return nil, refusal
		}
	}
	if other := displaced(e, before, after); other != nil {
		return nil, conflict(e.Slug, other.Slug, "disable "+other.Slug+", or remove it from `conflicts`")
	}
	return e, nil
}

// installedAt returns the installed skill at the path of another skill.
func installedAt(s *pannier.Snapshot, skill *pannier.Skill) (*pannier.Entry, bool) {
	now, ok := servedAt(s, skill)
	return now, ok && now.Managed
}

// servedAt returns the skill that a snapshot has at the path of another skill; s may be nil.
func servedAt(s *pannier.Snapshot, skill *pannier.Skill) (*pannier.Entry, bool) {
	if s == nil {
		return nil, false
	}
	return s.LookupPath(skill.Slug, skill.Path)
}

// displaced returns a usable skill that would become unusable because a new skill has precedence and conflicts with it.
func displaced(e *pannier.Entry, before, after *pannier.Snapshot) *pannier.Entry {
	if before == nil {
		return nil
	}
	for _, other := range after.Entries {
		blocked := slices.ContainsFunc(other.Reasons, func(r pannier.Reason) bool {
			return r.Code == pannier.ReasonConflict && r.Subject == e.Slug
		})
		was := func(b *pannier.Entry) bool { return b.Usable && b.Path == other.Path }
		if blocked && slices.ContainsFunc(before.Entries, was) {
			return other
		}
	}
	return nil
}

func conflict(slug, other, hint string) *pannier.Refusal {
	return &pannier.Refusal{Code: "install.conflict", Message: fmt.Sprintf("%s conflicts with %s", slug, other), Hint: hint}
}

// missing has the reasons of missing dependencies, which an operator can add later.
var missing = []string{
	pannier.ReasonMissingBinary, pannier.ReasonMissingAnyBinary, pannier.ReasonMissingEnv, pannier.ReasonMissingAPIKey,
	pannier.ReasonMissingMCP, pannier.ReasonOSUnsupported, pannier.ReasonRuntimeIncompatible,
}

// refusalOf returns the refusal for a reason, nil if the skill can be installed in spite of it.
func refusalOf(e *pannier.Entry, r pannier.Reason, allowMissing bool) *pannier.Refusal {
	refusal := &pannier.Refusal{Hint: r.Remedy}
	switch {
	case slices.Contains(missing, r.Code) && !allowMissing:
		refusal.Code, refusal.Message = "install.dependency", fmt.Sprintf("%s has a missing dependency: %s %s", e.Slug, r.Code, r.Subject)
		refusal.Hint += "; or install it anyway with allow_missing"
		refusal.Reasons = e.Reasons
	case r.Code == pannier.ReasonConflict:
		return conflict(e.Slug, r.Subject, r.Remedy)
	case r.Code == pannier.ReasonTrustBlocked:
		refusal.Code, refusal.Message = "install.trust", fmt.Sprintf("uploaded skills have trust level %s, which the settings do not allow to be used", r.Subject)
		refusal.Hint = "lower trust.minimum, or raise trust.install"
	case r.Code == pannier.ReasonInvalid:
		refusal.Code, refusal.Message = "install.invalid", fmt.Sprintf("%s is invalid: %s", e.Slug, r.Subject)
	default:
		return nil
	}
	return refusal
}
