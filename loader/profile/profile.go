// Package profile judges one skill by the rules that other readers of it have, and says what to change where it would not
// do for them. pannier itself loads whatever can be used; a verdict keeps a skill from being used only where the settings
// say so.
//
// There are four profiles: agentskills_strict (Agent Skills specification, as its reference validator skills-ref 0.1.0
// reads it), openclaw_compat (Pioneer skills architecture, "Validation"), molecule_audit (Molecule skills, "Skill Audit")
// and clawhub (Molecule skills, "ClawHub Compatibility"). Each is a pure function of a [Skill].
package profile

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"pannier"
	"pannier/internal/yamldoc"
)

// The names of the profiles.
const (
	NameAgentSkills = "agentskills_strict"
	NameOpenClaw    = "openclaw_compat"
	NameMolecule    = "molecule_audit"
	NameClawHub     = "clawhub"
)

// maxIssues bounds the problems that one profile tells of one skill, of which the last then counts the others. A
// frontmatter has room for thousands.
const maxIssues = 50

// Skill is what the profiles judge. They keep nothing of it and do not write to it.
type Skill struct {
	// Front is the frontmatter. FrontFound says that there is one and that it was read as a mapping.
	Front      yamldoc.Value
	FrontFound bool
	// Text is the frontmatter that Front was parsed from, with LF line ends. Without it `[a, b]` cannot be told from a
	// list of lines, nor `~` from nothing.
	Text []byte
	// Faults are the reader's own problems with the text: what it let pass or mended, such as a byte order mark, a repeated
	// key or a colon in a value, or, where FrontFound is not set, what kept it from reading the frontmatter.
	Faults []pannier.Problem
	// BodyEmpty says that nothing but blanks follows the frontmatter.
	BodyEmpty bool

	// Folder is the name of the skill directory, empty where it is not known. File is the name of its SKILL.md as it is
	// written on disk, empty where there is none. Path is that of the SKILL.md, for problems.
	Folder, File, Path string
	// LineOffset is the number of lines in the file before the frontmatter.
	LineOffset int
	// Name, Description and License are those of the skill after the fallbacks of the lenient reader.
	Name, Description, License string

	// Files are those of the skill directory, nil where they are not listed. ReadFile returns the content of one of them, or
	// at least its first 8 KiB; it may be nil. Only the profile clawhub asks for either.
	Files    []pannier.File
	ReadFile func(path string) ([]byte, error)
}

// profiles are all of them, in the order of their names' constants.
var profiles = []struct {
	name  string
	check func(Skill) []pannier.Problem
}{
	{NameAgentSkills, AgentSkills},
	{NameOpenClaw, OpenClaw},
	{NameMolecule, Molecule},
	{NameClawHub, ClawHub},
}

// Names returns the names of all profiles. The caller owns the slice.
func Names() []string {
	var names []string
	for _, p := range profiles {
		names = append(names, p.name)
	}
	return names
}

// Check returns the problems that a skill has under the profile of a name, in the order of [pannier.CompareProblems]. A
// name that is none of [Names] is an error among them, so that nothing complies with an unknown profile.
func Check(name string, s Skill) []pannier.Problem {
	for _, p := range profiles {
		if p.name == name {
			return p.check(s)
		}
	}
	return []pannier.Problem{{
		Code: "profile.unknown", Severity: pannier.SeverityError, Path: s.Path,
		Message: "unknown profile " + quote(name), Hint: "write one of " + strings.Join(Names(), ", "),
	}}
}

// Report returns the verdicts of the named profiles by their names.
func Report(s Skill, names ...string) map[string]pannier.Conformance {
	report := make(map[string]pannier.Conformance, len(names))
	for _, name := range names {
		report[name] = pannier.ConformanceOf(Check(name, s))
	}
	return report
}

// place is where something stands in the frontmatter, both counted from 1; the zero place is nowhere.
type place struct{ line, column int }

func placeOf(v yamldoc.Value) place { return place{v.Line(), v.Column()} }

