package resolve

import (
	"encoding/json"
	"slices"
	"strings"

	"pannier"
)

// OverrideRules are the part of policy that is about overrides. The zero value ignores them.
type OverrideRules struct {
	Mode  string   // one of the Overrides constants of package pannier
	Parts []string // those that skills may override
	Trust pannier.Trust
}

// overrides judges what the chosen skills of a turn propose, in the order of the active ones: the first that sets a key
// wins. What is only implicit proposes nothing, nor does a skill whose text is no longer that on disk. nil says that
// nothing is proposed.
func (r *resolver) overrides(rules Rules, allowed pannier.AllowedTools) *pannier.TurnOverrides {
	if rules.Overrides.Mode == "" || rules.Overrides.Mode == pannier.OverridesIgnore {
		return nil
	}
	o := overriding{resolver: r, rules: rules, allowed: grants(allowed.Effective, pannier.MaxTurnTools)}
	o.open = r.turn.Tools == nil && len(allowed.NarrowedBy) == 0
	o.out = &pannier.TurnOverrides{
		Mode: rules.Overrides.Mode, Proposed: []pannier.ProposedOverride{}, Refused: []pannier.RefusedOverride{},
	}
	for _, a := range r.out.Active {
		e, ok := r.snapshot.Lookup(a.Slug)
		chosen := a.Reason == pannier.ViaCapability || a.Reason == pannier.ViaReference || a.Reason == pannier.ViaPath
		if !ok || e.LastGood || len(e.Overrides) == 0 || !chosen {
			continue
		}
		for _, p := range e.Overrides {
			o.out.Proposed = append(o.out.Proposed, pannier.ProposedOverride{Slug: e.Slug, Override: p})
			if reason := o.take(e, p); reason != "" {
				no := pannier.RefusedOverride{Slug: e.Slug, Part: p.Part, Key: p.Key, Reason: reason}
				o.out.Refused = append(o.out.Refused, no)
			}
		}
	}
	if len(o.out.Proposed) == 0 {
		return nil
	}
	if c := &o.out.Effective.Context; len(c.Include)+len(c.Exclude) > 0 {
		c.Paths = slices.DeleteFunc(slices.Clone(r.files.paths), func(p string) bool {
			file := files{[]string{p}}
			misses := func(globs []string) bool { return !file.match(globs) }
			return file.match(c.Exclude) || slices.ContainsFunc(c.Include, misses)
		})
		if c.Paths == nil {
			c.Paths = []string{}
		}
	}
	return o.out
}

type overriding struct {
	*resolver
	rules   Rules
	allowed []grant
	open    bool            // the caller named no tools, and no skill narrowed them
	names   map[string]bool // of the runtime tools of the turn, once they are asked for
	out     *pannier.TurnOverrides
}

// take makes a proposal effective, or returns why it is refused.
func (o *overriding) take(e *pannier.Entry, p pannier.Override) (refused string) {
	rules, out := o.rules.Overrides, &o.out.Effective
	name, rest, _ := strings.Cut(p.Key, ".")
	switch {
	case !slices.Contains(rules.Parts, p.Part):
		return pannier.OverrideRefusedPart
	case !e.TrustLevel.AtLeast(rules.Trust):
		return pannier.OverrideRefusedTrust
	case e.Policy.OverridesOff:
		return pannier.OverrideRefusedPolicy
	}
	switch p.Part + "." + name {
	case "tools.aliases":
		target := textOf[string](p.Value)
		switch _, taken := out.Tools.Aliases[rest]; {
		case taken:
			return pannier.OverrideRefusedConflict
		case o.isTool(rest):
			return pannier.OverrideRefusedAlias
		case !o.isAllowed(target):
			return pannier.OverrideRefusedTool
		}
		put(&out.Tools.Aliases, rest, target)
	case "tools.defaults":
		at := strings.LastIndexByte(rest, '.')
		tool, argument := rest[:at], rest[at+1:]
		if _, taken := out.Tools.Defaults[tool][argument]; taken {
			return pannier.OverrideRefusedConflict
		} else if !o.isAllowed(tool) {
			return pannier.OverrideRefusedTool
		}
		arguments := out.Tools.Defaults[tool]
		put(&arguments, argument, p.Value)
		put(&out.Tools.Defaults, tool, arguments)
	case "model.prefer":
		if out.Model.Prefer != nil {
			return pannier.OverrideRefusedConflict
		}
		out.Model.Prefer = textOf[[]string](p.Value)
	case "model.provider", "model.effort":
		to := &out.Model.Provider
		if name == "effort" {
			to = &out.Model.Effort
		}
		if *to != "" {
			return pannier.OverrideRefusedConflict
		}
		*to = textOf[string](p.Value)
	case "context.include", "context.exclude": // these only narrow, so those of all skills count together
		globs := textOf[[]string](p.Value)
		for i, text := range globs {
			g := newGlob(text)
			if !g.valid() || strings.HasPrefix(g.text, "/") || slices.Contains(strings.Split(g.text, "/"), "..") {
				return pannier.OverrideRefusedGlob
			}
			globs[i] = g.text
		}
		if name == "include" {
			out.Context.Include = append(out.Context.Include, globs)
		} else {
			out.Context.Exclude = append(out.Context.Exclude, globs...)
		}
	case "context.max_chars":
		if n, least := textOf[int](p.Value), out.Context.MaxChars; least == 0 || n < least {
			out.Context.MaxChars = n
		}
	}
	return ""
}

