package loader

import (
	"fmt"
	"slices"
	"strings"

	"pannier"
	"pannier/internal/yamldoc"
)

// dialects are the names below `metadata` that hold OpenClaw's fields, the current one first.
var dialects = []string{"openclaw", "clawdbot", "clawdis", "moltbot"}

// contract reads the fields of one frontmatter. What is of a wrong shape counts as absent, and is told of.
type contract struct {
	front  yamldoc.Value
	path   string // of the SKILL.md, for problems
	offset int    // lines of the file before the frontmatter
	// within is the text that a mapping stands in as JSON, while that is read.
	within   *yamldoc.Value
	problems []pannier.Problem
}

// fill sets the fields of a skill that its frontmatter and its _meta.json decide.
func (c *contract) fill(s *pannier.Skill, m meta) {
	s.Name = firstText(c.text("name"), m.displayName, s.Folder)
	s.Description = c.text("description")
	if s.Description == "" {
		c.tell("skill.description.missing", "description", c.front.Get("description"), "there is no description, so no agent can tell when to use the skill", "add `description:` with what the skill does and when to use it")
	}
	s.Version = firstText(m.version, c.text("version"))
	s.License, s.Homepage, s.Emoji = c.text("license"), c.text("homepage"), c.text("emoji")
	c.identity(s, m)
	s.Tags = c.list("tags", true)
	s.Examples = c.list("examples", false)
	s.AllowedTools = c.allowedTools()
	s.Runtimes = c.runtimes()
	s.UserInvocable = c.flag("user-invocable", true)
	s.DisableModelInvocation = c.flag("disable-model-invocation", false)
	c.metadata(s)
}

// identity decides slug and owner: _meta.json, then frontmatter, then folder.
func (c *contract) identity(s *pannier.Skill, m meta) {
	s.Slug = firstText(pannier.Slugify(m.slug), pannier.Slugify(c.text("slug")), pannier.Slugify(s.Folder))
	s.Owner = firstText(pannier.Slugify(m.owner), pannier.Slugify(c.text("owner")))
	if s.Slug != "" {
		return
	}
	s.Slug = pannier.FallbackSlug(s.PathBelowRoot)
	hint := "add `slug:` with lower-case letters, digits and hyphens"
	if s.ToolsOnly {
		hint = `add a _meta.json with a "slug" of lower-case letters, digits and hyphens`
	}
	c.problems = append(c.problems, pannier.Problem{
		Code: "skill.slug.empty", Severity: pannier.SeverityWarning, Path: c.path, Field: "slug",
		Message: fmt.Sprintf("neither names of the skill nor its folder hold an ASCII letter or digit, so its slug is %s", s.Slug),
		Hint:    hint,
	})
}

// runtimes reads which adapters the skill fits; nil means all. A value of a wrong shape never drops a skill.
func (c *contract) runtimes() []string {
	v := c.front.Get("runtime")
	if adapters := v.Get("adapters"); adapters.Kind() != yamldoc.Missing {
		v = adapters
	} else if v.Get("tools").Kind() != yamldoc.Missing { // declares tools; the adapters then stand elsewhere
		v = c.front.Get("runtimes")
	}
	switch v.Kind() {
	case yamldoc.Missing, yamldoc.Null:
		return nil
	case yamldoc.Text, yamldoc.Map:
		if !isName(v) {
			c.wrongRuntime(v)
			return nil
		}
	}
	for item := range v.Items() {
		if !isName(item) {
			c.wrongRuntime(item)
			return nil
		}
	}
	names := c.listOf(v, "runtime", false)
	if slices.Contains(names, "*") {
		return nil
	}
	return names
}

// isName reports whether a value can be the name of an adapter: `runtime: 123` can not.
func isName(v yamldoc.Value) bool {
	text, ok := v.Text()
	return ok && strings.TrimSpace(text) != "" && v.JSON()[0] == '"'
}

func (c *contract) wrongRuntime(v yamldoc.Value) {
	c.tell("skill.runtime.value", "runtime", v, "this is not the name of an adapter, so the skill counts as fit for all", "write a name such as claude-code, or a list of names, or remove the field")
}

// allowedTools splits its text at blanks and commas outside of parentheses, so that `Bash(git add:*)` is one tool.
func (c *contract) allowedTools() []string {
	v := c.front.Get("allowed-tools")
	if text, ok := v.Text(); ok {
		return splitTools(text)
	}
	return c.listOf(v, "allowed-tools", false)
}

func splitTools(text string) []string {
	var tools []string
	depth, from := 0, 0
	cut := func(to int) {
		if to > from {
			tools = append(tools, text[from:to])
		}
		from = to + 1
	}
	for i := range len(text) {
		switch text[i] {
		case '(':
			depth++
		case ')':
			depth = max(0, depth-1)
		case ',', ' ', '\t', '\n':
			if depth == 0 {
				cut(i)
			}
		}
	}
	cut(len(text))
	return tools
}

