package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"pannier"
	"pannier/admin/policy"
)

// maxSlugBytes bounds the slug of a policy, which can precede its skill.
const maxSlugBytes = 1024

// policyIntent is the audited intent of a policy change.
type policyIntent struct {
	SourceKind pannier.SourceKind `json:"source_kind"`
	pannier.PolicyChange
}

// policyOutcome is the audited outcome of a policy change: the workspace layer before and after it.
type policyOutcome struct {
	SourceKind pannier.SourceKind  `json:"source_kind"`
	Before     pannier.PolicyEntry `json:"before"`
	After      pannier.PolicyEntry `json:"after"`
}

// Policies returns the workspace layer. The map is never changed.
func (s *Service) Policies() map[pannier.PolicyKey]pannier.PolicyEntry { return s.o.Policy.All() }

// SetPolicy changes the workspace layer of a skill, and returns the skill's policy in the snapshot that shows the
// change. An owner in the slug of the key is ignored; the default kind of root is the workspace. The skill need not
// exist yet.
func (s *Service) SetPolicy(ctx context.Context, actor pannier.Actor, key pannier.PolicyKey, change pannier.PolicyChange) (pannier.Policy, *pannier.Snapshot, error) {
	key, err := checkKey(key)
	if err != nil {
		return pannier.Policy{}, nil, err
	}
	var set pannier.Policy
	action := pannier.ActionSetPolicy
	if change.ToolsAllowed.Given && change == (pannier.PolicyChange{ToolsAllowed: change.ToolsAllowed}) {
		action = pannier.ActionAllowTools
	}
	entry := pannier.AuditEntry{Action: action, Actor: actor, Slug: key.Slug, Detail: policyIntent{key.SourceKind, change}}
	snapshot, err := s.mutate(ctx, entry, func() (o outcome, err error) {
		set, o, err = s.setPolicy(key, change)
		return o, err
	})
	if err != nil {
		return pannier.Policy{}, nil, fmt.Errorf("set the policy of %s: %w", key.Slug, err)
	}
	return set, snapshot, nil
}

func (s *Service) setPolicy(key pannier.PolicyKey, change pannier.PolicyChange) (pannier.Policy, outcome, error) {
	before, after, err := s.o.Policy.Set(key, s.o.PolicyPath(key), change)
	if errors.Is(err, policy.ErrFull) {
		err = &pannier.Refusal{Code: "policy.too_many", Message: err.Error(), Hint: "remove policies of removed skills: set all switches to null"}
	}
	if err != nil {
		return pannier.Policy{}, outcome{}, err
	}
	snapshot := s.o.SetPolicies(s.o.Policy.All())
	var skill *pannier.Skill
	if e, ok := snapshot.Holder(key); ok {
		skill = e.Skill
	}
	set := snapshot.Policies.Of(key, skill)
	o := outcome{snapshot: snapshot, detail: policyOutcome{key.SourceKind, before, after}}
	if !before.Equal(after) {
		o.event = pannier.EventPolicyChanged
		o.data = pannier.PolicyChanged{PolicyKey: key, Before: before, After: after, Effective: set.Effective}
	}
	return set, o, nil
}

func checkKey(key pannier.PolicyKey) (pannier.PolicyKey, error) {
	_, key.Slug = pannier.SplitQualified(key.Slug)
	if key.SourceKind == "" {
		key.SourceKind = pannier.SourceWorkspace
	}
	switch {
	case key.Slug == "" || len(key.Slug) > maxSlugBytes:
		return key, &pannier.Refusal{
			Code: "policy.slug", Message: fmt.Sprintf("a slug has 1 to %d letters, digits and hyphens", maxSlugBytes),
			Hint: "use a slug of the list of skills",
		}
	case !slices.Contains(pannier.SourceKinds(), key.SourceKind):
		return key, &pannier.Refusal{
			Code: "policy.source_kind", Message: fmt.Sprintf("%.40q is not a kind of root", key.SourceKind),
			Hint: fmt.Sprintf("use one of %q, or none for the kind of the skill, or of the workspace if the skill does not exist", pannier.SourceKinds()),
		}
	}
	return key, nil
}