// check collects the problems of one skill under one profile.
type check struct {
	*Skill
	prefix string // of the codes that every profile has
	layout *layout
	// within is the place of the text that a mapping stands in as JSON, while that is judged.
	within   place
	problems []pannier.Problem
}

func newCheck(s *Skill, prefix string) *check {
	return &check{Skill: s, prefix: prefix, layout: &layout{text: s.Text}}
}

// report adds a problem with a field.
func (c *check) report(severity pannier.Severity, code, field string, at place, message, hint string) {
	if c.within != (place{}) && at != (place{}) {
		at = c.within
	}
	p := pannier.Problem{Code: code, Severity: severity, Path: c.Path, Field: field, Message: message, Hint: hint}
	if at.line > 0 {
		p.Line, p.Column = at.line+c.LineOffset, at.column
	}
	c.problems = append(c.problems, p)
}

func (c *check) fail(code, field string, at place, message, hint string) {
	c.report(pannier.SeverityError, code, field, at, message, hint)
}

func (c *check) warn(code, field string, at place, message, hint string) {
	c.report(pannier.SeverityWarning, code, field, at, message, hint)
}

// file tells where SKILL.md is missing or has none of the names that it may have here, the first being the best.
func (c *check) file(names ...string) {
	switch {
	case c.File == "":
		c.fail(c.prefix+".file.missing", "", place{}, "SKILL.md is missing", "add a SKILL.md with a frontmatter that holds `name:` and `description:`, and instructions below it")
	case !slices.Contains(names, c.File):
		c.fail(c.prefix+".file.name", "", place{}, "the file is called "+quote(c.File)+", and is not found under that name", "rename it to "+names[0])
	}
}

// readable reports whether there is a frontmatter to judge, and tells where there is none.
func (c *check) readable() bool {
	switch {
	case c.File == "":
		return false
	case !c.FrontFound && len(c.Faults) == 0:
		c.fail(c.prefix+".frontmatter.invalid", "", place{}, "the frontmatter is missing or unreadable", "begin the file with a line `---`, lines with `name:` and `description:`, and another line `---`")
	case !c.FrontFound:
		c.faults()
	}
	return c.FrontFound
}

// faults tells what the reader found wrong with the text. What a lenient reader lets pass or mends, a strict one refuses.
func (c *check) faults() {
	for _, f := range c.Faults {
		f.Code, f.Severity = c.prefix+".frontmatter.invalid", pannier.SeverityError
		c.problems = append(c.problems, f)
	}
}

// done returns what was found, and the warning of an empty body that every profile has.
func (c *check) done() []pannier.Problem {
	if c.BodyEmpty && c.File != "" {
		c.warn(c.prefix+".body.empty", "", place{}, "there are no instructions after the frontmatter", "write what the agent shall do below the closing `---`")
	}
	slices.SortStableFunc(c.problems, pannier.CompareProblems)
	if more := len(c.problems) - maxIssues; more > 0 {
		first := c.problems[maxIssues]
		c.problems = append(c.problems[:maxIssues:maxIssues], pannier.Problem{
			Code: c.prefix + ".more", Severity: first.Severity, Path: c.Path,
			Message: fmt.Sprintf("there are %d more problems of this kind", more), Hint: "fix the first ones, then check again",
		})
		slices.SortStableFunc(c.problems, pannier.CompareProblems)
	}
	return c.problems
}

func (c *check) pathOf(file string) string { return path.Join(path.Dir(c.Path), file) }

func key(field, name string) string {
	if utf8.RuneCountInString(name) > 60 {
		name = string([]rune(name)[:60]) + "…"
	}
	if field == "" {
		return name
	}
	return field + "." + name
}

// quote returns a text that an author wrote so that it fits a message, whatever it is: in quotes, with escapes, not long.
func quote(text string) string {
	count := 0
	for i := range text {
		if count++; count > 60 {
			return fmt.Sprintf("%q…", text[:i])
		}
	}
	return fmt.Sprintf("%q", text)
}
