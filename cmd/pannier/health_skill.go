package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pannier"
	"pannier/internal/plain"
	"pannier/publish/client"
)

// skillHealth is what skills/health tells of one skill, as far as it is printed beside what the skill itself tells.
type skillHealth struct {
	Dependencies []struct{ Kind, Name, Status, Hint string } `json:"dependency_diagnostics"`
	TrustGate    []struct {
		ToolKind     string `json:"tool_kind"`
		MinimumTrust string `json:"minimum_trust"`
		Allowed      bool   `json:"allowed"`
	} `json:"trust_gate"`
	RecentAudit []struct {
		Action    string `json:"action"`
		Decision  string `json:"decision"`
		CreatedAt int64  `json:"created_at"`
		Details   string `json:"details_json"`
	} `json:"recent_audit"`
}

// showSkillHealth prints what is wrong with one skill and what to do: what it lacks, what its scan found, the faults of its
// files, what its trust allows, and what was done to it lately. It fails where the skill is not well.
func (p *program) showSkillHealth(ctx context.Context, c *client.Client, slug string) error {
	d, err := c.Skill(ctx, slug, "")
	if err != nil {
		return err
	}
	text, err := askHealth(ctx, c, d.Qualified(), d.SourceKind)
	show := func(text json.RawMessage) error { return p.printSkillHealth(d, text) }
	return judged(output(p, show)(text, err), pannier.HealthOf(&d.Entry).Status != pannier.SkillOK)
}

func askHealth(ctx context.Context, c *client.Client, slug string, kind pannier.SourceKind) (json.RawMessage, error) {
	target := map[string]any{"slug": slug, "source_kind": kind}
	text, err := c.Call(ctx, "skills/health", map[string]any{"skills": []any{target}})
	if err != nil {
		return nil, err
	}
	var result struct{ Skills []json.RawMessage }
	if err := json.Unmarshal(text, &result); err != nil {
		return nil, fmt.Errorf("decode skills/health: %w", err)
	}
	if len(result.Skills) == 0 {
		return nil, answerNo(fmt.Sprintf("skill %q not found", slug), "run \"pannier list\" to see all skills")
	}
	return result.Skills[0], nil
}

func (s streams) printSkillHealth(d pannier.Detail, text json.RawMessage) error {
	var h skillHealth
	if err := json.Unmarshal(text, &h); err != nil {
		return fmt.Errorf("decode skills/health: %w", err)
	}
	rows := [][]string{
		{"skill", d.Qualified()},
		{"status", string(pannier.HealthOf(&d.Entry).Status)},
		{"state", stateWords(&d.Entry)},
		{"usable", strconv.FormatBool(d.Usable)},
		{"policy", fmt.Sprintf("enabled %t (%s), implicit %t (%s)", d.Policy.Enabled, d.Policy.Source, d.Policy.AllowImplicit, d.Policy.ImplicitSource)},
		{"path", d.Path},
		{"trust", trustWords(d.TrustLevel, d.Managed, d.SourceKind)},
	}
	for _, need := range h.Dependencies {
		rows = append(rows, []string{"needs " + need.Kind, need.Name + ": " + need.Status})
	}
	for _, gate := range h.TrustGate {
		word := "not allowed"
		if gate.Allowed {
			word = "allowed"
		}
		rows = append(rows, []string{"tools", fmt.Sprintf("%s %s, takes %s", gate.ToolKind, word, gate.MinimumTrust)})
	}
	for _, entry := range slices.Backward(h.RecentAudit) {
		at := time.Unix(entry.CreatedAt, 0).UTC().Format(time.RFC3339)
		rows = append(rows, []string{"audit", fmt.Sprintf("%s %s %s %s", at, entry.Action, entry.Decision, plain.Shorten(entry.Details, 72))})
	}
	rows = append(rows, []string{"scan", cmp.Or(scanWords(d.Scan), "none of this content; run \"pannier scan "+d.Slug+"\"")})
	if d.Scan != nil {
		rows = append(rows, acceptedRows(d.Scan.Accepted)...)
	}
	if err := s.fields(rows, "status", s.paint.verdict); err != nil {
		return err
	}
	if len(d.Reasons)+len(d.Problems) > 0 || d.Scan != nil && len(d.Scan.Findings) > 0 {
		fmt.Fprintln(s.out)
	}
	for _, r := range d.Reasons {
		s.printFault(d.Path, pannier.SeverityError, strings.TrimSuffix(r.Code+": "+r.Subject, ": "), r.Code, r.Remedy)
	}
	s.printProblems(d.Problems)
	if d.Scan != nil {
		for _, f := range d.Scan.Findings {
			s.printFault(f.Path, f.Severity, f.Message, f.Rule, f.Hint)
		}
	}
	return nil
}
