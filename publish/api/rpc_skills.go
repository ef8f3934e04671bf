package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"path"

	"pannier"
	"pannier/publish/answer"
	"pannier/publish/prompt"
)

type rpcItem struct {
	Slug         string             `json:"slug"`
	SourceKind   pannier.SourceKind `json:"source_kind"`
	DisplayName  string             `json:"display_name"`
	Description  string             `json:"description"`
	Version      string             `json:"version,omitempty"`
	Fingerprint  pannier.Digest     `json:"fingerprint,omitzero"`
	TrustLevel   string             `json:"trust_level"`
	Install      rpcInstall         `json:"install"`
	Policy       *rpcSwitches       `json:"policy,omitempty"`
	Health       *rpcSkillHealth    `json:"health,omitempty"`
	Activity     *pannier.Activity  `json:"activity,omitempty"`
	Status       string             `json:"status"`
	StatusReason string             `json:"status_reason,omitempty"`
}

type rpcInstall struct {
	Managed     bool   `json:"managed"`
	Installed   bool   `json:"installed"`
	InstallPath string `json:"install_path"`
	UpdatedAt   int64  `json:"updated_at,omitempty"`
}

type rpcSwitches struct {
	Enabled       bool `json:"enabled"`
	AllowImplicit bool `json:"allow_implicit_invocation"`
}

// What skills/list says of a skill in one word.
const (
	rpcReady    = "ready"
	rpcBlocked  = "blocked"
	rpcDisabled = "disabled"
)

type rpcListParams struct {
	inWorkspace
	IncludeHealth *bool `json:"include_health"`
	IncludePolicy *bool `json:"include_policy"`
	// IncludeActivity is off by default: the result changes with each use.
	IncludeActivity bool   `json:"include_activity"`
	Limit           *int   `json:"limit"`
	Cursor          string `json:"cursor"`
}

type rpcListResult struct {
	SnapshotVersion uint64 `json:"snapshot_version"`
	GeneratedAt     int64  `json:"generated_at"`
	pannier.Paging
	Skills []rpcItem `json:"skills"`
}

func (h *Handler) rpcList(_ *http.Request, s *pannier.Snapshot, p rpcListParams) (any, error) {
	of := page{cursor: p.Cursor}
	if p.Limit != nil {
		if of.limit = *p.Limit; of.limit < 1 || of.limit > maxPage {
			return nil, invalidParams("limit is out of bounds", fmt.Sprintf("give a number from 1 to %d, or leave it out", maxPage))
		}
	} else if of.cursor != "" {
		return nil, invalidParams("cursor is given without limit", "give both, as in the call before")
	}
	with := inclusion{problems: true, policy: orTrue(p.IncludePolicy), health: orTrue(p.IncludeHealth), activity: p.IncludeActivity}
	if with.activity || of.limit > 0 {
		list, err := h.encodeRPCList(s, with, of)
		return json.RawMessage(list.Body), err
	}
	list, err := h.shared.Of(s, h.Service.Contents.Version(), fmt.Sprintf("skills/list %v", with), func() (answer.Encoded, error) {
		return h.encodeRPCList(s, with, of)
	})
	return json.RawMessage(list.Body), err
}

