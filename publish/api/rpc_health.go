package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"pannier"
	"pannier/service"
)

type rpcSkillHealth struct {
	Status             string          `json:"status"`
	DependencyFailures []rpcDependency `json:"dependency_failures"`
	SecurityBlocks     []rpcFinding    `json:"security_blocks"`
	ValidationIssues   []rpcIssue      `json:"validation_issues"`
}

type rpcDependency struct {
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Status string `json:"status"`
	Hint   string `json:"hint"`
}

type rpcFinding struct {
	RuleID   string `json:"rule_id"`
	Severity string `json:"severity"`
	Message  string `json:"message"`
	Path     string `json:"path,omitempty"`
}

type rpcIssue struct {
	Code      string           `json:"code"`
	Level     pannier.Severity `json:"level"`
	Message   string           `json:"message"`
	FieldPath string           `json:"field_path,omitempty"`
}

// rpcKinds are the kinds of a dependency by the reason that it is missing for.
var rpcKinds = map[string]string{
	pannier.ReasonMissingEnv: "env", pannier.ReasonMissingAPIKey: "apikey", pannier.ReasonMissingBinary: "bin",
	pannier.ReasonMissingAnyBinary: "bin", pannier.ReasonMissingMCP: "mcp", pannier.ReasonOSUnsupported: "os",
	pannier.ReasonRuntimeIncompatible: "runtime", pannier.ReasonConflict: "conflict",
}

// rpcHealthOf puts the health of a skill into the words of the protocol, which knows blocked and nothing between that and
// ok.
func rpcHealthOf(health pannier.SkillHealth) rpcSkillHealth {
	h := rpcSkillHealth{
		Status: "ok", DependencyFailures: []rpcDependency{}, SecurityBlocks: []rpcFinding{}, ValidationIssues: []rpcIssue{},
	}
	if health.Status == pannier.SkillBlocked {
		h.Status = rpcBlocked
	}
	for _, r := range health.DependencyFailures {
		h.DependencyFailures = append(h.DependencyFailures, rpcDependency{rpcKinds[r.Code], r.Subject, "missing", r.Remedy})
	}
	for _, r := range health.SecurityBlocks {
		rule := r.Code
		if rule == pannier.ReasonSecurityBlocked {
			rule = r.Subject
		}
		h.SecurityBlocks = append(h.SecurityBlocks, rpcFinding{RuleID: rule, Severity: "block", Message: r.Remedy})
	}
	h.ValidationIssues = append(h.ValidationIssues, rpcIssues(health.ValidationIssues)...)
	return h
}

func rpcIssues(problems []pannier.Problem) []rpcIssue {
	var issues []rpcIssue
	for _, p := range problems {
		issues = append(issues, rpcIssue{p.Code, p.Severity, p.Message, p.Field})
	}
	return issues
}

// The bounds of the audit entries of each skill.
const (
	rpcDefaultAudit = 16
	rpcMaxAudit     = 100
)

type rpcTarget struct {
	Slug       string             `json:"slug"`
	SourceKind pannier.SourceKind `json:"source_kind"`
}

type rpcHealthParams struct {
	inWorkspace
	Skills     []rpcTarget `json:"skills"`
	AuditLimit *int        `json:"audit_limit"`
}

type rpcHealthResult struct {
	SnapshotVersion uint64          `json:"snapshot_version"`
	GeneratedAt     int64           `json:"generated_at"`
	Skills          []rpcHealthItem `json:"skills"`
}

type rpcHealthItem struct {
	Slug       string             `json:"slug"`
	SourceKind pannier.SourceKind `json:"source_kind"`
	TrustLevel string             `json:"trust_level"`
	rpcSkillHealth
	Usable                bool              `json:"usable"`
	Policy                rpcSwitches       `json:"policy"`
	DependencyDiagnostics []rpcDependency   `json:"dependency_diagnostics"`
	SecurityFindings      []rpcFinding      `json:"security_findings"`
	TrustGate             []rpcGate         `json:"trust_gate"`
	RecentAudit           []rpcAudit        `json:"recent_audit"`
	Activity              *pannier.Activity `json:"activity"`
}

type rpcGate struct {
	ToolKind     string `json:"tool_kind"`
	MinimumTrust string `json:"minimum_trust"`
	Allowed      bool   `json:"allowed"`
}

type rpcAudit struct {
	Action      string `json:"action"`
	Decision    string `json:"decision"`
	CreatedAt   int64  `json:"created_at"`
	DetailsJSON string `json:"details_json"`
}

