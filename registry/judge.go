package registry

import (
	"cmp"
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
	if found := g.Found; found != nil {
		e.FileTools, e.FoundDigest = found.Tools, found.Digest
		if e.Description == "" && found.Description != "" { // a description of its own counts before that
			described := *e.Skill
			described.Description = found.Description
			e.Skill = &described
		}
	}
	check{entry: e, in: j.in, environment: &j.in.Environment, texts: j.texts}.collect()
	e.Reasons = append(e.Reasons, g.Reasons...)
	sortReasons(e.Reasons)
	decide(e)
	return e
}

// reasonOrder is the order of reasons: the first one is shown first, and decides the state. Other codes of judges follow.
var reasonOrder = []string{
	pannier.ReasonDisabled, pannier.ReasonStateLost, pannier.ReasonInvalid, pannier.ReasonRuntimeIncompatible, pannier.ReasonOSUnsupported,
	pannier.ReasonMissingBinary, pannier.ReasonMissingAnyBinary, pannier.ReasonMissingEnv, pannier.ReasonMissingAPIKey, pannier.ReasonMissingMCP,
	pannier.ReasonConflict, pannier.ReasonTrustBlocked, pannier.ReasonSecurityPending, pannier.ReasonSecurityBlocked,
}

func sortReasons(reasons []pannier.Reason) {
	place := func(r pannier.Reason) uint { return uint(slices.Index(reasonOrder, r.Code)) } // the greatest number for others
	slices.SortStableFunc(reasons, func(a, b pannier.Reason) int { return cmp.Compare(place(a), place(b)) })
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

// check collects what stands against a skill.
type check struct {
	entry       *pannier.Entry
	in          *Inputs
	environment *pannier.Environment
	texts       map[string]string // of [judge]
}

// collect collects the reasons against the skill.
func (c check) collect() {
	c.disabled()
	c.invalid()
	c.runtime(c.in.Workspace.Runtime)
	c.system()
	if !c.entry.Requirements.Always {
		c.requirements()
	}
	c.trust()
}

func (c check) share(text string) string {
	if shared, ok := c.texts[text]; ok {
		return shared
	}
	c.texts[text] = text
	return text
}

func (c check) against(code, subject, remedy string) {
	c.entry.Reasons = append(c.entry.Reasons, pannier.Reason{Code: code, Subject: subject, Remedy: remedy})
}

// unmet notes a requirement that the environment does not meet. Where the environment is not the agent's own, that
// proves nothing, and is a warning. need says in words what the skill needs.
func (c check) unmet(code, subject, need, remedy string) {
	if !c.environment.Lenient {
		c.against(code, subject, remedy)
		return
	}
	c.entry.Problems = append(c.entry.Problems, pannier.Problem{
		Code: c.share("unverified." + code), Severity: pannier.SeverityWarning, Path: c.entry.FilePath(), Subject: subject,
		Message: c.share(fmt.Sprintf("the skill needs %s, which the sidecar's own container does not have; the agent's may", need)),
		Hint:    c.share(remedy),
	})
}

func (c check) disabled() {
	if p := c.entry.Policy; !p.Enabled {
		remedy := fmt.Sprintf("enable it with `pannier policy set %s --enabled=true`", c.entry.Slug)
		c.against(pannier.ReasonDisabled, string(p.Source)+" policy", remedy)
	}
	switch field := c.entry.DisabledBy; field {
	case "":
	case "scope":
		c.against(pannier.ReasonDisabled, field, "the skill itself says that it is not to be used; remove `scope: disabled` from its SKILL.md")
	default:
		c.against(pannier.ReasonDisabled, field, "the skill itself says that it is not to be used; set `"+field+"` to true in its SKILL.md")
	}
}

func (c check) invalid() {
	for _, profile := range c.entry.Blocked {
		short := pannier.ShortProfile(profile)
		c.against(pannier.ReasonInvalid, profile, "the settings let no skill be used that fails the profile "+short+"; `pannier audit DIR --profile "+short+"`, with its directory, lists its faults")
	}
	if !c.entry.Broken {
		return
	}
	for _, p := range c.entry.Problems {
		if p.Severity == pannier.SeverityError {
			c.against(pannier.ReasonInvalid, p.Code, p.Hint)
			return
		}
	}
	c.against(pannier.ReasonInvalid, c.entry.FilePath(), "see the problems of the skill")
}

// runtime compares exactly, as the adapters do; where no runtime is known, every skill fits.
func (c check) runtime(name string) {
	if fits := c.entry.Runtimes; name != "" && len(fits) > 0 && !slices.Contains(fits, name) {
		c.against(pannier.ReasonRuntimeIncompatible, name, fmt.Sprintf("the skill is for %s; add %q to `runtime` in its SKILL.md if it works there too", strings.Join(fits, ", "), name))
	}
}

func (c check) system() {
	if fits := c.entry.Requirements.OS; c.environment.OS != "" && len(fits) > 0 && !slices.Contains(fits, c.environment.OS) {
		all := strings.Join(fits, ", ")
		c.unmet(pannier.ReasonOSUnsupported, c.environment.OS, oneOf(fits), fmt.Sprintf("the skill is for %s; run the agent there, or change `os` in its SKILL.md", all))
	}
}

func (c check) requirements() {
	needs, has := c.entry.Requirements, c.environment
	for _, bin := range needs.Bins {
		if !contains(has.Bins, bin) {
			c.unmet(pannier.ReasonMissingBinary, bin, bin, fmt.Sprintf("install %s where the agent runs, in a directory of its PATH", bin))
		}
	}
	if len(needs.AnyBins) > 0 && !slices.ContainsFunc(needs.AnyBins, func(bin string) bool { return contains(has.Bins, bin) }) {
		any := oneOf(needs.AnyBins)
		c.unmet(pannier.ReasonMissingAnyBinary, strings.Join(needs.AnyBins, ", "), any, fmt.Sprintf("install %s where the agent runs, in a directory of its PATH", any))
	}
	for _, name := range needs.Env {
		if !contains(has.Env, name) {
			c.unmet(pannier.ReasonMissingEnv, name, name, fmt.Sprintf("set %s, not empty, in the agent's environment", name))
		}
	}
	for _, name := range needs.APIKeys {
		if !contains(has.Env, name) {
			c.unmet(pannier.ReasonMissingAPIKey, name, "the key "+name, fmt.Sprintf("set %s, not empty, in the agent's environment", name))
		}
	}
	for _, item := range needs.Config {
		if !contains(has.Config, item) && !contains(c.in.Config, item) {
			c.missingConfig(item)
		}
	}
	for _, server := range needs.MCP {
		if !contains(has.MCP, server) {
			c.unmet(pannier.ReasonMissingMCP, server, "the MCP server "+server, fmt.Sprintf("add the MCP server %s to the agent, and name it with `pannier environment --mcp`", server))
		}
	}
}

// missingConfig never takes a skill away (Pioneer skills architecture: such requirements are stored, not enforced).
func (c check) missingConfig(item string) {
	p := pannier.Problem{Code: "missing_config", Severity: pannier.SeverityWarning, Path: c.entry.FilePath(), Subject: item}
	if pannier.IsConfigFile(item) {
		p.Message = fmt.Sprintf("the skill needs the file %s, which is not below the workspace", item)
		p.Hint = "create it; the skill can be used meanwhile"
	} else {
		p.Message = fmt.Sprintf("the skill needs %s, which config.yaml does not set", item)
		p.Hint = "set it in config.yaml, or name it with `pannier environment --config-key`; the skill can be used meanwhile"
	}
	p.Message, p.Hint = c.share(p.Message), c.share(p.Hint)
	c.entry.Problems = append(c.entry.Problems, p)
}

func (c check) trust() {
	if level := c.entry.TrustLevel; !level.AtLeast(c.in.MinimumTrust) {
		c.against(pannier.ReasonTrustBlocked, string(level), fmt.Sprintf("the settings ask for trust of at least %s; raise `trust` of the root that it lies in, or lower `trust.minimum`", c.in.MinimumTrust))
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
