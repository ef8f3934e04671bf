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

// ToolRules are the part of policy that is about runtime tools. The zero value has the defaults.
type ToolRules struct {
	// Enabled says that pannier carries tools out. Then those in files are offered too; else they are kept back.
	Enabled bool
	// Kinds are the accepted kinds besides scripts; nil is all.
	Kinds []pannier.RuntimeToolKind
	// Scripts offers scripts. Otherwise they are left out: many skills would have thousands of them.
	Scripts bool
	// Trust returns what the origin of a skill must have for its tools of a kind; nil is [ToolTrust].
	Trust func(pannier.RuntimeToolKind) pannier.Trust
	// MaxPerSkill bounds the accepted tools of one skill; 0 is 64.
	MaxPerSkill int
}

// ToolTrust returns the trust that the origin of a skill must have for its tools of a kind by default. A program runs with all
// that its sandbox leaves, so it takes more than a request or a tool that is there already. It is empty for an unknown kind.
func ToolTrust(kind pannier.RuntimeToolKind) pannier.Trust {
	switch kind {
	case pannier.RuntimeShell, pannier.RuntimePython, pannier.RuntimeScript:
		return pannier.TrustVerified
	case pannier.RuntimeHTTP, pannier.RuntimeProxy:
		return pannier.TrustCommunity
	}
	return ""
}

func (r ToolRules) trust(kind pannier.RuntimeToolKind) pannier.Trust {
	if r.Trust == nil {
		return ToolTrust(kind)
	}
	return r.Trust(kind)
}

// byPermission reports whether a skill is trusted too little for its tools of a kind, so that they take the permission of its files.
func (r ToolRules) byPermission(e *pannier.Entry, kind pannier.RuntimeToolKind) bool {
	return !e.TrustLevel.AtLeast(r.trust(kind))
}

// off tells why tools of a kind are not accepted, whatever their skill is.
func (r ToolRules) off(kind pannier.RuntimeToolKind) string {
	switch {
	case kind != pannier.RuntimeScript && kind != "" && r.Kinds != nil && !slices.Contains(r.Kinds, kind):
		return fmt.Sprintf("the settings accept no tools of kind %s (tools.kinds)", kind)
	}
	return ""
}

// Tools returns the runtime tools of the usable skills of a snapshot that pannier carries out, and those that it does not, by
// slug, then by name.
func (rules Rules) Tools(s *pannier.Snapshot) ([]pannier.RuntimeTool, []pannier.ExcludedTool) {
	var tooled []*pannier.Entry
	for _, e := range s.Entries {
		if e.Usable && len(e.RuntimeTools)+len(e.FileTools) > 0 {
			tooled = append(tooled, e)
		}
	}
	tools, excluded := rules.Tooling.plan(tooled)
	if rules.Tooling.Enabled {
		return tools, excluded
	}
	for _, t := range tools {
		excluded = append(excluded, pannier.ExcludedTool{
			Name: t.Name, ModelName: t.ModelName, Description: t.Description, Kind: t.Kind, Skill: t.Skill, Reason: pannier.ToolsDisabled,
			Detail: "the settings let no tool be called (tools.enabled: false)", Hint: enableHint,
		})
	}
	slices.SortStableFunc(excluded, func(a, b pannier.ExcludedTool) int {
		return cmp.Or(strings.Compare(a.Skill, b.Skill), strings.Compare(a.Name, b.Name))
	})
	return []pannier.RuntimeTool{}, excluded
}

// plan returns the runtime tools that some active skills declare and those of them that are kept back, by slug, then by
// name. Nothing of it depends on the turn, or on any other skill.
func (r ToolRules) plan(skills []*pannier.Entry) ([]pannier.RuntimeTool, []pannier.ExcludedTool) {
	slices.SortFunc(skills, func(a, b *pannier.Entry) int { return strings.Compare(a.Slug, b.Slug) })
	r.MaxPerSkill = cmp.Or(r.MaxPerSkill, maxToolsPerSkill)
	p := planner{rules: r, tools: []pannier.RuntimeTool{}, excluded: []pannier.ExcludedTool{}}
	for _, e := range skills {
		p.skill(e)
	}
	return p.tools, p.excluded
}

