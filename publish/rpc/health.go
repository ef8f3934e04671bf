package rpc

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pannier"
	"pannier/service"
)

type skillHealth struct {
	Status             string       `json:"status"`
	DependencyFailures []dependency `json:"dependency_failures"`
	SecurityBlocks     []finding    `json:"security_blocks"`
	ValidationIssues   []issue      `json:"validation_issues"`
}

type dependency struct {
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Status string `json:"status"`
	Hint   string `json:"hint"`
}

type finding struct {
	RuleID   string `json:"rule_id"`
	Severity string `json:"severity"`
	Message  string `json:"message"`
	Path     string `json:"path,omitempty"`
}

type issue struct {
	Code      string           `json:"code"`
	Level     pannier.Severity `json:"level"`
	Message   string           `json:"message"`
	FieldPath string           `json:"field_path,omitempty"`
}

// kinds are the kinds of a dependency by the reason that it is missing for.
var kinds = map[string]string{
	pannier.ReasonMissingEnv: "env", pannier.ReasonMissingAPIKey: "apikey", pannier.ReasonMissingBinary: "bin",
	pannier.ReasonMissingAnyBinary: "bin", pannier.ReasonMissingMCP: "mcp", pannier.ReasonOSUnsupported: "os",
	pannier.ReasonRuntimeIncompatible: "runtime", pannier.ReasonConflict: "conflict",
}

// healthOf puts the health of a skill into the words of the protocol, which knows blocked and nothing between that and
// ok.
func healthOf(health pannier.SkillHealth) skillHealth {
	h := skillHealth{
		Status: "ok", DependencyFailures: []dependency{}, SecurityBlocks: []finding{}, ValidationIssues: []issue{},
	}
	if health.Status == pannier.SkillBlocked {
		h.Status = blocked
	}
	for _, r := range health.DependencyFailures {
		h.DependencyFailures = append(h.DependencyFailures, dependency{kinds[r.Code], r.Subject, "missing", r.Remedy})
	}
	for _, r := range health.SecurityBlocks {
		rule := r.Code
		if rule == pannier.ReasonSecurityBlocked {
			rule = r.Subject
		}
		h.SecurityBlocks = append(h.SecurityBlocks, finding{RuleID: rule, Severity: "block", Message: r.Remedy})
	}
	h.ValidationIssues = append(h.ValidationIssues, issues(health.ValidationIssues)...)
	return h
}

func issues(problems []pannier.Problem) []issue {
	var issues []issue
	for _, p := range problems {
		issues = append(issues, issue{p.Code, p.Severity, p.Message, p.Field})
	}
	return issues
}

// The bounds of the audit entries of each skill.
const (
	defaultAudit = 16
	maxAudit     = 100
)

type target struct {
	Slug       string             `json:"slug"`
	SourceKind pannier.SourceKind `json:"source_kind"`
}

type healthParams struct {
	inWorkspace
	Skills     []target `json:"skills"`
	AuditLimit *int     `json:"audit_limit"`
}

type healthResult struct {
	SnapshotVersion uint64       `json:"snapshot_version"`
	GeneratedAt     int64        `json:"generated_at"`
	Skills          []healthItem `json:"skills"`
}

type healthItem struct {
	Slug       string             `json:"slug"`
	SourceKind pannier.SourceKind `json:"source_kind"`
	TrustLevel string             `json:"trust_level"`
	skillHealth
	Usable                bool              `json:"usable"`
	Policy                switches          `json:"policy"`
	DependencyDiagnostics []dependency      `json:"dependency_diagnostics"`
	SecurityFindings      []finding         `json:"security_findings"`
	TrustGate             []gate            `json:"trust_gate"`
	RecentAudit           []audit           `json:"recent_audit"`
	Activity              *pannier.Activity `json:"activity"`
}

type gate struct {
	ToolKind     string `json:"tool_kind"`
	MinimumTrust string `json:"minimum_trust"`
	Allowed      bool   `json:"allowed"`
}

type audit struct {
	Action      string `json:"action"`
	Decision    string `json:"decision"`
	CreatedAt   int64  `json:"created_at"`
	DetailsJSON string `json:"details_json"`
}

// health is skills/health.
func (h *skills) health(_ context.Context, s *pannier.Snapshot, p healthParams) (any, error) {
	limit := defaultAudit
	if p.AuditLimit != nil {
		limit = *p.AuditLimit
	}
	if limit < 1 || limit > maxAudit {
		return nil, invalidParams(
			fmt.Sprintf("audit_limit is %d", limit), fmt.Sprintf("give a number from 1 to %d", maxAudit),
		)
	}
	chosen, err := selectTargets(uniqueSkills(s.Entries), p.Skills)
	if err != nil {
		return nil, err
	}
	recent, err := h.recentAudit(chosen, limit)
	if err != nil {
		return nil, err
	}
	show := h.Service.Lister(s, service.Show{Problems: true, Policy: true, Health: true, Activity: true})
	result := healthResult{s.Version, s.Time.Unix(), []healthItem{}}
	for _, entry := range chosen {
		e := &pannier.Entry{}
		show(entry, e)
		result.Skills = append(result.Skills, healthItem{
			Slug: e.Slug, SourceKind: e.SourceKind, TrustLevel: trust(e.TrustLevel), skillHealth: healthOf(*e.Health),
			Usable: e.Usable, Policy: switches{e.Policy.Enabled, e.Policy.AllowImplicit},
			DependencyDiagnostics: diagnostics(e), SecurityFindings: findings(h.Service.Verdict(e.Skill)),
			TrustGate: h.trustGate(e), RecentAudit: append([]audit{}, recent[e.Slug]...), Activity: e.Activity,
		})
	}
	return result, nil
}

