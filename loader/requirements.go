package loader

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"pannier"
	"pannier/internal/yamldoc"
	"pannier/loader/fields"
)

// dialects are the names below `metadata` that hold OpenClaw's fields, the current one first.
var dialects = []string{"openclaw", "clawdbot", "clawdis", "moltbot"}

// requirements reads what the skill needs, in the words of each dialect. A requirement that any of them states holds.
func (c *contract) requirements(s *pannier.Skill) {
	r := &s.Requirements
	c.mapping(c.front.Get("dependencies"), "dependencies", func(v yamldoc.Value) {
		c.needs(&r.Env, v, "dependencies", "env")
		c.needs(&r.APIKeys, v, "dependencies", "api_keys")
		c.binaries(&r.Bins, v, "dependencies", "bins")
		c.binaries(&r.Bins, v, "dependencies", "commands")
		c.needs(&r.MCP, v, "dependencies", "mcp")
		c.needs(&r.Config, v, "dependencies", "config")
	})
	c.dialects(func(v yamldoc.Value, field string) { c.dialect(s, v, field) })
	c.mapping(c.front.Get("eligibility"), "eligibility", func(v yamldoc.Value) { c.eligibility(s, v) })
	if s.DisabledBy == "" && strings.EqualFold(c.text("scope"), "disabled") {
		s.DisabledBy = "scope"
	}
	for _, list := range []*[]string{&r.Bins, &r.AnyBins, &r.Env, &r.APIKeys, &r.Config, &r.MCP, &r.OS} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
}

// needs adds the names in a list below a mapping.
func (c *contract) needs(list *[]string, v yamldoc.Value, field, key string) {
	if v := v.Get(key); v.Kind() != yamldoc.Missing {
		*list = append(*list, c.namesOf(v, field+"."+key)...)
	}
}

