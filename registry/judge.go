package registry

import (
	"fmt"
	"slices"
	"strings"

	"pannier"
)

// judge makes entries of skills.
type judge struct {
	in *Inputs
	// texts are what was written of other skills: thousands may lack the same, and share the words that tell of it.
	texts map[string]string
}

// entry returns the entry of a skill as other skills leave it: its ID is the folder, and conflicts do not count. A skill that lost
// its slug is shadowed, one that is not selected unlisted.
func (j judge) entry(g *grounds) *pannier.Entry {
	e := &pannier.Entry{
		Skill: g.skill, ID: g.skill.Folder, Problems: slices.Clip(g.skill.Problems), Reasons: []pannier.Reason{}, Rank: g.rank, Policy: g.policy,
	}
	switch {
	case g.shadowedBy != "":
		e.State, e.ShadowedBy = pannier.StateShadowed, g.shadowedBy
		if g.overListed {
			e.Problems = append(e.Problems, listedAndShadowed(e))
		}
	case g.rank == unranked:
		e.State = pannier.StateUnlisted
	}
	if !g.found.IsZero() {
		describe(e, j.in.Contents[e.Path])
	}
	judgement{entry: e, grounds: g, in: j.in, environment: &j.in.Environment, texts: j.texts}.collect()
	decide(e)
	return e
}

// describe adds what was found in the files of a skill. A description of its own counts before that.
func describe(e *pannier.Entry, found pannier.Contents) {
	e.FileTools, e.FoundDigest = found.Tools, found.Digest
	if e.Description == "" && found.Description != "" {
		described := *e.Skill
		described.Description = found.Description
		e.Skill = &described
	}
}

// decide gives an entry its state by the reasons against it, unless it has one already.
func decide(e *pannier.Entry) {
	switch {
	case e.State != "":
	case len(e.Reasons) == 0:
		e.State = pannier.StateEligible
	case e.Reasons[0].Code == pannier.ReasonDisabled: // it is checked first
		e.State = pannier.StateDisabled
	default:
		e.State = pannier.StateIneligible
	}
	e.Usable = e.State == pannier.StateEligible
}

type judgement struct {
	entry       *pannier.Entry
	grounds     *grounds
	in          *Inputs
	environment *pannier.Environment
	texts       map[string]string // of [judge]
}

// collect collects the reasons against the skill.
func (j judgement) collect() {
	j.disabled()
	j.lost()
	j.invalid()
	j.runtime(j.in.Workspace.Runtime)
	j.system()
	if !j.entry.Requirements.Always {
		j.requirements()
	}
	j.trust()
	j.security()
}

func (j judgement) share(text string) string {
	if shared, ok := j.texts[text]; ok {
		return shared
	}
	j.texts[text] = text
	return text
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
		Code: j.share("unverified." + code), Severity: pannier.SeverityWarning, Path: j.entry.FilePath(), Subject: subject,
		Message: j.share(fmt.Sprintf("the skill needs %s, which the sidecar's own container does not have; the agent's may", need)),
		Hint:    j.share(remedy),
	})
}

func (j judgement) disabled() {
	if p := j.entry.Policy; !p.Enabled {
		remedy := fmt.Sprintf("enable it with `pannier policy set %s --enabled=true`", j.entry.Slug)
		j.against(pannier.ReasonDisabled, string(p.Source)+" policy", remedy)
	}
	switch field := j.entry.DisabledBy; field {
	case "":
	case "scope":
		j.against(pannier.ReasonDisabled, field, "the skill itself says that it is not to be used; remove `scope: disabled` from its SKILL.md")
	default:
		j.against(pannier.ReasonDisabled, field, "the skill itself says that it is not to be used; set `"+field+"` to true in its SKILL.md")
	}
}

// lost refuses every skill while it is unknown which ones were disabled or blocked.
func (j judgement) lost() {
	if j.in.Lost == nil {
		return
	}
	if sum, released := j.in.Lost.Released[j.entry.Path]; released && sum == j.entry.Sum {
		return
	}
	j.against(pannier.ReasonStateLost, "state", "policy and scan results were lost; `pannier health` says how to recover them")
}

func (j judgement) invalid() {
	for _, profile := range j.entry.Blocked {
		short := pannier.ShortProfile(profile)
		j.against(pannier.ReasonInvalid, profile, "the settings let no skill be used that fails the profile "+short+"; `pannier audit DIR --profile "+short+"`, with its directory, lists its faults")
	}
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
	for _, name := range needs.APIKeys {
		if !contains(has.Env, name) {
			j.unmet(pannier.ReasonMissingAPIKey, name, "the key "+name, fmt.Sprintf("set %s, not empty, in the agent's environment", name))
		}
	}
	for _, item := range needs.Config {
		if !contains(has.Config, item) && !contains(j.in.Config, item) {
			j.missingConfig(item)
		}
	}
	for _, server := range needs.MCP {
		if !contains(has.MCP, server) {
			j.unmet(pannier.ReasonMissingMCP, server, "the MCP server "+server, fmt.Sprintf("add the MCP server %s to the agent, and name it with `pannier environment --mcp`", server))
		}
	}
}

// missingConfig never takes a skill away (Pioneer skills architecture: such requirements are stored, not enforced).
func (j judgement) missingConfig(item string) {
	p := pannier.Problem{Code: "missing_config", Severity: pannier.SeverityWarning, Path: j.entry.FilePath(), Subject: item}
	if pannier.IsConfigFile(item) {
		p.Message = fmt.Sprintf("the skill needs the file %s, which is not below the workspace", item)
		p.Hint = "create it; the skill can be used meanwhile"
	} else {
		p.Message = fmt.Sprintf("the skill needs %s, which config.yaml does not set", item)
		p.Hint = "set it in config.yaml, or name it with `pannier environment --config-key`; the skill can be used meanwhile"
	}
	p.Message, p.Hint = j.share(p.Message), j.share(p.Hint)
	j.entry.Problems = append(j.entry.Problems, p)
}

func (j judgement) trust() {
	if level := j.entry.TrustLevel; !level.AtLeast(j.in.MinimumTrust) {
		j.against(pannier.ReasonTrustBlocked, string(level), fmt.Sprintf("the settings ask for trust of at least %s; raise `trust` of the root that it lies in, or lower `trust.minimum`", j.in.MinimumTrust))
	}
}

// security adds the rules that block a skill. Where scans are enforced, a skill without a verdict is pending.
func (j judgement) security() {
	if j.grounds.pending {
		j.against(pannier.ReasonSecurityPending, "not scanned yet", "wait for the background scan of its newest content, or run `pannier scan "+j.entry.Slug+"`; health shows what keeps skills from being scanned")
		return
	}
	for _, rule := range j.grounds.rules {
		j.against(pannier.ReasonSecurityBlocked, rule, "check what `pannier scan` reports, remove or replace the file, and scan again")
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
