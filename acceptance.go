package pannier

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Acceptance lets a skill be used despite the blocking findings of one rule. It holds for one fingerprint at one path.
type Acceptance struct {
	Rule   string    `json:"rule"`
	Reason string    `json:"reason"`
	By     Actor     `json:"by"`
	At     time.Time `json:"at"`
}

// AcceptRequest asks for the blocking findings of rules to be accepted, all of them for one reason.
type AcceptRequest struct {
	Rules  []string `json:"rules,omitempty"`
	Reason string   `json:"reason,omitempty"`
}

// ScanRequest asks for a scan.
type ScanRequest struct {
	Accept AcceptRequest
	// Withdraw takes back every acceptance of the skill before the scan.
	Withdraw bool
}

// AcceptNone is the name in the place of a rule that takes acceptances back.
const AcceptNone = "none"

// The bounds of acceptances: the rules of one skill, and the length of a reason.
const (
	MaxAcceptedRules     = 16
	MaxAcceptReasonBytes = 500
)

// Check returns a [*Refusal] where a request cannot be taken. isRule reports whether a scan has a rule.
func (a AcceptRequest) Check(isRule func(string) bool) error {
	refuse := func(code, message, hint string) error {
		return &Refusal{Code: "scan.accept." + code, Message: message, Hint: hint}
	}
	reason := strings.TrimSpace(a.Reason)
	switch {
	case len(a.Rules) == 0 && a.Reason == "":
		return nil
	case len(a.Rules) == 0:
		return refuse("rule", "a reason is given and no rule to accept", "name the rule with accept, or leave the reason out")
	case len(a.Rules) > MaxAcceptedRules:
		return refuse("limit", fmt.Sprintf("%d rules are more than can be accepted at once", len(a.Rules)), fmt.Sprintf("accept at most %d rules", MaxAcceptedRules))
	case reason == "":
		return refuse("reason", "the reason for accepting a finding is missing", "say why the finding is accepted, in a few words")
	case len(reason) > MaxAcceptReasonBytes:
		return refuse("reason", fmt.Sprintf("the reason has %d bytes", len(reason)), fmt.Sprintf("give at most %d bytes", MaxAcceptReasonBytes))
	case !utf8.ValidString(reason) || strings.ContainsFunc(reason, unicode.IsControl):
		return refuse("reason", "the reason has control characters or is not UTF-8", "give plain text on one line")
	}
	for _, rule := range a.Rules {
		if !isRule(rule) {
			return refuse("rule", fmt.Sprintf("rule %.100q does not exist", rule), "copy the name of the rule from the finding, such as scan.command.pipe_shell")
		}
	}
	return nil
}

// CheckFound returns a [*Refusal] where a rule is to be accepted that has no blocking finding.
func (a AcceptRequest) CheckFound(findings []Finding) error {
	found := ScanVerdict{Findings: findings}.Blocking()
	for _, rule := range a.Rules {
		if !slices.Contains(found, rule) {
			hint := "the skill has no blocking findings; leave accept out"
			if len(found) > 0 {
				hint = "the rules with blocking findings are " + strings.Join(found, ", ")
			}
			return &Refusal{Code: "scan.accept.not_found", Message: fmt.Sprintf("rule %s has no blocking finding in the skill", rule), Hint: hint}
		}
	}
	return nil
}

// Acceptances returns what a request comes to. Earlier acceptances of other rules stay.
func (a AcceptRequest) Acceptances(earlier []Acceptance, by Actor, at time.Time) []Acceptance {
	var all []Acceptance
	for _, e := range earlier {
		if !slices.Contains(a.Rules, e.Rule) {
			all = append(all, e)
		}
	}
	for i, rule := range a.Rules {
		if !slices.Contains(a.Rules[:i], rule) {
			all = append(all, Acceptance{Rule: rule, Reason: strings.TrimSpace(a.Reason), By: by, At: at})
		}
	}
	return all
}

// Accept returns a verdict with what was accepted of its findings. One without a blocking finding left is a warning.
func (v ScanVerdict) Accept(all []Acceptance) ScanVerdict {
	blocking := v.Blocking()
	v.Accepted = nil
	for _, a := range all {
		if slices.Contains(blocking, a.Rule) {
			v.Accepted = append(v.Accepted, a)
		}
	}
	if v.Decision == ScanBlock && len(blocking) > 0 && len(v.Blocking()) == 0 {
		v.Decision = ScanWarn
	}
	return v
}