// isTool reports whether the turn has a tool of a name, of the caller or of a skill.
func (o *overriding) isTool(name string) bool {
	own := grants(o.turn.Tools, pannier.MaxTurnTools)
	return o.runtimeTool(name) || slices.ContainsFunc(own, func(g grant) bool { return coversText(g.name, name) })
}

// isAllowed reports whether the turn has a tool of a name that its skills allow.
func (o *overriding) isAllowed(name string) bool {
	if o.runtimeTool(name) {
		return true
	}
	return !o.open && slices.ContainsFunc(o.allowed, func(g grant) bool { return coversText(g.name, name) })
}

// runtimeTool reports whether a skill that the turn can have active has a runtime tool of a name.
func (o *overriding) runtimeTool(name string) bool {
	if o.names == nil {
		tooled := slices.Clone(o.tooled)
		for _, e := range o.snapshot.Entries {
			has := len(e.RuntimeTools)+len(e.FileTools) > 0
			if has && e.Automatic() && fits(e, o.turn.Runtime) && !slices.Contains(tooled, e) {
				tooled = append(tooled, e)
			}
		}
		o.names = map[string]bool{}
		tools, _ := o.rules.Tooling.plan(tooled)
		for _, t := range tools {
			o.names[t.Name], o.names[t.ModelName] = true, true
		}
	}
	return o.names[name]
}

// textOf reads the value of a proposal, which the loader has checked.
func textOf[T any](text json.RawMessage) (value T) {
	_ = json.Unmarshal(text, &value)
	return value
}

func put[T any](to *map[string]T, key string, value T) {
	if *to == nil {
		*to = map[string]T{}
	}
	(*to)[key] = value
}

// Overridden returns a call of a tool as the overrides of some skills have it, as if a turn had chosen them: the tool
// that its name is an alias of, and its arguments with the defaults of those that it leaves out.
func (rules Rules) Overridden(
	s *pannier.Snapshot, skills []string, name string, arguments json.RawMessage,
) (string, json.RawMessage) {
	if rules.Overrides.Mode != pannier.OverridesApply || len(skills) == 0 {
		return name, arguments
	}
	var t pannier.Turn
	for _, slug := range skills {
		t.Capabilities = append(t.Capabilities, pannier.Capability{Slug: slug})
	}
	t.Stable, t.NamedOnly = true, true
	found := rules.Resolve(s, t).Overrides
	if found == nil {
		return name, arguments
	}
	if target, ok := found.Effective.Tools.Aliases[name]; ok {
		name = target
	}
	given := map[string]json.RawMessage{}
	if len(arguments) > 0 && json.Unmarshal(arguments, &given) != nil {
		return name, arguments // the schema says what is wrong with them
	}
	missing := false
	for _, tool := range []string{name, pannier.ModelName(name)} {
		for argument, value := range found.Effective.Tools.Defaults[tool] {
			if _, ok := given[argument]; !ok {
				put(&given, argument, value)
				missing = true
			}
		}
	}
	if !missing {
		return name, arguments
	}
	text, err := json.Marshal(given)
	if err != nil {
		return name, arguments
	}
	return name, text
}
