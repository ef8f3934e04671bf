package pannier

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity says how bad a [Problem] is.
type Severity string

// The severities, worst first.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
	SeverityInfo    Severity = "info"
)

// Problem is something wrong with a text or a file that pannier reads: a SKILL.md, a _meta.json, config.yaml, a root. It
// is data, and every surface shows the same one.
type Problem struct {
	// Code is stable and dotted, such as "skill.name.missing". Clients may switch on it.
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	// Path is the file or directory, relative to the workspace where it lies in it, with slashes.
	Path string `json:"path"`
	// Line and Column count from 1 in the file at Path, Column in characters; 0 means that the problem has no place there.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Field is the dotted key that the problem is in.
	Field string `json:"field,omitempty"`
	// Subject is that of the [Reason] which the problem would be in the agent's environment: what is missing.
	Subject string `json:"subject,omitempty"`
	// Message says what is wrong, Hint what to do about it.
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

// oneLine keeps a file name with line breaks from looking like several problems.
var oneLine = strings.NewReplacer("\n", `\n`, "\r", `\r`)

// String returns the problem on one line, as a compiler would print it: place, severity, message and code.
func (p Problem) String() string {
	return oneLine.Replace(fmt.Sprintf("%s: %s: %s (%s)", p.Place(), p.Severity, p.Message, p.Code))
}

// Place returns where the problem is: the path, with line and column where they are known.
func (p Problem) Place() string {
	switch {
	case p.Line == 0:
		return p.Path
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.Path, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.Path, p.Line, p.Column)
}

// CodeRuntimeValue is the problem of a `runtime` in the frontmatter that names no adapter.
const CodeRuntimeValue = "skill.runtime.value"

// CodeEmptyBody is the problem of a SKILL.md without instructions below its frontmatter.
const CodeEmptyBody = "skill.body.empty"

// Reason says why a skill cannot be used, although it was found.
type Reason struct {
	// Code is one of the Reason constants.
	Code string `json:"code"`
	// Subject is what the reason is about: a binary, a variable, a system.
	Subject string `json:"subject"`
	// Remedy says what a person can do about it.
	Remedy string `json:"remedy"`
}

// The codes of a [Reason], in the order in which they are checked.
const (
	ReasonDisabled            = "disabled"
	ReasonStateLost           = "state_lost"
	ReasonInvalid             = "invalid"
	ReasonRuntimeIncompatible = "runtime_incompatible"
	ReasonOSUnsupported       = "os_unsupported"
	ReasonMissingBinary       = "missing_binary"
	ReasonMissingAnyBinary    = "missing_any_binary"
	ReasonMissingEnv          = "missing_env"
	ReasonMissingAPIKey       = "missing_api_key"
	ReasonMissingMCP          = "missing_mcp"
	ReasonConflict            = "conflict"
	ReasonTrustBlocked        = "trust_blocked"
	ReasonSecurityBlocked     = "security_blocked"
	ReasonSecurityPending     = "security_pending"
)

// CompareProblems orders problems for people: the gravest first, then by place.
func CompareProblems(a, b Problem) int {
	return cmp.Or(
		cmp.Compare(a.Severity.rank(), b.Severity.rank()),
		cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
	)
}

func (s Severity) rank() int {
	return slices.Index([]Severity{SeverityError, SeverityWarning, SeverityInfo}, s)
}