func (h *Handler) encodeRPCList(s *pannier.Snapshot, with inclusion, of page) (answer.Encoded, error) {
	entries, paging, err := of.of(uniqueSkills(s.Entries))
	if err != nil {
		return answer.Encoded{}, err
	}
	var listed pannier.Entry
	show := h.lister(s, with)
	list := rpcListResult{s.Version, s.Time.Unix(), paging, []rpcItem{}}
	return answer.List(list, entries, answer.Each(func(e *pannier.Entry) any {
		show(e, &listed)
		return h.rpcItemOf(&listed, with)
	}))
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

func (h *Handler) rpcItemOf(e *pannier.Entry, with inclusion) rpcItem {
	item := rpcItem{
		Slug: e.Slug, SourceKind: e.SourceKind, DisplayName: cmp.Or(e.Name, e.Slug), Description: e.Description, Version: e.Version,
		Fingerprint: e.Fingerprint, TrustLevel: rpcTrust(e.TrustLevel),
		Install: rpcInstall{Managed: e.Managed, Installed: true, InstallPath: h.installPath(e.Skill), UpdatedAt: h.updatedAt(e.Skill)},
	}
	if with.policy {
		item.Policy = &rpcSwitches{e.Policy.Enabled, e.Policy.AllowImplicit}
	}
	if e.Health != nil {
		item.Health = new(rpcHealthOf(*e.Health))
	}
	item.Activity = e.Activity
	item.Status, item.StatusReason = h.rpcStatus(e)
	return item
}

func (h *Handler) installPath(s *pannier.Skill) string {
	if s.File == "" { // it has tools only
		return prompt.Location(s, h.RPC.Workspace)
	}
	return path.Dir(prompt.Location(s, h.RPC.Workspace))
}

func (h *Handler) updatedAt(s *pannier.Skill) int64 {
	if h.RPC.Updated == nil {
		return 0
	}
	if at := h.RPC.Updated(s); !at.IsZero() {
		return at.Unix()
	}
	return 0
}

func (h *Handler) rpcStatus(e *pannier.Entry) (status, reason string) {
	if h.RPC.Rejection != nil {
		reason = h.RPC.Rejection(e)
	}
	switch e.State {
	case pannier.StateEligible:
		return rpcReady, ""
	case pannier.StateDisabled:
		return rpcDisabled, reason
	}
	return rpcBlocked, reason
}

// rpcTrust returns a level in the words of the protocol.
func rpcTrust(t pannier.Trust) string {
	if t.AtLeast(pannier.TrustVerified) {
		return "trusted"
	}
	return string(cmp.Or(t, pannier.TrustUntrusted))
}

type rpcPolicy struct {
	WorkspaceID string             `json:"workspace_id"`
	SkillSlug   string             `json:"skill_slug"`
	SourceKind  pannier.SourceKind `json:"source_kind"`
	pannier.Switches
}

func (h *Handler) rpcPolicyOf(p pannier.Policy) rpcPolicy {
	return rpcPolicy{h.RPC.WorkspaceID, p.Slug, p.SourceKind, p.Switches}
}

type rpcPoliciesResult struct {
	Policies []rpcPolicy `json:"policies"`
}

func (h *Handler) rpcPolicies(_ *http.Request, s *pannier.Snapshot, _ inWorkspace) (any, error) {
	result := rpcPoliciesResult{[]rpcPolicy{}}
	for _, p := range policiesOf(s).Policies {
		if !p.IsZero() {
			result.Policies = append(result.Policies, h.rpcPolicyOf(p))
		}
	}
	return result, nil
}

type rpcSetPolicyParams struct {
	inWorkspace
	SkillSlug  *string            `json:"skill_slug"`
	SourceKind pannier.SourceKind `json:"source_kind"`
	pannier.PolicyChange
}

type rpcPolicyResult struct {
	Policy rpcPolicy `json:"policy"`
}

// rpcSetPolicy is skills/policy/set: PUT /v1/policy, for the same callers.
func (h *Handler) rpcSetPolicy(r *http.Request, _ *pannier.Snapshot, p rpcSetPolicyParams) (any, error) {
	if p.SkillSlug == nil {
		return nil, invalidParams("skill_slug is missing", "name the skill as skills/list does")
	}
	key := pannier.PolicyKey{Slug: *p.SkillSlug, SourceKind: p.SourceKind}
	policy, err := h.Service.SetPolicy(r.Context(), key, p.PolicyChange)
	if err != nil {
		return nil, err
	}
	return rpcPolicyResult{h.rpcPolicyOf(policy)}, nil
}
