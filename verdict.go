package pannier

import (
	"slices"
	"time"
)

// ScanDecision is what follows from the findings of a security scan.
type ScanDecision string

// The decisions.
const (
	// ScanAllow: nothing but information was found.
	ScanAllow ScanDecision = "allow"
	// ScanWarn: a person should look at what was found.
	ScanWarn ScanDecision = "warn"
	// ScanBlock: the skill cannot be used as it is.
	ScanBlock ScanDecision = "block"
)

// ScanOrigin says what a verdict was made for.
type ScanOrigin string

// The origins.
const (
	// ScanBackground: the sidecar scanned a new or changed skill by itself. Its findings block only where scans are enforced.
	ScanBackground ScanOrigin = "background"
	// ScanInstall: the skill was scanned before it was installed.
	ScanInstall ScanOrigin = "install"
	// ScanExplicit: a client asked for the scan.
	ScanExplicit ScanOrigin = "explicit"
)

// ScanVerdict is what a security scan found of a skill directory. It holds for every directory with that fingerprint, and
// for none with another.
type ScanVerdict struct {
	Fingerprint Digest       `json:"fingerprint,omitzero"`
	At          time.Time    `json:"at"`
	Decision    ScanDecision `json:"decision"`
	Origin      ScanOrigin   `json:"origin"`
	// Ruleset tells one set of rules from another. The sidecar scans again what older rules did not block.
	Ruleset string `json:"ruleset,omitempty"`
	// Findings are those that are kept, blocking ones before others where there are too many for all.
	Findings []Finding `json:"findings"`
	// Truncated says that not everything was looked at, or that there are more findings.
	Truncated bool `json:"truncated,omitempty"`
	// Accepted are the rules whose blocking findings do not block this skill.
	Accepted []Acceptance `json:"accepted,omitempty"`
}

// Blocking returns the rules with a blocking finding that is not accepted, sorted, without repeats.
func (v ScanVerdict) Blocking() []string {
	var rules []string
	for _, f := range v.Findings {
		if f.Blocking && !slices.ContainsFunc(v.Accepted, func(a Acceptance) bool { return a.Rule == f.Rule }) {
			rules = append(rules, f.Rule)
		}
	}
	slices.Sort(rules)
	return slices.Compact(rules)
}

// ScanReport is the answer to a requested scan.
type ScanReport struct {
	Slug string `json:"slug"`
	// Path is the skill directory, as [Skill.Path] has it.
	Path string `json:"path"`
	ScanVerdict
	// Files is the number of files that were read, Bytes how much was read of them.
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
	// Unkept says why the verdict is not kept, and so blocks nothing; empty where it is kept.
	Unkept string `json:"unkept,omitempty"`
}

// SkillScanned tells that a skill was scanned, and that the verdict is kept.
type SkillScanned struct {
	Slug        string       `json:"slug"`
	Path        string       `json:"path"`
	Fingerprint Digest       `json:"fingerprint"`
	Decision    ScanDecision `json:"decision"`
	// Findings counts them.
	Findings int        `json:"findings"`
	Origin   ScanOrigin `json:"origin,omitempty"` // absent from events of older versions
}

// ScanSummary is a verdict without its findings.
type ScanSummary struct {
	Decision ScanDecision `json:"decision"`
	Origin   ScanOrigin   `json:"origin"`
	At       time.Time    `json:"at"`
	// Findings counts them.
	Findings int `json:"findings"`
	// Blocking are the rules with a blocking finding, whether it blocks by the settings or not.
	Blocking []string `json:"blocking,omitempty"`
	// Accepted are the rules whose blocking findings were accepted.
	Accepted []string `json:"accepted,omitempty"`
}

// SkillHealthStatus says in one word how a skill is.
type SkillHealthStatus string

// The statuses.
const (
	SkillOK SkillHealthStatus = "ok"
	// SkillDegraded can be used, though something is wrong with it.
	SkillDegraded SkillHealthStatus = "degraded"
	// SkillBlocked cannot be used, for another reason than policy.
	SkillBlocked SkillHealthStatus = "blocked"
)

// SkillHealth is what is wrong with one skill, by what has to be done about it (Pioneer skills protocol, "Health").
type SkillHealth struct {
	Status SkillHealthStatus `json:"status"`
	// Usable says whether an agent can use the skill, Policy how its switches stand; neither is part of Status.
	Usable bool            `json:"usable"`
	Policy EffectivePolicy `json:"policy"`
	// DependencyFailures are what it lacks where it is to run, SecurityBlocks why it should not be trusted.
	DependencyFailures []Reason `json:"dependency_failures"`
	SecurityBlocks     []Reason `json:"security_blocks"`
	// ValidationIssues are the faults of its files, and what could not be verified.
	ValidationIssues []Problem `json:"validation_issues"`
}

// HealthOf derives the health of a skill from the reasons against it and its problems. Policy and config.yaml choose, and
// have no part in its status.
func HealthOf(e *Entry) SkillHealth {
	h := SkillHealth{
		Status: SkillOK, Usable: e.Usable, Policy: e.Policy, DependencyFailures: []Reason{}, SecurityBlocks: []Reason{}, ValidationIssues: append([]Problem{}, e.Problems...),
	}
	if slices.ContainsFunc(e.Problems, func(p Problem) bool { return p.Severity != SeverityInfo }) || e.LastGood {
		h.Status = SkillDegraded
	}
	for _, r := range e.Reasons {
		switch r.Code {
		case ReasonDisabled:
			continue
		case ReasonTrustBlocked, ReasonSecurityBlocked, ReasonSecurityPending, ReasonStateLost:
			h.SecurityBlocks = append(h.SecurityBlocks, r)
		case ReasonInvalid: // its problems say more
		default:
			h.DependencyFailures = append(h.DependencyFailures, r)
		}
		h.Status = SkillBlocked
	}
	return h
}
