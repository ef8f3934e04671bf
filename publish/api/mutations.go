package api

import (
	"cmp"
	"math"
	"net/http"
	"strconv"

	"pannier"
	"pannier/publish/answer"
	"pannier/service"
)

var changeRoutes = []route{
	{
		pattern: "POST /v1/rescan", endpoint: returns((*Handler).rescan),
		id: "rescan", summary: "Looks at everything again.",
		parameters: []parameter{query("wait", "boolean", "Answers once a scan that began after the call is served.")},
	},
	{
		pattern: "GET /v1/environment", endpoint: returns((*Handler).environment),
		id: "getEnvironment", summary: "What skills are judged by: names, never values.",
	},
	{
		pattern: "PUT /v1/environment", endpoint: takes((*Handler).putEnvironment), bodySchema: environmentBody{},
		scope: service.ScopeEnvironment,
		id:    "putEnvironment", summary: "Takes in what the agent's container offers.",
		has: hasChanges,
	},
	{
		pattern: "GET /v1/policy", endpoint: writes[pannier.PolicyList]((*Handler).policies),
		id: "listPolicies", summary: "The policy of every skill.",
	},
	{
		pattern: "PUT /v1/policy/{slug}", endpoint: takes((*Handler).setPolicy), scope: service.ScopeWrite,
		id:      "setPolicy",
		summary: "Changes the workspace layer of a skill's policy: a switch that is left out keeps its value, null takes it back.",
		parameters: []parameter{
			query("source_kind", "string", "The kind of root; without it that of the skill is meant."),
		},
		has: hasChanges,
	},
	{
		pattern: "GET /v1/audit", endpoint: returns((*Handler).audit), early: true,
		id: "listAudit", summary: "The newest entries of the audit log, newest first.",
		parameters: []parameter{
			query("slug", "string", "Only entries about this skill."),
			{
				"after", "query",
				"Only entries after this one in the order of the answer, so older ones: the number of the last entry that is known.",
				object{"type": "integer", "format": "int64", "minimum": 1, "maximum": math.MaxInt64},
			},
			{
				"limit", "query", "The most entries.",
				object{"type": "integer", "minimum": 1, "maximum": maxAudit, "default": defaultAudit},
			},
		},
		has: hasAudit,
	},
	{
		pattern: "GET /v1/audit/verify", endpoint: returns((*Handler).verifyAudit), early: true,
		id: "verifyAudit", summary: "Follows the chain of the audit log.",
		parameters: []parameter{query("expect", "string", "An entry that the log must have, as SEQ:DIGEST.")},
		has:        hasAudit,
	},
}

func hasChanges(o *Options) bool { return o.Service.Changes != nil }

func hasAudit(o *Options) bool { return o.Service.Audit != nil }

type rescanned struct {
	SnapshotVersion uint64         `json:"snapshot_version"`
	Digest          pannier.Digest `json:"digest"`
}

func (h *Handler) rescan(r *http.Request, _ *pannier.Snapshot) (answer rescanned, err error) {
	s, err := h.Service.Rescan(r.Context(), isSet(r, "wait"))
	if err != nil {
		return answer, err
	}
	return rescanned{s.Version, s.Digest}, nil
}

// environmentBody is an environment as an agent puts it, which may leave out what it does not know.
type environmentBody struct {
	OS     string                    `json:"os,omitempty"`
	Arch   string                    `json:"arch,omitempty"`
	Bins   []string                  `json:"bins,omitempty"`
	Env    []string                  `json:"env,omitempty"`
	Config []string                  `json:"config,omitempty"`
	MCP    []string                  `json:"mcp,omitempty"`
	Source pannier.EnvironmentSource `json:"source,omitempty"`
	At     string                    `json:"at,omitempty"`
}

func (h *Handler) environment(_ *http.Request, s *pannier.Snapshot) (pannier.Environment, error) {
	return h.Service.Environment(s), nil
}

func (h *Handler) putEnvironment(
	r *http.Request, _ *pannier.Snapshot, env pannier.Environment,
) (pannier.Environment, error) {
	return h.Service.PutEnvironment(r.Context(), env)
}

func (h *Handler) policies(w http.ResponseWriter, r *http.Request, s *pannier.Snapshot) error {
	return h.writeShared(w, r, s, "policy", func() (answer.Encoded, error) { return answer.Of(service.Policies(s)) })
}

// setPolicy changes the policy of a slug. Without source_kind, that of the skill that owns the slug is meant.
func (h *Handler) setPolicy(r *http.Request, s *pannier.Snapshot, change pannier.PolicyChange) (pannier.Policy, error) {
	key := pannier.PolicyKey{
		Slug: r.PathValue("slug"), SourceKind: pannier.SourceKind(r.URL.Query().Get("source_kind")),
	}
	if e, ok := s.Lookup(key.Slug); ok && key.SourceKind == "" {
		key.SourceKind = e.SourceKind
	}
	return h.Service.SetPolicy(r.Context(), key, change)
}

// The bounds of how many audit entries are answered with.
const (
	defaultAudit = 100
	maxAudit     = 10000
)

func (h *Handler) audit(r *http.Request, _ *pannier.Snapshot) (list pannier.AuditList, err error) {
	query := r.URL.Query()
	limit, err := strconv.Atoi(query.Get("limit"))
	if err != nil { // it is left out
		limit = defaultAudit
	}
	_, slug := pannier.SplitQualified(query.Get("slug"))
	before, _ := strconv.ParseUint(query.Get("after"), 10, 64) // 0 where it is left out
	entries, err := h.Service.Audit.Newest(slug, before, limit)
	list.Entries = append([]pannier.AuditEntry{}, entries...)
	return list, err
}

func (h *Handler) verifyAudit(r *http.Request, _ *pannier.Snapshot) (pannier.AuditCheck, error) {
	check, err := h.Service.Audit.Verify(r.Context(), r.URL.Query().Get("expect"))
	return check, cmp.Or(err, r.Context().Err())
}
