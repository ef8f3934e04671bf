package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"pannier"
)

// Mutations are what a peer can change. A function that is nil has no route.
type Mutations struct {
	// PutEnvironment takes in what the agent's container offers, and returns it as it is kept, with a snapshot that is
	// judged by the newest there is.
	PutEnvironment func(context.Context, pannier.Actor, pannier.Environment) (pannier.Environment, *pannier.Snapshot, error)
	// SetPolicy changes the workspace layer of a skill's policy.
	SetPolicy func(context.Context, pannier.Actor, pannier.PolicyKey, pannier.PolicyChange) (pannier.Policy, *pannier.Snapshot, error)
	// Scan scans a skill directory as it is now, and keeps the verdict and what is accepted of it.
	Scan func(context.Context, pannier.Actor, *pannier.Skill, pannier.ScanRequest) (pannier.ScanReport, *pannier.Snapshot, error)
	// Acknowledge ends a condition of health that lasts until an operator has looked at it.
	Acknowledge func(ctx context.Context, actor pannier.Actor, condition string) (*pannier.Snapshot, error)
	// Audit returns the newest entries of the audit log, newest first; an empty slug is all.
	Audit func(slug string, limit int) ([]pannier.AuditEntry, error)
	// Uploads takes in archives by chunks; without it there is no method of uploads, and binary frames are refused.
	Uploads Uploads
	// WriteUIDs may change what the socket's group may not, beside root and the sidecar's own user.
	WriteUIDs []uint32
}

func (h *Handler) mutations() {
	if h.PutEnvironment != nil {
		h.handle("PUT /v1/environment", h.putEnvironment)
	}
	if h.SetPolicy != nil {
		h.handle("PUT /v1/policy/{slug}", h.setPolicy, "source_kind")
	}
	if h.Scan != nil {
		h.handle("POST /v1/skills/{slug}/scan", h.scan, "path", "accept", "reason")
	}
	if h.Acknowledge != nil {
		h.handle("POST /v1/health/acknowledge", h.acknowledge)
	}
	if h.Audit != nil {
		h.handleAlways("GET /v1/audit", h.audit, "slug", "limit")
	}
}

// environment answers with what skills are judged by.
func (h *Handler) environment(w http.ResponseWriter, r *http.Request, s *pannier.Snapshot) error {
	if h.Environment != nil {
		return writeJSON(w, r, h.Environment())
	}
	return writeJSON(w, r, s.Environment)
}

// putEnvironment takes in what the agent's container offers.
func (h *Handler) putEnvironment(w http.ResponseWriter, r *http.Request, _ *pannier.Snapshot) error {
	if err := h.mayPutEnvironment(r); err != nil {
		return err
	}
	var env pannier.Environment
	if err := readJSON(r, &env); err != nil {
		return err
	}
	_, s, err := h.PutEnvironment(r.Context(), actorOf(r), env)
	if err != nil {
		return err
	}
	return h.environment(w, r, s)
}

// policies answers with the policy of every skill, and of what only a client has named.
func (h *Handler) policies(w http.ResponseWriter, r *http.Request, s *pannier.Snapshot) error {
	return h.writeShared(w, r, s, "policy", func() (any, error) { return policiesOf(s), nil })
}

func policiesOf(s *pannier.Snapshot) pannier.PolicyList {
	list := pannier.PolicyList{SnapshotVersion: s.Version, Policies: []pannier.Policy{}}
	told := map[pannier.PolicyKey]bool{}
	for i := range s.Entries {
		e := &s.Entries[i]
		key := pannier.PolicyKey{Slug: e.Slug, SourceKind: e.SourceKind}
		if !told[key] {
			told[key] = true
			list.Policies = append(list.Policies, s.Policies.Of(key, e.Skill))
		}
	}
	for key := range s.Policies.Workspace {
		if !told[key] {
			list.Policies = append(list.Policies, s.Policies.Of(key, nil))
		}
	}
	slices.SortFunc(list.Policies, func(a, b pannier.Policy) int { return a.PolicyKey.Compare(b.PolicyKey) })
	return list
}

// setPolicy changes the policy of a slug. Without source_kind, that of the skill that owns the slug is meant.
func (h *Handler) setPolicy(w http.ResponseWriter, r *http.Request, s *pannier.Snapshot) error {
	if err := h.mayWrite(r); err != nil {
		return err
	}
	var change pannier.PolicyChange
	if err := readJSON(r, &change); err != nil {
		return err
	}
	key := pannier.PolicyKey{Slug: r.PathValue("slug"), SourceKind: pannier.SourceKind(r.URL.Query().Get("source_kind"))}
	if e, ok := s.Lookup(key.Slug); ok && key.SourceKind == "" {
		key.SourceKind = e.SourceKind
	}
	policy, _, err := h.SetPolicy(r.Context(), actorOf(r), key, change)
	if err != nil {
		return err
	}
	return writeJSON(w, r, policy)
}

// acknowledgement is the body that names a condition.
type acknowledgement struct {
	Condition string `json:"condition"`
}

// acknowledge ends a condition, and answers with health as it is then.
func (h *Handler) acknowledge(w http.ResponseWriter, r *http.Request, _ *pannier.Snapshot) error {
	if err := h.mayWrite(r); err != nil {
		return err
	}
	var body acknowledgement
	if err := readJSON(r, &body); err != nil {
		return err
	}
	if _, err := h.Acknowledge(r.Context(), actorOf(r), body.Condition); err != nil {
		return err
	}
	return writeJSON(w, r, h.Health())
}

// The bounds of how many audit entries are answered with.
const (
	usualAudit = 100
	maxAudit   = 10000
)

// audit answers with the newest entries of the audit log.
func (h *Handler) audit(w http.ResponseWriter, r *http.Request, _ *pannier.Snapshot) error {
	query := r.URL.Query()
	limit := usualAudit
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxAudit {
			return invalidParameter("limit", fmt.Sprintf("limit is %q", text), fmt.Sprintf("give a number from 1 to %d", maxAudit))
		}
		limit = n
	}
	_, slug := pannier.SplitQualified(query.Get("slug"))
	entries, err := h.Audit(slug, limit)
	if err != nil {
		return err
	}
	return writeJSON(w, r, pannier.AuditList{Entries: append([]pannier.AuditEntry{}, entries...)})
}