// metadata reads the fields of OpenClaw's dialects. A requirement that any of them states holds.
func (c *contract) metadata(s *pannier.Skill) {
	c.mapping(c.front.Get("metadata"), "metadata", func(all yamldoc.Value) {
		for _, name := range dialects {
			if v := all.Get(name); v.Kind() != yamldoc.Missing {
				field := "metadata." + name
				c.mapping(v, field, func(v yamldoc.Value) { c.dialect(s, v, field) })
			}
		}
	})
	r := &s.Requirements
	for _, list := range []*[]string{&r.Bins, &r.AnyBins, &r.Env, &r.OS} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
}

// mapping calls read with a mapping, which may also be written as JSON in a text; what stands in a text is told of with
// the place of that text.
func (c *contract) mapping(v yamldoc.Value, field string, read func(yamldoc.Value)) {
	text, isText := v.Text()
	switch {
	case v.Kind() == yamldoc.Map:
		read(v)
	case isText:
		parsed, _, err := yamldoc.Parse([]byte(text)) // JSON is YAML
		if err != nil {
			c.tell("skill.metadata.type", field, v, "this text can not be read as a mapping: "+syntaxOf(err).Message, "write "+field+" as a mapping")
			return
		}
		outer := c.within
		c.within = &v
		read(parsed)
		c.within = outer
	case v.Kind() == yamldoc.List:
		c.tell("skill.metadata.type", field, v, "this is a list where a mapping belongs, and counts as absent", "write "+field+" as a mapping")
	}
}

func (c *contract) dialect(s *pannier.Skill, v yamldoc.Value, field string) {
	s.Emoji = firstText(s.Emoji, c.textOf(v.Get("emoji"), field+".emoji"))
	s.Homepage = firstText(s.Homepage, c.textOf(v.Get("homepage"), field+".homepage"))
	s.License = firstText(s.License, c.textOf(v.Get("license"), field+".license"))
	r := &s.Requirements
	for _, name := range c.listOf(v.Get("os"), field+".os", true) {
		r.OS = append(r.OS, pannier.NormalizeOS(strings.ToLower(name)))
	}
	r.Always = c.flagOf(v.Get("always"), field+".always", false) || r.Always
	requires := v.Get("requires")
	switch requires.Kind() {
	case yamldoc.Text, yamldoc.List:
		c.tell("skill.type", field+".requires", requires, "this is "+requires.Kind().String()+" where a mapping belongs, and counts as absent", "write bins, anyBins and env below it")
	}
	r.Bins = append(r.Bins, c.listOf(requires.Get("bins"), field+".requires.bins", true)...)
	r.AnyBins = append(r.AnyBins, c.listOf(requires.Get("anyBins"), field+".requires.anyBins", true)...)
	r.Env = append(r.Env, c.listOf(requires.Get("env"), field+".requires.env", true)...)
}

// text returns a field that must be a text, trimmed; absent and null are empty.
func (c *contract) text(field string) string { return c.textOf(c.front.Get(field), field) }

func (c *contract) textOf(v yamldoc.Value, field string) string {
	text, ok := v.Text()
	if !ok && v.Kind() != yamldoc.Missing && v.Kind() != yamldoc.Null {
		c.tell("skill.type", field, v, "this is "+v.Kind().String()+" where a text belongs, and counts as absent", "write one text, in double quotes where it holds a colon or a bracket")
	}
	return strings.TrimSpace(text)
}

// list returns a field that may be a text or a list of texts. commas says that a text is a list with commas.
func (c *contract) list(field string, commas bool) []string {
	return c.listOf(c.front.Get(field), field, commas)
}

func (c *contract) listOf(v yamldoc.Value, field string, commas bool) []string {
	var items []string
	add := func(text string) {
		if text = strings.TrimSpace(text); text != "" {
			items = append(items, text)
		}
	}
	switch v.Kind() {
	case yamldoc.Text:
		text, _ := v.Text()
		if !commas {
			add(text)
			break
		}
		for part := range strings.SplitSeq(text, ",") {
			add(part)
		}
	case yamldoc.List:
		for item := range v.Items() {
			add(c.textOf(item, field))
		}
	case yamldoc.Map:
		c.tell("skill.type", field, v, "this is a mapping where a text or a list of texts belongs, and counts as absent", "write the items as a list")
	}
	return items
}

// flag returns a field that must be true or false.
func (c *contract) flag(field string, fallback bool) bool {
	return c.flagOf(c.front.Get(field), field, fallback)
}

func (c *contract) flagOf(v yamldoc.Value, field string, fallback bool) bool {
	value, ok := v.Bool()
	if !ok {
		if v.Kind() != yamldoc.Missing && v.Kind() != yamldoc.Null {
			c.tell("skill.type", field, v, fmt.Sprintf("this is neither true nor false, and counts as %t", fallback), "write true or false, without quotes")
		}
		return fallback
	}
	return value
}

// tell adds a warning about a field.
func (c *contract) tell(code, field string, v yamldoc.Value, message, hint string) {
	p := pannier.Problem{Code: code, Severity: pannier.SeverityWarning, Path: c.path, Field: field, Message: message, Hint: hint}
	if c.within != nil && v.Kind() != yamldoc.Missing {
		v = *c.within
	}
	if v.Line() > 0 {
		p.Line, p.Column = v.Line()+c.offset, v.Column()
	}
	c.problems = append(c.problems, p)
}

func firstText(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