// namesOf returns the names of what is needed. They are a text or a list of texts; people also write mappings, of which the name
// is read unless they say that it is optional.
func (c *contract) namesOf(v yamldoc.Value, field string) []string {
	if v.Kind() == yamldoc.Map {
		return c.describedNames(v, field)
	}
	if v.Kind() != yamldoc.List {
		return c.listOf(v, field, fields.Commas)
	}
	var names []string
	for item := range v.Items() {
		if item.Kind() == yamldoc.Map {
			names = append(names, c.describedNames(item, field)...)
		} else if name := strings.TrimSpace(c.textOf(item, field)); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// describedNames returns the names in a mapping: `name: X` with more beside it, or one key for each name.
func (c *contract) describedNames(v yamldoc.Value, field string) []string {
	var names []string
	add := func(name string, says yamldoc.Value) {
		if name = strings.TrimSpace(name); name != "" && !isOptional(says) {
			names = append(names, name)
		}
	}
	if name, ok := v.Get("name").Text(); ok {
		add(name, v)
	} else {
		for pair := range v.Pairs() {
			if !slices.Contains(describing, pair.Key) {
				add(pair.Key, pair.Value)
			}
		}
	}
	c.warn("skill.type", field, v, "this is a mapping where names belong; "+namesRead(names), "write the names alone, as a list; leave out what is optional")
	return names
}

// describing are keys beside a name that are none themselves.
var describing = []string{"name", "required", "optional", "description", "default", "example", "type", "hint", "url", "version", "secret", "sensitive"}

func namesRead(names []string) string {
	if len(names) == 0 {
		return "nothing in it is required"
	}
	return "it is read as " + strings.Join(names, ", ")
}

// isOptional reports whether what stands beside a name, or is its value, says that it is not required.
func isOptional(v yamldoc.Value) bool {
	if required, ok := v.Bool(); ok {
		return !required
	}
	if text, ok := v.Text(); ok {
		return strings.EqualFold(strings.TrimSpace(text), "optional")
	}
	required, said := v.Get("required").Bool()
	optional, _ := v.Get("optional").Bool()
	return said && !required || optional
}

// binaries adds the items of a list of executables, which are searched by their names.
func (c *contract) binaries(list *[]string, v yamldoc.Value, field, key string) {
	before := len(*list)
	c.needs(list, v, field, key)
	added := (*list)[before:]
	if i := slices.IndexFunc(added, func(name string) bool { return strings.Contains(name, "/") }); i >= 0 {
		c.warn("skill.bins.path", field+"."+key, v.Get(key), strconv.Quote(added[i])+" is a path, and names of executables belong here", "write the name alone, such as "+strconv.Quote(path.Base(added[i])))
	}
}

// dialects calls read with each of OpenClaw's mappings below `metadata`.
func (c *contract) dialects(read func(v yamldoc.Value, field string)) {
	c.mapping(c.front.Get("metadata"), "metadata", func(all yamldoc.Value) {
		for _, name := range dialects {
			if v := all.Get(name); v.Kind() != yamldoc.Missing {
				field := "metadata." + name
				c.mapping(v, field, func(v yamldoc.Value) { read(v, field) })
			}
		}
	})
}

func (c *contract) dialect(s *pannier.Skill, v yamldoc.Value, field string) {
	for i := range fields.Table {
		f := &fields.Table[i]
		if v := v.Get(f.OpenClaw); f.OpenClaw != "" && v.Kind() != yamldoc.Missing {
			text := f.Text(s)
			*text = firstText(*text, c.textOf(v, field+"."+f.OpenClaw))
		}
	}
	r := &s.Requirements
	c.systems(r, v, field)
	requires := v.Get("requires")
	switch requires.Kind() {
	case yamldoc.Text, yamldoc.List:
		c.bareRequires(r, requires, field+".requires")
		return
	case yamldoc.Missing, yamldoc.Null:
		return
	}
	field += ".requires"
	c.binaries(&r.Bins, requires, field, "bins")
	c.binaries(&r.Bins, requires, field, "commands")
	c.binaries(&r.AnyBins, requires, field, "anyBins")
	c.needs(&r.Env, requires, field, "env")
	c.needs(&r.Config, requires, field, "config")
}

// bareRequires reads `requires` where it is a list of names: those in capitals are variables, all others executables.
func (c *contract) bareRequires(r *pannier.Requirements, v yamldoc.Value, field string) {
	names := c.namesOf(v, field)
	for _, name := range names {
		if strings.Contains(name, "_") && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == "" {
			r.Env = append(r.Env, name)
		} else {
			r.Bins = append(r.Bins, name)
		}
	}
	c.warn("skill.type", field, v, "this is "+v.Kind().String()+" where a mapping belongs; names in capitals are read as variables, all others as executables", "write bins, anyBins, env and config below it")
}

// systems reads what OpenClaw and Aleph call alike.
func (c *contract) systems(r *pannier.Requirements, v yamldoc.Value, field string) {
	var names []string
	c.needs(&names, v, field, "os")
	for _, name := range names {
		r.OS = append(r.OS, pannier.NormalizeOS(strings.ToLower(name)))
	}
	if v := v.Get("always"); v.Kind() != yamldoc.Missing {
		r.Always = c.flagOf(v, field+".always", false) || r.Always
	}
}

// eligibility reads Aleph's words for the same.
func (c *contract) eligibility(s *pannier.Skill, v yamldoc.Value) {
	const field = "eligibility"
	r := &s.Requirements
	c.systems(r, v, field)
	c.binaries(&r.Bins, v, field, "required-bins")
	c.binaries(&r.AnyBins, v, field, "any-bins")
	c.needs(&r.Env, v, field, "required-env")
	c.needs(&r.Config, v, field, "required-config")
	if !c.flagOf(v.Get("enabled"), field+".enabled", true) {
		s.DisabledBy = field + ".enabled"
	}
}

// conflicts returns the skills that must not be usable together with this one, each as "slug" or "owner/slug", however they
// are written.
func (c *contract) conflicts() []string {
	var skills []string
	for _, name := range c.list("conflicts", fields.Commas) {
		owner, slug := pannier.SplitQualified(name)
		if slug == "" {
			c.warn("skill.conflicts.value", "conflicts", c.front.Get("conflicts"), ""+strconv.Quote(name)+" does not contain a slug, so it conflicts with nothing", "write the slug of a skill, such as pdf-tools or acme/pdf-tools")
			continue
		}
		if owner != "" {
			slug = owner + "/" + slug
		}
		skills = append(skills, slug)
	}
	slices.Sort(skills)
	return slices.Compact(skills)
}