// selectTargets returns the entries that targets name, each once, in the order of the entries; without targets all.
// It fails for a target that is not there.
func selectTargets(entries []*pannier.Entry, targets []target) ([]*pannier.Entry, error) {
	if len(targets) == 0 {
		return entries, nil
	}
	byKey, chosen := map[pannier.PolicyKey]*pannier.Entry{}, map[*pannier.Entry]bool{}
	for _, e := range entries {
		byKey[pannier.PolicyKey{Slug: e.Slug, SourceKind: e.SourceKind}] = e
	}
	for _, t := range targets {
		owner, slug := pannier.SplitQualified(t.Slug)
		if slug == "" {
			return nil, invalidParams(fmt.Sprintf("%.100q is not a slug", t.Slug), "name skills as skills/list does")
		}
		e := byKey[pannier.PolicyKey{Slug: slug, SourceKind: cmp.Or(t.SourceKind, pannier.SourceWorkspace)}]
		if e == nil || owner != "" && owner != e.Owner {
			return nil, service.NotFound(t.Slug, "")
		}
		chosen[e] = true
	}
	return slices.DeleteFunc(entries, func(e *pannier.Entry) bool { return !chosen[e] }), nil
}

// diagnostics returns every dependency of a skill, met or not. What is not met is a reason against it, or, where the
// environment is not the agent's own, a problem that names the kind.
func diagnostics(e *pannier.Entry) []dependency {
	all := healthOf(*e.Health).DependencyFailures
	if e.Requirements.Always {
		return all
	}
	var anyBins []string // names of which one is enough are one subject of a reason
	if len(e.Requirements.AnyBins) > 0 {
		anyBins = []string{strings.Join(e.Requirements.AnyBins, ", ")}
	}
	for _, kind := range []struct {
		reason string
		names  []string
	}{
		{pannier.ReasonMissingEnv, e.Requirements.Env},
		{pannier.ReasonMissingBinary, e.Requirements.Bins},
		{pannier.ReasonMissingAnyBinary, anyBins},
		{pannier.ReasonMissingMCP, e.Requirements.MCP},
		{pannier.ReasonMissingAPIKey, e.Requirements.APIKeys},
	} {
		for _, name := range kind.names {
			status := "satisfied"
			if slices.ContainsFunc(e.Problems, func(p pannier.Problem) bool {
				return p.Code == "unverified."+kind.reason && p.Subject == name
			}) {
				status = "unverified"
			}
			if !slices.ContainsFunc(e.Reasons, func(r pannier.Reason) bool {
				return r.Code == kind.reason && r.Subject == name
			}) {
				all = append(all, dependency{kinds[kind.reason], name, status, ""})
			}
		}
	}
	return all
}

func findings(v *pannier.ScanVerdict) []finding {
	found := []finding{}
	if v == nil {
		return found
	}
	blocking := v.Blocking() // without what is accepted
	for _, f := range v.Findings {
		severity := "warn"
		if f.Blocking && slices.Contains(blocking, f.Rule) {
			severity = "block"
		}
		found = append(found, finding{f.Rule, severity, f.Message, f.Path})
	}
	return found
}

// trustGate returns what the trust of a skill allows: the settings ask the same for all that a skill does, and
// runtime tools take more by their kinds.
func (h *skills) trustGate(e *pannier.Entry) []gate {
	blocked := slices.ContainsFunc(e.Reasons, func(r pannier.Reason) bool {
		return r.Code == pannier.ReasonTrustBlocked
	})
	var gates []gate
	for _, kind := range pannier.DeclaredToolKinds() {
		minimum := h.MinimumTrust
		if h.ToolTrust != nil && h.ToolTrust(kind).AtLeast(minimum) {
			minimum = h.ToolTrust(kind)
		}
		gates = append(gates, gate{string(kind), trust(minimum), !blocked && e.TrustLevel.AtLeast(minimum)})
	}
	return gates
}

// Of how many skills the audit log is read one by one, and how many of its entries are read for more.
const (
	fewTargets  = 4
	newestAudit = 10000
)

// recentAudit returns the newest outcomes by slug, at most limit of each. For many skills the log is read once, and
// what is older than its newest part is left out.
func (h *skills) recentAudit(chosen []*pannier.Entry, limit int) (map[string][]audit, error) {
	outcomes := map[string][]audit{}
	if h.Service.Audit == nil {
		return outcomes, nil
	}
	slugs, atMost := []string{""}, newestAudit
	if len(chosen) <= fewTargets {
		slugs, atMost = nil, 2*limit // an outcome has an intent before it
		for _, e := range chosen {
			slugs = append(slugs, e.Slug)
		}
	}
	for _, slug := range slices.Compact(slugs) {
		entries, err := h.Service.Audit.Newest(slug, 0, atMost)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if e.Phase == pannier.AuditOutcome && len(outcomes[e.Slug]) < limit {
				outcomes[e.Slug] = append(outcomes[e.Slug], auditOf(e))
			}
		}
	}
	return outcomes, nil
}

func auditOf(e pannier.AuditEntry) audit {
	details := struct {
		Detail any    `json:"detail,omitempty"`
		Error  string `json:"error,omitempty"`
	}{e.Detail, e.Error}
	text, err := json.Marshal(details)
	if err != nil {
		text = []byte("{}")
	}
	a := audit{Action: e.Action, Decision: "allowed", CreatedAt: e.Time.Unix(), DetailsJSON: string(text)}
	if e.Error != "" {
		a.Decision = blocked
	}
	return a
}
