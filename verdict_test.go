package pannier_test

import (
	"fmt"
	"slices"
	"testing"

	"pannier"
)

func TestBlocking(t *testing.T) {
	v := pannier.ScanVerdict{Findings: []pannier.Finding{{Rule: "b", Blocking: true}, {Rule: "c"}, {Rule: "a", Blocking: true}, {Rule: "b", Blocking: true}}}
	if got := v.Blocking(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("got %q", got)
	}
	if got := (pannier.ScanVerdict{}).Blocking(); len(got) != 0 {
		t.Errorf("of nothing: %q", got)
	}
}

func TestHealthOf(t *testing.T) {
	warning, note := pannier.Problem{Code: "w", Severity: pannier.SeverityWarning}, pannier.Problem{Code: "i", Severity: pannier.SeverityInfo}
	reason := func(codes ...string) (list []pannier.Reason) {
		for _, code := range codes {
			list = append(list, pannier.Reason{Code: code})
		}
		return list
	}
	for _, tt := range []struct {
		name  string
		entry pannier.Entry
		want  string
	}{
		{"nothing", pannier.Entry{}, "ok [] [] []"},
		{"an information", pannier.Entry{Problems: []pannier.Problem{note}}, "ok [] [] [i]"},
		{"a warning", pannier.Entry{Problems: []pannier.Problem{note, warning}}, "degraded [] [] [i w]"},
		{"last good", pannier.Entry{Skill: &pannier.Skill{LastGood: true}}, "degraded [] [] []"},
		{"disabled", pannier.Entry{Reasons: reason(pannier.ReasonDisabled)}, "ok [] [] []"},
		{"invalid", pannier.Entry{Reasons: reason(pannier.ReasonInvalid), Problems: []pannier.Problem{warning}}, "blocked [] [] [w]"},
		{"dependencies", pannier.Entry{Reasons: reason(pannier.ReasonDisabled, pannier.ReasonMissingBinary, pannier.ReasonConflict)}, "blocked [missing_binary conflict] [] []"},
		{"security", pannier.Entry{Reasons: reason(pannier.ReasonTrustBlocked, pannier.ReasonSecurityBlocked)}, "blocked [] [trust_blocked security_blocked] []"},
	} {
		if tt.entry.Skill == nil {
			tt.entry.Skill = &pannier.Skill{}
		}
		if got := words(pannier.HealthOf(&tt.entry)); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

func words(h pannier.SkillHealth) string {
	codes := func(list []pannier.Reason) []string {
		out := []string{}
		for _, r := range list {
			out = append(out, r.Code)
		}
		return out
	}
	issues := []string{}
	for _, p := range h.ValidationIssues {
		issues = append(issues, p.Code)
	}
	return fmt.Sprint(h.Status, " ", codes(h.DependencyFailures), " ", codes(h.SecurityBlocks), " ", issues)
}
