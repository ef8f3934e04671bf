package resolve

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"pannier"
)

// The bounds of the runtime tools of one skill.
const (
	maxToolsPerSkill    = 64
	maxToolName         = 128  // bytes, of the whole name
	maxToolDescription  = 1024 // characters
	openParameters      = `{"type":"object","additionalProperties":true}`
	sharedExecution     = "shared"
	runtimeToolNamePart = "skill."
)

// minimumTrust is what the origin of a skill must have for its tools of a kind. A command runs with all that the agent may
// do, so it takes more than a request or a tool that is there already.
var minimumTrust = map[pannier.RuntimeToolKind]pannier.Trust{
	pannier.RuntimeShell: pannier.TrustVerified,
	pannier.RuntimeHTTP:  pannier.TrustCommunity,
	pannier.RuntimeProxy: pannier.TrustCommunity,
	// Those in files run with what the agent may do too.
	pannier.RuntimePython: pannier.TrustVerified,
	pannier.RuntimeScript: pannier.TrustVerified,
}

// declarable are the kinds of tool that a frontmatter can declare.
var declarable = []pannier.RuntimeToolKind{pannier.RuntimeShell, pannier.RuntimeHTTP, pannier.RuntimeProxy}

// ToolTrust returns the trust that the origin of a skill must have for its tools of a kind, empty for a kind that there is
// not.
func ToolTrust(kind pannier.RuntimeToolKind) pannier.Trust { return minimumTrust[kind] }

// plan returns the runtime tools that some active skills declare and those of them that are kept back, by slug, then by
// name. Nothing of it depends on the turn, or on any other skill.
func plan(skills []*pannier.Entry) ([]pannier.RuntimeTool, []pannier.ExcludedTool) {
	slices.SortFunc(skills, func(a, b *pannier.Entry) int { return strings.Compare(a.Slug, b.Slug) })
	p := planner{tools: []pannier.RuntimeTool{}, excluded: []pannier.ExcludedTool{}}
	for _, e := range skills {
		p.skill(e)
	}
	return p.tools, p.excluded
}

type planner struct {
	tools    []pannier.RuntimeTool
	excluded []pannier.ExcludedTool
}

// declaration is what a frontmatter says of a tool, as far as the planner needs it.
type declaration struct {
	Kind           pannier.RuntimeToolKind `json:"kind"`
	ExecutionClass string                  `json:"execution_class"`
	Config         json.RawMessage         `json:"config"`
	OutputPolicy   json.RawMessage         `json:"output_policy"`
}

func (p *planner) skill(e *pannier.Entry) {
	from, before := len(p.tools), len(p.excluded)
	for i := range e.RuntimeTools {
		tool := &e.RuntimeTools[i]
		var d declaration
		err := json.Unmarshal(tool.Declaration, &d)
		name := runtimeToolNamePart + e.Slug + "." + tool.Name
		if err != nil || !slices.Contains(declarable, d.Kind) {
			d.Kind = ""
		}
		reason, detail := exclusion(e, tool, d.Kind, name, len(p.tools)-from)
		if reason != "" {
			p.excluded = append(p.excluded, pannier.ExcludedTool{
				Name: name, Description: describe(tool), Kind: d.Kind, Skill: e.Slug, Reason: reason, Detail: detail,
			})
			continue
		}
		p.tools = append(p.tools, materialise(e, tool, &d, name))
	}
	if len(e.FileTools) > 0 {
		p.files(e, from)
		slices.SortStableFunc(p.excluded[before:], func(a, b pannier.ExcludedTool) int { return strings.Compare(a.Name, b.Name) })
	}
}

// files keeps back the tools in files of a skill, because nothing runs them. Its tools from an index on are those that are not.
func (p *planner) files(e *pannier.Entry, from int) {
	taken := map[string]bool{}
	for i := range p.tools[from:] {
		taken[p.tools[from+i].Name] = true
	}
	for i := range e.FileTools {
		tool := &e.FileTools[i]
		kind := pannier.RuntimePython
		if tool.Kind == pannier.ToolScript {
			kind = pannier.RuntimeScript
		}
		slug := pannier.Slugify(tool.Name)
		name := runtimeToolNamePart + e.Slug + "." + slug
		reason, detail := exclusion(e, tool, kind, name, 0)
		switch {
		case slug == "":
			reason, detail = pannier.ToolInvalidSlug, "its name has no ASCII letter and no digit"
		case taken[name]:
			reason, detail = pannier.ToolDuplicateName, "another tool of the skill has this name"
		case reason == "":
			reason, detail = pannier.ToolsDisabled, fmt.Sprintf("tools of kind %s are listed and not run", kind)
		}
		taken[name] = true
		p.excluded = append(p.excluded, pannier.ExcludedTool{
			Name: name, Description: describe(tool), Kind: kind, Skill: e.Slug, Reason: reason, Detail: detail,
		})
	}
}

// exclusion tells why a tool is kept back; accepted is how many of the same skill before it are not. What is wrong with the
// declaration, the loader has found.
func exclusion(e *pannier.Entry, tool *pannier.Tool, kind pannier.RuntimeToolKind, name string, accepted int) (reason, detail string) {
	minimum := minimumTrust[kind]
	switch {
	case tool.Fault != "":
		return tool.Fault, tool.FaultDetail
	case kind == "":
		return pannier.ToolInvalidDeclaration, "what the skill says of it cannot be read; `pannier show` tells more"
	case !e.TrustLevel.AtLeast(minimum):
		return pannier.ToolTrustTooLow, fmt.Sprintf("a tool of kind %s takes trust of at least %s, and the skill has %s; raise `trust` of the root that it lies in", kind, minimum, cmp.Or(e.TrustLevel, pannier.TrustUntrusted))
	case accepted >= maxToolsPerSkill:
		return pannier.ToolTooMany, fmt.Sprintf("a skill has at most %d tools, and this one declares %d", maxToolsPerSkill, len(e.RuntimeTools))
	case len(name) > maxToolName:
		return pannier.ToolInvalidSlug, fmt.Sprintf("its name has %d bytes with that of the skill; it may have %d", len(name), maxToolName)
	}
	return "", ""
}

func materialise(e *pannier.Entry, tool *pannier.Tool, d *declaration, name string) pannier.RuntimeTool {
	t := pannier.RuntimeTool{
		Name: name, Description: describe(tool), Parameters: tool.Parameters, ExecutionClass: cmp.Or(d.ExecutionClass, sharedExecution),
		Kind: d.Kind, Skill: e.Slug,
	}
	if !isObject(t.Parameters) {
		t.Parameters = json.RawMessage(openParameters)
	}
	if isObject(d.Config) {
		t.Config = d.Config
	}
	t.OutputPolicy, t.Diagnostics = outputPolicy(d, e.TrustLevel)
	return t
}

func isObject(text json.RawMessage) bool { return len(text) > 0 && text[0] == '{' }

// describe returns what a model is told of a tool. The text comes from a skill, so it loses what steers a terminal or
// shows nothing, and is bounded.
func describe(tool *pannier.Tool) string {
	text := strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case pannier.IsHidden(r) || r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, tool.Description)
	text = pannier.Truncate(text, maxToolDescription)
	return cmp.Or(strings.TrimSpace(text), "Runtime tool '"+tool.Name+"'")
}
