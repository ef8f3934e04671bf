package registry

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pannier"
)

// assessor makes entries of skills.
type assessor struct {
	in *Inputs
	// texts are what was written of other skills: thousands may lack the same, and share the words that tell of it.
	texts map[string]string
}

// entry returns the entry of a skill as other skills leave it: its ID is the folder, and conflicts do not count. A
// skill that lost its slug is shadowed, one that is not selected unlisted.
func (j assessor) entry(g *grounds) *pannier.Entry {
	e := &pannier.Entry{
		Skill: g.skill, ID: g.skill.Folder, Problems: slices.Clip(g.skill.Problems), Reasons: []pannier.Reason{},
		Rank: g.rank, Policy: g.policy,
	}
	switch {
	case g.shadowedBy != "":
		e.State, e.ShadowedBy = pannier.StateShadowed, g.shadowedBy
		if g.overListed {
			e.Problems = append(e.Problems, pannier.Problem{
				Code: "config.skill_shadowed", Severity: pannier.SeverityWarning, Path: e.Path, Field: "skills",
				Message: fmt.Sprintf("config.yaml lists this skill, but its slug %q belongs to %s, which is not listed",
					e.Slug, e.ShadowedBy),
				Hint: "give one of the two another `slug` in its frontmatter, or list the other one",
			})
		}
	case g.rank == unranked:
		e.State = pannier.StateUnlisted
	}
	if found := g.Found; found != nil {
		e.FileTools, e.FoundDigest = found.Tools, found.Digest
		if e.Description == "" && found.Description != "" { // a description of its own counts before that
			described := *e.Skill
			described.Description = found.Description
			e.Skill = &described
		}
	}
	j.check(e)
	if !e.Requirements.Always {
		j.checkRequirements(e)
	}
	e.Reasons = append(e.Reasons, g.Reasons...)
	sortReasons(e.Reasons)
	switch {
	case e.State != "":
	case len(e.Reasons) == 0:
		e.State = pannier.StateEligible
	case e.Reasons[0].Code == pannier.ReasonDisabled:
		e.State = pannier.StateDisabled
	default:
		e.State = pannier.StateIneligible
	}
	e.Usable = e.State == pannier.StateEligible
	return e
}

// reasonOrder is the order of reasons: the first one is shown first, and decides the state. Other codes of judges
// follow.
var reasonOrder = []string{
	pannier.ReasonDisabled, pannier.ReasonStateLost, pannier.ReasonInvalid, pannier.ReasonRuntimeIncompatible,
	pannier.ReasonOSUnsupported, pannier.ReasonMissingBinary, pannier.ReasonMissingAnyBinary, pannier.ReasonMissingEnv,
	pannier.ReasonMissingAPIKey, pannier.ReasonMissingMCP,
	pannier.ReasonConflict, pannier.ReasonTrustBlocked, pannier.ReasonSecurityPending, pannier.ReasonSecurityBlocked,
}

func sortReasons(reasons []pannier.Reason) {
	// The place is the greatest number for other codes.
	place := func(r pannier.Reason) uint { return uint(slices.Index(reasonOrder, r.Code)) }
	slices.SortStableFunc(reasons, func(a, b pannier.Reason) int { return cmp.Compare(place(a), place(b)) })
}

func against(e *pannier.Entry, code, subject, remedy string) {
	e.Reasons = append(e.Reasons, pannier.Reason{Code: code, Subject: subject, Remedy: remedy})
}