type planner struct {
	rules    ToolRules
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
		if err != nil || !slices.Contains(pannier.DeclaredToolKinds(), d.Kind) {
			d.Kind = ""
		}
		reason, detail := p.rules.exclusion(e, tool, d.Kind, name, len(p.tools)-from)
		if reason == "" && p.hasModelName(from, name) {
			reason, detail = pannier.ToolDuplicateName, "another tool of the skill has its model_name"
		}
		if reason != "" {
			p.exclude(e, tool, d.Kind, name, reason, detail)
			continue
		}
		p.accept(e, tool, &d, name)
	}
	if len(e.FileTools) > 0 {
		p.files(e, from)
		slices.SortStableFunc(p.tools[from:], func(a, b pannier.RuntimeTool) int { return strings.Compare(a.Name, b.Name) })
		slices.SortStableFunc(p.excluded[before:], func(a, b pannier.ExcludedTool) int { return strings.Compare(a.Name, b.Name) })
	}
}

// hasModelName reports whether an accepted tool from an index on has the model name of a name. Only tools of one skill can: its slug
// is part of the name.
func (p *planner) hasModelName(from int, name string) bool {
	model := pannier.ModelName(name)
	return slices.ContainsFunc(p.tools[from:], func(t pannier.RuntimeTool) bool { return t.ModelName == model })
}

// fileTool is what a tool in a file is run by.
type fileTool struct {
	File     string `json:"file"`
	Function string `json:"function,omitempty"`
	// Options say how the arguments of a script become its command line.
	Options json.RawMessage `json:"options,omitempty"`
	// Fault is why it cannot be called.
	Fault string `json:"fault,omitempty"`
}

// files plans the tools in files of a skill. Its tools from an index on are accepted already.
func (p *planner) files(e *pannier.Entry, from int) {
	taken := map[string]bool{}
	for i := range p.tools[from:] {
		taken[p.tools[from+i].Name] = true
	}
	for i := range e.FileTools {
		tool := &e.FileTools[i]
		d := declaration{Kind: pannier.RuntimePython}
		run := fileTool{File: tool.Path, Function: cmp.Or(tool.Function, tool.Name)}
		_ = json.Unmarshal(tool.Declaration, &run) // the loader wrote it; without one, there is nothing to add
		if tool.Kind == pannier.RuntimeScript {
			if !p.rules.Scripts {
				continue
			}
			d.Kind, run.Function = pannier.RuntimeScript, ""
		}
		slug := pannier.Slugify(tool.Name)
		name := runtimeToolNamePart + e.Slug + "." + slug
		reason, detail := p.rules.exclusion(e, tool, d.Kind, name, len(p.tools)-from)
		switch {
		case reason == pannier.ToolDisabledByConfig:
		case run.Fault != "":
			reason, detail = pannier.ToolInvalidDeclaration, run.Fault
		case slug == "":
			reason, detail = pannier.ToolInvalidSlug, "its name has no ASCII letter and no digit"
		case taken[name], reason == "" && p.hasModelName(from, name):
			reason, detail = pannier.ToolDuplicateName, "another tool of the skill has this name"
		case reason == "" && !p.rules.Enabled:
			reason, detail = pannier.ToolsDisabled, fmt.Sprintf("tools of kind %s are listed and not run (tools.enabled: false)", d.Kind)
		}
		taken[name] = true
		if reason != "" {
			p.exclude(e, tool, d.Kind, name, reason, detail)
			continue
		}
		d.Config, _ = json.Marshal(run) // texts are always JSON
		p.accept(e, tool, &d, name)
	}
}

