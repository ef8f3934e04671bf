package rpc

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"

	"pannier"
	"pannier/publish/answer"
	"pannier/publish/prompt"
	"pannier/service"
)

type item struct {
	Slug         string             `json:"slug"`
	SourceKind   pannier.SourceKind `json:"source_kind"`
	DisplayName  string             `json:"display_name"`
	Description  string             `json:"description"`
	Version      string             `json:"version,omitempty"`
	Fingerprint  pannier.Digest     `json:"fingerprint,omitzero"`
	TrustLevel   string             `json:"trust_level"`
	Install      install            `json:"install"`
	Policy       *switches          `json:"policy,omitempty"`
	Health       *skillHealth       `json:"health,omitempty"`
	Activity     *pannier.Activity  `json:"activity,omitempty"`
	Status       string             `json:"status"`
	StatusReason string             `json:"status_reason,omitempty"`
}

type install struct {
	Managed     bool   `json:"managed"`
	Installed   bool   `json:"installed"`
	InstallPath string `json:"install_path"`
	UpdatedAt   int64  `json:"updated_at,omitempty"`
}

type switches struct {
	Enabled       bool `json:"enabled"`
	AllowImplicit bool `json:"allow_implicit_invocation"`
}

// What skills/list says of a skill in one word.
const (
	ready    = "ready"
	blocked  = "blocked"
	disabled = "disabled"
)

type listParams struct {
	inWorkspace
	IncludeHealth *bool `json:"include_health"`
	IncludePolicy *bool `json:"include_policy"`
	// IncludeActivity is off by default: the result changes with each use.
	IncludeActivity bool   `json:"include_activity"`
	Limit           *int   `json:"limit"`
	Cursor          string `json:"cursor"`
}

type listResult struct {
	SnapshotVersion uint64 `json:"snapshot_version"`
	GeneratedAt     int64  `json:"generated_at"`
	pannier.Paging
	Skills []item `json:"skills"`
}

func (h *skills) list(_ context.Context, s *pannier.Snapshot, p listParams) (any, error) {
	of := service.Page{Cursor: p.Cursor}
	if p.Limit != nil {
		if of.Limit = *p.Limit; of.Limit < 1 || of.Limit > service.MaxPage {
			return nil, invalidParams(
				"limit is out of bounds", fmt.Sprintf("give a number from 1 to %d, or leave it out", service.MaxPage),
			)
		}
	} else if of.Cursor != "" {
		return nil, invalidParams("cursor is given without limit", "give both, as in the call before")
	}
	with := service.Show{
		Problems: true, Policy: orTrue(p.IncludePolicy), Health: orTrue(p.IncludeHealth), Activity: p.IncludeActivity,
	}
	encode := func() (answer.Encoded, error) {
		entries, paging, err := of.Of(uniqueSkills(s.Entries))
		if err != nil {
			return answer.Encoded{}, err
		}
		var listed pannier.Entry
		show := h.Service.Lister(s, with)
		return answer.List(
			listResult{s.Version, s.Time.Unix(), paging, []item{}}, entries,
			answer.Each(func(e *pannier.Entry) any {
				show(e, &listed)
				return h.itemOf(&listed, with)
			}),
		)
	}
	if with.Activity || of.Limit > 0 {
		list, err := encode()
		return json.RawMessage(list.Body), err
	}
	list, err := h.Shared.Of(s, h.Service.Contents.Version(), fmt.Sprintf("skills/list %v", with), encode)
	return json.RawMessage(list.Body), err
}

func orTrue(b *bool) bool { return b == nil || *b }

// uniqueSkills returns the first entry of each slug in a kind of root: these two name a skill.
func uniqueSkills(entries []*pannier.Entry) []*pannier.Entry {
	var first []*pannier.Entry
	seen := map[pannier.PolicyKey]bool{}
	for i := range entries {
		e := entries[i]
		if key := (pannier.PolicyKey{Slug: e.Slug, SourceKind: e.SourceKind}); !seen[key] {
			seen[key] = true
			first = append(first, e)
		}
	}
	return first
}

func (h *skills) itemOf(e *pannier.Entry, with service.Show) item {
	item := item{
		Slug: e.Slug, SourceKind: e.SourceKind, DisplayName: cmp.Or(e.Name, e.Slug), Description: e.Description,
		Version:     e.Version,
		Fingerprint: e.Fingerprint, TrustLevel: trust(e.TrustLevel),
		Install: install{Managed: e.Managed, Installed: true, InstallPath: prompt.Location(e.Skill, h.Workspace)},
	}
	if e.File != "" { // one without has tools only
		item.Install.InstallPath = path.Dir(item.Install.InstallPath)
	}
	if h.Updated != nil {
		if at := h.Updated(e.Skill); !at.IsZero() {
			item.Install.UpdatedAt = at.Unix()
		}
	}
	if with.Policy {
		item.Policy = &switches{e.Policy.Enabled, e.Policy.AllowImplicit}
	}
	if e.Health != nil {
		item.Health = new(healthOf(*e.Health))
	}
	item.Activity = e.Activity
	if item.Status = blocked; e.State == pannier.StateDisabled {
		item.Status = disabled
	}
	if e.State == pannier.StateEligible {
		item.Status = ready
	} else if h.Rejection != nil {
		item.StatusReason = h.Rejection(e)
	}
	return item
}

// trust returns a level in the words of the protocol.
func trust(t pannier.Trust) string {
	if t.AtLeast(pannier.TrustVerified) {
		return "trusted"
	}
	return string(cmp.Or(t, pannier.TrustUntrusted))
}

type policy struct {
	WorkspaceID string             `json:"workspace_id"`
	SkillSlug   string             `json:"skill_slug"`
	SourceKind  pannier.SourceKind `json:"source_kind"`
	pannier.Switches
}

func (h *skills) policyOf(p pannier.Policy) policy {
	return policy{h.WorkspaceID, p.Slug, p.SourceKind, p.Switches}
}

type policiesResult struct {
	Policies []policy `json:"policies"`
}

func (h *skills) policies(_ context.Context, s *pannier.Snapshot, _ inWorkspace) (any, error) {
	result := policiesResult{[]policy{}}
	for _, p := range service.Policies(s).Policies {
		if !p.IsZero() {
			result.Policies = append(result.Policies, h.policyOf(p))
		}
	}
	return result, nil
}

type setPolicyParams struct {
	inWorkspace
	SkillSlug  *string            `json:"skill_slug"`
	SourceKind pannier.SourceKind `json:"source_kind"`
	pannier.PolicyChange
}

type policyResult struct {
	Policy policy `json:"policy"`
}

// setPolicy is skills/policy/set: PUT /v1/policy, for the same callers.
func (h *skills) setPolicy(ctx context.Context, _ *pannier.Snapshot, p setPolicyParams) (any, error) {
	if p.SkillSlug == nil {
		return nil, invalidParams("skill_slug is missing", "name the skill as skills/list does")
	}
	key := pannier.PolicyKey{Slug: *p.SkillSlug, SourceKind: p.SourceKind}
	policy, err := h.Service.SetPolicy(ctx, key, p.PolicyChange)
	if err != nil {
		return nil, err
	}
	return policyResult{h.policyOf(policy)}, nil
}