// check collects what stands against a skill, whatever it requires.
func (j assessor) check(e *pannier.Entry) {
	if p := e.Policy; !p.Enabled {
		against(e, pannier.ReasonDisabled, string(p.Source)+" policy",
			fmt.Sprintf("enable it with `pannier policy set %s --enabled=true`", e.Slug))
	}
	switch field := e.DisabledBy; field {
	case "":
	case "scope":
		against(e, pannier.ReasonDisabled, field,
			"the skill itself says that it is not to be used; remove `scope: disabled` from its SKILL.md")
	default:
		against(e, pannier.ReasonDisabled, field,
			"the skill itself says that it is not to be used; set `"+field+"` to true in its SKILL.md")
	}
	for _, profile := range e.Blocked {
		short := pannier.ShortProfile(profile)
		against(e, pannier.ReasonInvalid, profile,
			"the settings let no skill be used that fails the profile "+short+"; `pannier audit DIR --profile "+short+
				"`, with its directory, lists its faults")
	}
	if e.Broken {
		subject, remedy := e.FilePath(), "see the problems of the skill"
		isError := func(p pannier.Problem) bool { return p.Severity == pannier.SeverityError }
		if i := slices.IndexFunc(e.Problems, isError); i >= 0 {
			subject, remedy = e.Problems[i].Code, e.Problems[i].Hint
		}
		against(e, pannier.ReasonInvalid, subject, remedy)
	}
	// Runtimes are compared exactly, as the adapters do; where none is known, every skill fits.
	fits, runtime := e.Runtimes, j.in.Workspace.Runtime
	if runtime != "" && len(fits) > 0 && !slices.Contains(fits, runtime) {
		against(e, pannier.ReasonRuntimeIncompatible, runtime,
			fmt.Sprintf("the skill is for %s; add %q to `runtime` in its SKILL.md if it works there too",
				strings.Join(fits, ", "), runtime))
	}
	systems, system := e.Requirements.OS, j.in.Environment.OS
	if system != "" && len(systems) > 0 && !slices.Contains(systems, system) {
		j.unmet(e, pannier.ReasonOSUnsupported, system, oneOf(systems),
			fmt.Sprintf("the skill is for %s; run the agent there, or change `os` in its SKILL.md", strings.Join(systems, ", ")))
	}
	if level := e.TrustLevel; !level.AtLeast(j.in.MinimumTrust) {
		against(e, pannier.ReasonTrustBlocked, string(level),
			fmt.Sprintf("the settings ask for trust of at least %s; raise `trust` of the root that it lies in, or lower `trust.minimum`",
				j.in.MinimumTrust))
	}
}

// checkRequirements collects the requirements that the environment does not meet.
func (j assessor) checkRequirements(e *pannier.Entry) {
	needs, has := e.Requirements, &j.in.Environment
	for _, bin := range needs.Bins {
		if !contains(has.Bins, bin) {
			j.unmet(e, pannier.ReasonMissingBinary, bin, bin,
				fmt.Sprintf("install %s where the agent runs, in a directory of its PATH", bin))
		}
	}
	hasBin := func(bin string) bool { return contains(has.Bins, bin) }
	if len(needs.AnyBins) > 0 && !slices.ContainsFunc(needs.AnyBins, hasBin) {
		any := oneOf(needs.AnyBins)
		j.unmet(e, pannier.ReasonMissingAnyBinary, strings.Join(needs.AnyBins, ", "), any,
			fmt.Sprintf("install %s where the agent runs, in a directory of its PATH", any))
	}
	for _, name := range needs.Env {
		if !contains(has.Env, name) {
			j.unmet(e, pannier.ReasonMissingEnv, name, name, fmt.Sprintf("set %s, not empty, in the agent's environment", name))
		}
	}
	for _, name := range needs.APIKeys {
		if !contains(has.Env, name) {
			j.unmet(e, pannier.ReasonMissingAPIKey, name, "the key "+name,
				fmt.Sprintf("set %s, not empty, in the agent's environment", name))
		}
	}
	for _, item := range needs.Config {
		if contains(has.Config, item) || contains(j.in.Config, item) {
			continue
		}
		// It never takes a skill away (Pioneer skills architecture: such requirements are stored, not enforced).
		message := fmt.Sprintf("the skill needs %s, which config.yaml does not set", item)
		hint := "set it in config.yaml, or name it with `pannier environment --config-key`; the skill can be used meanwhile"
		if pannier.IsConfigFile(item) {
			message = fmt.Sprintf("the skill needs the file %s, which is not below the workspace", item)
			hint = "create it; the skill can be used meanwhile"
		}
		e.Problems = append(e.Problems, pannier.Problem{
			Code: "missing_config", Severity: pannier.SeverityWarning, Path: e.FilePath(), Subject: item,
			Message: j.share(message), Hint: j.share(hint),
		})
	}
	for _, server := range needs.MCP {
		if !contains(has.MCP, server) {
			j.unmet(e, pannier.ReasonMissingMCP, server, "the MCP server "+server,
				fmt.Sprintf("add the MCP server %s to the agent, and name it with `pannier environment --mcp`", server))
		}
	}
}

// unmet records a requirement that the environment does not meet. Where the environment is not the agent's own, that
// proves nothing, and is a warning. need says in words what the skill needs.
func (j assessor) unmet(e *pannier.Entry, code, subject, need, remedy string) {
	if !j.in.Environment.Lenient {
		against(e, code, subject, remedy)
		return
	}
	e.Problems = append(e.Problems, pannier.Problem{
		Code: j.share("unverified." + code), Severity: pannier.SeverityWarning, Path: e.FilePath(), Subject: subject,
		Message: j.share(fmt.Sprintf("the skill needs %s, which the sidecar's own container does not have; the agent's may",
			need)),
		Hint: j.share(remedy),
	})
}

func (j assessor) share(text string) string {
	if shared, ok := j.texts[text]; ok {
		return shared
	}
	j.texts[text] = text
	return text
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
