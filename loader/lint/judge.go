package lint

import (
	"context"
	"path"
	"slices"

	"pannier"
	"pannier/loader"
	"pannier/loader/profile"
	"pannier/loader/scan"
)

// The profiles, by the names that people choose them by.
const (
	ProfileMolecule    = "molecule"
	ProfileAgentSkills = "agentskills"
	ProfileOpenClaw    = "openclaw"
	ProfileClawHub     = "clawhub"
	ProfileAll         = "all"
)

// Profiles returns the names that [Options.Profile] can have, the usual one first.
func Profiles() []string {
	return []string{ProfileMolecule, ProfileAgentSkills, ProfileOpenClaw, ProfileClawHub, ProfileAll}
}

// profilesOf returns the names that the package profile has for a choice.
func profilesOf(name string) ([]string, bool) {
	if name == ProfileAll {
		return profile.Names(), true
	}
	for _, p := range profile.Names() {
		if name == p || name == pannier.ShortProfile(p) {
			return []string{p}, true
		}
	}
	return nil, false
}

// check returns all that is wrong with a skill, in no order - what its reader says, what the profiles say, what the scan
// says - and the ways that it names to install what it needs.
func (a *auditor) check(ctx context.Context, s *pannier.Skill) ([]pannier.Problem, []pannier.InstallSpec) {
	problems := slices.Clone(s.Problems)
	found, err := a.inspect(ctx, s)
	if mixed := lineEnds(found.Text); mixed > 0 && !s.Broken {
		problems = append(problems, pannier.Problem{
			Code: "audit.line_ends", Severity: pannier.SeverityInfo, Path: s.FilePath(), Line: mixed,
			Message: "lines end in CR LF or CR", Hint: "save the file with LF line ends, or let --fix do so",
		})
	}
	if err != nil {
		problems = append(problems, pannier.Problem{
			Code: "audit.changed", Severity: pannier.SeverityError, Path: s.FilePath(),
			Message: "the file changed while it was read", Hint: "audit again after the last write",
		})
	}
	for _, p := range found.Problems {
		if p.Code == pannier.CodeLinks || p.Code == pannier.CodeExamples || p.Code == pannier.CodeMCPLimits {
			problems = append(problems, p)
		}
	}
	var issues []pannier.Problem
	for _, name := range a.profiles {
		issues = append(issues, a.graded(found.Conformance[name].Issues)...)
	}
	if a.Profile == ProfileAll {
		issues = reconcile(issues)
	}
	problems = append(problems, issues...)
	if a.Scan {
		problems = append(problems, a.scan(ctx, s)...)
	}
	return problems, found.Install
}

// graded returns the problems of a profile. Molecule asks for a version because its workspaces do; most published skills have none,
// so that is a warning without a config.yaml.
func (a *auditor) graded(problems []pannier.Problem) []pannier.Problem {
	if a.inWorkspace() {
		return problems
	}
	problems = slices.Clone(problems)
	for i := range problems {
		if problems[i].Code == codeNoVersion {
			problems[i].Severity = pannier.SeverityWarning
		}
	}
	return problems
}

const codeNoVersion = "molecule.version.missing"

// inWorkspace reports whether there is a config.yaml.
func (o Options) inWorkspace() bool {
	return o.Configured || o.Workspace.Fields != nil || o.Workspace.Listed || len(o.Workspace.Problems) > 0
}

// inspect asks the loader what it finds in the directory of a skill. A text that lies in no folder has no name to be held
// against that.
func (a *auditor) inspect(ctx context.Context, s *pannier.Skill) (loader.Audited, error) {
	if a.nameless {
		nameless := *s
		nameless.Folder, s = "", &nameless
	}
	return a.loader.Audit(ctx, s, a.profiles)
}

// scan returns the findings of the security scan as problems of the skill.
func (a *auditor) scan(ctx context.Context, s *pannier.Skill) []pannier.Problem {
	report, _ := scan.Path(ctx, a.places[s.RootIndex], s.PathBelowRoot, scan.Options{}) // an error is that ctx is done, which ends the audit
	var problems []pannier.Problem
	for _, f := range report.Findings {
		message := f.Message
		if f.Blocking {
			message += "; it keeps the skill from being installed"
		}
		problems = append(problems, pannier.Problem{
			Code: f.Rule, Severity: f.Severity, Path: path.Join(s.Path, f.Path), Line: f.Line, Message: message, Hint: f.Hint,
		})
	}
	return problems
}

// merge orders problems, and drops those that say the same of the same place as a graver one, or an earlier one: a reader
// and four profiles see the same missing text.
func merge(problems []pannier.Problem) []pannier.Problem {
	slices.SortStableFunc(problems, pannier.CompareProblems)
	type what struct {
		path         string
		line, column int
		message      string
	}
	seen := make(map[what]bool, len(problems))
	kept := make([]pannier.Problem, 0, len(problems))
	for _, p := range problems {
		key := what{p.Path, p.Line, p.Column, p.Message}
		if !seen[key] {
			seen[key] = true
			kept = append(kept, p)
		}
	}
	return kept
}
