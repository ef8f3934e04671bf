package pannier

import (
	"slices"
	"strings"
)

// Conformance is the verdict of one profile, such as the Agent Skills standard, on one skill.
type Conformance struct {
	// Compliant says that none of the issues is an error.
	Compliant bool `json:"compliant"`
	// Issues are in the order of [CompareProblems].
	Issues []Problem `json:"issues"`
}

// ConformanceOf returns the verdict that a profile's problems amount to. It keeps them.
func ConformanceOf(issues []Problem) Conformance {
	if issues == nil {
		issues = []Problem{} // `[]` on the wire
	}
	failed := slices.ContainsFunc(issues, func(p Problem) bool { return p.Severity == SeverityError })
	return Conformance{Compliant: !failed, Issues: issues}
}

// ShortProfile returns the name of a profile as people write it, such as "agentskills" for "agentskills_strict".
func ShortProfile(name string) string {
	short, _, _ := strings.Cut(name, "_")
	return short
}
