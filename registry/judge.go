package registry

import (
	"fmt"
	"slices"
	"strings"

	"pannier"
)

// judge collects every reason against a skill and decides its state. An entry that has one already keeps it.
func judge(e *pannier.Entry, in *Inputs) {
	j := judgement{entry: e, environment: &in.Environment}
	j.disabled()
	j.invalid()
	j.runtime(in.Workspace.Runtime)
	j.system()
	if !e.Requirements.Always {
		j.requirements()
	}
	switch {
	case e.State != "":
	case !e.Policy.Enabled:
		e.State = pannier.StateDisabled
	case len(e.Reasons) > 0:
		e.State = pannier.StateIneligible
	default:
		e.State = pannier.StateEligible
	}
	e.Usable = e.State == pannier.StateEligible
}

type judgement struct {
	entry       *pannier.Entry
	environment *pannier.Environment
}

func (j judgement) against(code, subject, remedy string) {
	j.entry.Reasons = append(j.entry.Reasons, pannier.Reason{Code: code, Subject: subject, Remedy: remedy})
}

// unmet notes a requirement that the environment does not meet. Where the environment is not the agent's own, that
// proves nothing, and is a warning. need says in words what the skill needs.
func (j judgement) unmet(code, subject, need, remedy string) {
	if !j.environment.Lenient {
		j.against(code, subject, remedy)
		return
	}
	j.entry.Problems = append(j.entry.Problems, pannier.Problem{
		Code: "unverified." + code, Severity: pannier.SeverityWarning, Path: j.entry.FilePath(),
		Message: fmt.Sprintf("the skill needs %s, which the sidecar's own container does not have; the agent's may", need),
		Hint:    remedy,
	})
}

func (j judgement) disabled() {
	if p := j.entry.Policy; !p.Enabled {
		remedy := fmt.Sprintf("enable it with `pannier policy set %s --enabled=true`", j.entry.Slug)
		j.against(pannier.ReasonDisabled, string(p.Source)+" policy", remedy)
	}
}

func (j judgement) invalid() {
	if !j.entry.Broken {
		return
	}
	for _, p := range j.entry.Problems {
		if p.Severity == pannier.SeverityError {
			j.against(pannier.ReasonInvalid, p.Code, p.Hint)
			return
		}
	}
	j.against(pannier.ReasonInvalid, j.entry.FilePath(), "see the problems of the skill")
}

// runtime compares exactly, as the adapters do; where no runtime is known, every skill fits.
func (j judgement) runtime(name string) {
	if fits := j.entry.Runtimes; name != "" && len(fits) > 0 && !slices.Contains(fits, name) {
		j.against(pannier.ReasonRuntimeIncompatible, name, fmt.Sprintf("the skill is for %s; add %q to `runtime` in its SKILL.md if it works there too", strings.Join(fits, ", "), name))
	}
}

func (j judgement) system() {
	if fits := j.entry.Requirements.OS; j.environment.OS != "" && len(fits) > 0 && !slices.Contains(fits, j.environment.OS) {
		all := strings.Join(fits, ", ")
		j.unmet(pannier.ReasonOSUnsupported, j.environment.OS, oneOf(fits), fmt.Sprintf("the skill is for %s; run the agent there, or change `os` in its SKILL.md", all))
	}
}

func (j judgement) requirements() {
	needs, has := j.entry.Requirements, j.environment
	for _, bin := range needs.Bins {
		if !contains(has.Bins, bin) {
			j.unmet(pannier.ReasonMissingBinary, bin, bin, fmt.Sprintf("install %s where the agent runs, in a directory of its PATH", bin))
		}
	}
	if len(needs.AnyBins) > 0 && !slices.ContainsFunc(needs.AnyBins, func(bin string) bool { return contains(has.Bins, bin) }) {
		any := oneOf(needs.AnyBins)
		j.unmet(pannier.ReasonMissingAnyBinary, strings.Join(needs.AnyBins, ", "), any, fmt.Sprintf("install %s where the agent runs, in a directory of its PATH", any))
	}
	for _, name := range needs.Env {
		if !contains(has.Env, name) {
			j.unmet(pannier.ReasonMissingEnv, name, name, fmt.Sprintf("set %s, not empty, in the agent's environment", name))
		}
	}
}

// oneOf names things of which one is enough.
func oneOf(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return "one of " + strings.Join(names, ", ")
}

// contains looks a name up in a sorted list.
func contains(sorted []string, name string) bool {
	_, ok := slices.BinarySearch(sorted, name)
	return ok
}
