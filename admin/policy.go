package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"pannier"
	"pannier/admin/policy"
)

// maxSlugBytes bounds the slug of a policy, which needs no skill that has it.
const maxSlugBytes = 1024

// policyIntent is what the audit log says of a policy that was asked for.
type policyIntent struct {
	SourceKind pannier.SourceKind `json:"source_kind"`
	pannier.PolicyChange
}

// policyOutcome is what it says of one that was set: the workspace layer.
type policyOutcome struct {
	SourceKind pannier.SourceKind  `json:"source_kind"`
	Before     pannier.PolicyEntry `json:"before"`
	After      pannier.PolicyEntry `json:"after"`
}

// Policies returns the workspace layer, for the registry to begin with. The map is never changed.
func (d *Service) Policies() map[pannier.PolicyKey]pannier.PolicyEntry { return d.o.Policy.All() }

// SetPolicy changes the workspace layer of a skill, and returns how the skill's policy stands in the snapshot that shows
// it. The slug of the key may have an owner before it, which does not count; without a kind of root, the workspace is
// meant. There need not be such a skill: policy may come first.
func (d *Service) SetPolicy(ctx context.Context, actor pannier.Actor, key pannier.PolicyKey, change pannier.PolicyChange) (pannier.Policy, *pannier.Snapshot, error) {
	key, err := checkKey(key)
	if err != nil {
		return pannier.Policy{}, nil, err
	}
	var set pannier.Policy
	entry := pannier.AuditEntry{Action: pannier.ActionSetPolicy, Actor: actor, Slug: key.Slug, Detail: policyIntent{key.SourceKind, change}}
	snapshot, err := d.mutate(ctx, entry, func() (result done, err error) {
		set, result, err = d.setPolicy(key, change)
		return result, err
	})
	if err != nil {
		return pannier.Policy{}, nil, fmt.Errorf("set the policy of %s: %w", key.Slug, err)
	}
	return set, snapshot, nil
}

func (d *Service) setPolicy(key pannier.PolicyKey, change pannier.PolicyChange) (pannier.Policy, done, error) {
	before, after, err := d.o.Policy.Set(key, d.o.PolicyPath(key), change)
	if errors.Is(err, policy.ErrFull) {
		err = &pannier.Refusal{Code: "policy.too_many", Message: err.Error(), Hint: "remove those of skills that are gone: set both switches to null"}
	}
	if err != nil {
		return pannier.Policy{}, done{}, err
	}
	s := d.o.SetPolicies(d.o.Policy.All())
	set := policyIn(s, key)
	result := done{snapshot: s, detail: policyOutcome{key.SourceKind, before, after}}
	if !before.Equal(after) {
		result.event = pannier.EventPolicyChanged
		result.data = pannier.PolicyChanged{PolicyKey: key, Before: before, After: after, Effective: set.Effective}
	}
	return set, result, nil
}

// policyIn returns how the policy of a key stands in a snapshot.
func policyIn(s *pannier.Snapshot, key pannier.PolicyKey) pannier.Policy {
	if e, ok := s.Holder(key); ok {
		return s.Policies.Of(key, e.Skill)
	}
	return s.Policies.Of(key, nil)
}

// BindPolicies gives the entries of an older version, which name no path, the path that a client who set them now would mean,
// so that no other skill of the slug inherits their grants. It is called once the skills of the workspace are known.
func (d *Service) BindPolicies(ctx context.Context) error {
	if !d.o.Policy.Unbound() {
		return nil
	}
	if err := enter(ctx, d.turn); err != nil {
		return err
	}
	defer func() { <-d.turn }()
	err := d.o.Policy.Bind(d.o.PolicyPath)
	d.o.SetPolicies(d.o.Policy.All())
	return err
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
			Hint: "name a skill as the list of skills does",
		}
	case !slices.Contains(pannier.SourceKinds(), key.SourceKind):
		return key, &pannier.Refusal{
			Code: "policy.source_kind", Message: fmt.Sprintf("%.40q is no kind of root", key.SourceKind),
			Hint: fmt.Sprintf("give one of %q, or none for that of the skill, or of the workspace where there is no skill", pannier.SourceKinds()),
		}
	}
	return key, nil
}
