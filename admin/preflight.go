package admin

import (
	"fmt"
	"slices"

	"pannier"
)

// preflight judges a staged skill where it is to lie. What keeps it from ever being used there refuses it; what it lacks
// refuses it unless the caller knows that.
func (d *Service) preflight(req pannier.InstallRequest, skill *pannier.Skill) (*pannier.Entry, error) {
	placed := *skill
	placed.TrustLevel, placed.Managed, placed.Locked = d.o.Install.Trust, true, true
	before := d.o.Install.Current()
	if now, ok := installedAt(before, skill); ok {
		placed.Implicit = now.Implicit
	}
	e, after := d.o.Install.Preflight(&placed)
	if other := rival(e, after); other != nil && !keepsSlug(e, before) {
		return nil, &pannier.Refusal{
			Code: "install.collision", Message: fmt.Sprintf("the slug %s belongs to %s already", e.Slug, other.Path),
			Hint: "remove that one, or give one of the two another `slug` in its frontmatter",
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

// installedAt returns the installed skill in whose place another one is put.
func installedAt(s *pannier.Snapshot, skill *pannier.Skill) (*pannier.Entry, bool) {
	if s == nil {
		return nil, false
	}
	now, ok := s.LookupPath(skill.Slug, skill.Path)
	return now, ok && now.Managed
}

// explicitOnly tells that a skill waits for policy before the model uses it on its own; nil where it does not.
func explicitOnly(e *pannier.Entry) []pannier.Problem {
	if e.Policy.AllowImplicit || e.Policy.ImplicitSource != pannier.PolicyStart {
		return nil
	}
	return []pannier.Problem{{
		Code: "install.explicit_only", Severity: pannier.SeverityInfo, Path: e.Path, Field: "allow_implicit_invocation",
		Message: "the agent uses the skill only where a turn names it: installed skills start with allow_implicit_invocation: false",
		Hint:    "run `pannier policy set " + e.Slug + " --implicit=true` to let the model choose it",
	}}
}

// keepsSlug reports whether an update leaves the slug with the installed skill that has it: another skill that claims the slug
// must not keep it from being updated.
func keepsSlug(e *pannier.Entry, before *pannier.Snapshot) bool {
	if before == nil || e.State == pannier.StateShadowed {
		return false
	}
	now, ok := before.LookupPath(e.Slug, e.Path)
	return ok && now.Managed
}

// displaced returns a skill that is usable, and would not be any more because a new one comes before it and conflicts with it.
func displaced(e *pannier.Entry, before, after *pannier.Snapshot) *pannier.Entry {
	if before == nil {
		return nil
	}
	for i, other := range after.Entries {
		blocked := slices.ContainsFunc(other.Reasons, func(r pannier.Reason) bool {
			return r.Code == pannier.ReasonConflict && r.Subject == e.Slug
		})
		was := func(b pannier.Entry) bool { return b.Usable && b.Path == other.Path }
		if blocked && slices.ContainsFunc(before.Entries, was) {
			return &after.Entries[i]
		}
	}
	return nil
}

// conflict refuses a skill that must not be used together with another.
func conflict(slug, other, hint string) *pannier.Refusal {
	return &pannier.Refusal{Code: "install.conflict", Message: fmt.Sprintf("%s must not be used together with %s", slug, other), Hint: hint}
}

// rival returns another skill of the same kind of root with the same slug.
func rival(e *pannier.Entry, s *pannier.Snapshot) *pannier.Entry {
	at := slices.IndexFunc(s.Entries, func(other pannier.Entry) bool {
		return other.Slug == e.Slug && other.SourceKind == e.SourceKind && other.Skill != e.Skill
	})
	if at < 0 {
		return nil
	}
	return &s.Entries[at]
}

// missing are the reasons that pass once somebody has given the agent what it lacks.
var missing = []string{
	pannier.ReasonMissingBinary, pannier.ReasonMissingAnyBinary, pannier.ReasonMissingEnv, pannier.ReasonMissingAPIKey,
	pannier.ReasonMissingMCP, pannier.ReasonOSUnsupported, pannier.ReasonRuntimeIncompatible,
}

// refusalOf returns why a reason keeps a skill from being installed, nil where it does not.
func refusalOf(e *pannier.Entry, r pannier.Reason, allowMissing bool) *pannier.Refusal {
	refusal := &pannier.Refusal{Hint: r.Remedy}
	switch {
	case slices.Contains(missing, r.Code) && !allowMissing:
		refusal.Code, refusal.Message = "install.dependency", fmt.Sprintf("%s lacks what it needs: %s %s", e.Slug, r.Code, r.Subject)
		refusal.Hint += "; or install it all the same with allow_missing"
	case r.Code == pannier.ReasonConflict:
		return conflict(e.Slug, r.Subject, r.Remedy)
	case r.Code == pannier.ReasonTrustBlocked:
		refusal.Code, refusal.Message = "install.trust", fmt.Sprintf("uploaded skills are trusted as %s, which the settings do not let be used", r.Subject)
		refusal.Hint = "lower trust.minimum, or raise trust.install"
	case r.Code == pannier.ReasonInvalid:
		refusal.Code, refusal.Message = "install.invalid", fmt.Sprintf("%s can not be used as it is: %s", e.Slug, r.Subject)
	default:
		return nil
	}
	return refusal
}