// rpcHealth is skills/health.
func (h *Handler) rpcHealth(_ *http.Request, s *pannier.Snapshot, p rpcHealthParams) (any, error) {
	limit := rpcDefaultAudit
	if p.AuditLimit != nil {
		limit = *p.AuditLimit
	}
	if limit < 1 || limit > rpcMaxAudit {
		return nil, invalidParams(fmt.Sprintf("audit_limit is %d", limit), fmt.Sprintf("give a number from 1 to %d", rpcMaxAudit))
	}
	chosen, err := selectTargets(uniqueSkills(s.Entries), p.Skills)
	if err != nil {
		return nil, err
	}
	audit, err := h.recentAudit(chosen, limit)
	if err != nil {
		return nil, err
	}
	show := h.lister(s, inclusion{problems: true, policy: true, health: true, activity: true})
	result := rpcHealthResult{s.Version, s.Time.Unix(), []rpcHealthItem{}}
	for _, entry := range chosen {
		e := &pannier.Entry{}
		show(entry, e)
		result.Skills = append(result.Skills, rpcHealthItem{
			Slug: e.Slug, SourceKind: e.SourceKind, TrustLevel: rpcTrust(e.TrustLevel), rpcSkillHealth: rpcHealthOf(*e.Health),
			Usable: e.Usable, Policy: rpcSwitches{e.Policy.Enabled, e.Policy.AllowImplicit},
			DependencyDiagnostics: diagnostics(e), SecurityFindings: findings(h.Service.Verdict(e.Skill)),
			TrustGate: h.trustGate(e), RecentAudit: append([]rpcAudit{}, audit[e.Slug]...), Activity: e.Activity,
		})
	}
	return result, nil
}

// selectTargets returns the entries that targets name, each once, in the order of the entries; without targets all. It fails for a
// target that is not there.
func selectTargets(entries []*pannier.Entry, targets []rpcTarget) ([]*pannier.Entry, error) {
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
func diagnostics(e *pannier.Entry) []rpcDependency {
	all := rpcHealthOf(*e.Health).DependencyFailures
	if e.Requirements.Always {
		return all
	}
	for _, kind := range []struct {
		reason string
		names  []string
	}{
		{pannier.ReasonMissingEnv, e.Requirements.Env},
		{pannier.ReasonMissingBinary, e.Requirements.Bins},
		{pannier.ReasonMissingAnyBinary, joinSubjects(e.Requirements.AnyBins)},
		{pannier.ReasonMissingMCP, e.Requirements.MCP},
		{pannier.ReasonMissingAPIKey, e.Requirements.APIKeys},
	} {
		for _, name := range kind.names {
			status := "satisfied"
			if slices.ContainsFunc(e.Problems, func(p pannier.Problem) bool { return p.Code == "unverified."+kind.reason && p.Subject == name }) {
				status = "unverified"
			}
			if !slices.ContainsFunc(e.Reasons, func(r pannier.Reason) bool { return r.Code == kind.reason && r.Subject == name }) {
				all = append(all, rpcDependency{rpcKinds[kind.reason], name, status, ""})
			}
		}
	}
	return all
}

// joinSubjects returns names of which one is enough as the one subject that a reason has for them.
func joinSubjects(names []string) []string {
	if len(names) == 0 {
		return nil
	}
	return []string{strings.Join(names, ", ")}
}

func findings(v *pannier.ScanVerdict) []rpcFinding {
	found := []rpcFinding{}
	if v == nil {
		return found
	}
	blocking := v.Blocking() // without what is accepted
	for _, f := range v.Findings {
		severity := "warn"
		if f.Blocking && slices.Contains(blocking, f.Rule) {
			severity = "block"
		}
		found = append(found, rpcFinding{f.Rule, severity, f.Message, f.Path})
	}
	return found
}

// trustGate returns what the trust of a skill allows: the settings ask the same for all that a skill does, and runtime tools
// take more by their kinds.
func (h *Handler) trustGate(e *pannier.Entry) []rpcGate {
	blocked := slices.ContainsFunc(e.Reasons, func(r pannier.Reason) bool { return r.Code == pannier.ReasonTrustBlocked })
	var gate []rpcGate
	for _, kind := range []pannier.RuntimeToolKind{pannier.RuntimeShell, pannier.RuntimeHTTP, pannier.RuntimeProxy} {
		minimum := h.RPC.MinimumTrust
		if h.RPC.ToolTrust != nil && h.RPC.ToolTrust(kind).AtLeast(minimum) {
			minimum = h.RPC.ToolTrust(kind)
		}
		gate = append(gate, rpcGate{string(kind), rpcTrust(minimum), !blocked && e.TrustLevel.AtLeast(minimum)})
	}
	return gate
}

// fewTargets is how many skills the audit log is read for one by one.
const fewTargets = 4

// recentAudit returns the newest outcomes by slug, at most limit of each. For many skills the log is read once, and what is
// older than its newest part is left out.
func (h *Handler) recentAudit(chosen []*pannier.Entry, limit int) (map[string][]rpcAudit, error) {
	outcomes := map[string][]rpcAudit{}
	if h.Service.Audit == nil {
		return outcomes, nil
	}
	slugs, atMost := []string{""}, maxAudit
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
				outcomes[e.Slug] = append(outcomes[e.Slug], rpcAuditOf(e))
			}
		}
	}
	return outcomes, nil
}

func rpcAuditOf(e pannier.AuditEntry) rpcAudit {
	details := struct {
		Detail any    `json:"detail,omitempty"`
		Error  string `json:"error,omitempty"`
	}{e.Detail, e.Error}
	text, err := json.Marshal(details)
	if err != nil {
		text = []byte("{}")
	}
	a := rpcAudit{Action: e.Action, Decision: "allowed", CreatedAt: e.Time.Unix(), DetailsJSON: string(text)}
	if e.Error != "" {
		a.Decision = rpcBlocked
	}
	return a
}