// exclusion tells why a tool is kept back; accepted is how many of the same skill before it are not. What is wrong with the
// declaration, the loader has found.
func (r ToolRules) exclusion(e *pannier.Entry, tool *pannier.Tool, kind pannier.RuntimeToolKind, name string, accepted int) (reason, detail string) {
	switch off := r.off(kind); {
	case e.Policy.ToolsOff:
		return pannier.ToolDisabledByConfig, "the policy of the skill does not let its tools be offered"
	case off != "" && r.Enabled:
		return pannier.ToolDisabledByConfig, off
	case tool.Fault != "":
		return tool.Fault, tool.FaultDetail
	case kind == "":
		return pannier.ToolInvalidDeclaration, "what the skill says of it cannot be read"
	case r.byPermission(e, kind) && (!r.Enabled || e.Policy.ToolsAllowed.IsZero()):
		// Where pannier carries no tools out, nothing holds an agent to the files that a permission covers.
		return pannier.ToolTrustTooLow, fmt.Sprintf("a tool of kind %s takes trust of at least %s, and the skill has %s", kind, r.trust(kind), cmp.Or(e.TrustLevel, pannier.TrustUntrusted))
	case accepted >= r.MaxPerSkill:
		return pannier.ToolTooMany, fmt.Sprintf("a skill has at most %d tools, and this one has %d", r.MaxPerSkill, len(e.RuntimeTools)+len(e.FileTools))
	case len(name) > maxToolName:
		return pannier.ToolInvalidSlug, fmt.Sprintf("its name has %d bytes with that of the skill; it may have %d", len(name), maxToolName)
	}
	return "", ""
}

// enableHint is what to do where tools are not enabled.
const enableHint = `ask the operator to set tools.enabled: true, or to start "pannier run --tools"`

// exclude keeps a tool back, and says what to do about it.
func (p *planner) exclude(e *pannier.Entry, tool *pannier.Tool, kind pannier.RuntimeToolKind, name, reason, detail string) {
	hint := `run "pannier show ` + e.Slug + `" to see what the skill declares`
	switch {
	case reason == pannier.ToolsDisabled:
		hint = enableHint
	case reason == pannier.ToolDisabledByConfig && e.Policy.ToolsOff:
		hint = `run "pannier policy set ` + e.Slug + ` --tools true"`
	case reason == pannier.ToolDisabledByConfig:
		hint = "ask the operator to add " + string(kind) + " to tools.kinds"
	case reason == pannier.ToolTrustTooLow && p.rules.Enabled:
		hint = `read the files of the skill, then run "pannier tool allow ` + e.Slug + `"`
	case reason == pannier.ToolTrustTooLow:
		hint = "ask the operator to raise `trust` of the root that the skill lies in"
	}
	p.excluded = append(p.excluded, pannier.ExcludedTool{
		Name: name, ModelName: pannier.ModelName(name), Description: describe(tool), Kind: kind, Skill: e.Slug, Reason: reason, Detail: detail, Hint: hint,
	})
}

func (p *planner) accept(e *pannier.Entry, tool *pannier.Tool, d *declaration, name string) {
	t := pannier.RuntimeTool{
		Name: name, ModelName: pannier.ModelName(name), Description: describe(tool), Parameters: tool.Parameters, ExecutionClass: cmp.Or(d.ExecutionClass, sharedExecution),
		Kind: d.Kind, Skill: e.Slug, ByPermission: p.rules.byPermission(e, d.Kind),
	}
	if d.Kind == pannier.RuntimeScript && !isObject(t.Parameters) {
		t.Parameters = json.RawMessage(pannier.ScriptParameters)
	} else if !isObject(t.Parameters) {
		t.Parameters = json.RawMessage(openParameters)
	}
	if isObject(d.Config) {
		t.Config = d.Config
	}
	t.OutputPolicy, t.Diagnostics = outputPolicy(d, e.TrustLevel)
	p.tools = append(p.tools, t)
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
