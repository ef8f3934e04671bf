package loader

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"pannier"
	"pannier/internal/yamldoc"
	"pannier/loader/fields"
	"pannier/loader/profile"
)

// contract reads the fields of one frontmatter. A value of a wrong type counts as absent, and is reported.
type contract struct {
	front  yamldoc.Value
	source []byte // that front was read from, with LF line ends
	path   string // of the SKILL.md, for problems
	offset int    // lines of the file before the frontmatter
	// within is the text that a mapping stands in as JSON, while that is read.
	within   *yamldoc.Value
	problems []pannier.Problem
}

// fill sets the fields of a skill that its frontmatter and its _meta.json decide.
func (c *contract) fill(s *pannier.Skill, m meta) {
	for i := range fields.Table {
		if f := &fields.Table[i]; f.Name != "" && !f.Custom {
			switch {
			case f.Text != nil:
				*f.Text(s) = c.text(f.Name)
			case f.List != nil:
				*f.List(s) = c.list(f.Name, f.Split)
			case f.Flag != nil:
				*f.Flag(s) = c.flagOf(c.front.Get(f.Name), f.Name, f.Default)
			}
		}
	}
	s.Name = firstText(c.text("name"), m.displayName, s.Folder)
	s.Description = c.description()
	s.Version = c.version(s, m)
	c.identity(s, m)
	triggers := c.list("triggers", fields.Split{})
	if when := c.text("when-to-use"); when != "" && !slices.Contains(triggers, when) {
		triggers = append(triggers, when)
	}
	s.Triggers = triggers
	s.Runtimes = c.runtimes()
	s.Conflicts = c.conflicts()
	s.Commands = c.commands()
	s.Overrides = c.overrides()
	c.requirements(s)
	if slices.Contains(s.AllowedTools, "*") {
		s.AllowedTools = nil
		c.warn("skill.tools.all", "allowed-tools", c.front.Get("allowed-tools"), "allowed-tools has *, which restricts nothing, and counts as absent", "leave the field out, or name the tools")
	}
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
	c.warn("skill.slug.empty", "slug", c.front.Get("slug"), fmt.Sprintf("neither the skill's name nor its folder contains an ASCII letter or digit; using slug %s", s.Slug), hint)
}

// version decides the version: _meta.json, then `version`, then `metadata.version`, which may be any text. One that is not a semantic
// version is kept as it is written, because that is what its author calls it.
func (c *contract) version(s *pannier.Skill, m meta) string {
	own, path, v := c.text("version"), c.path, c.front.Get("version")
	version := firstText(m.version, own)
	if m.version != "" {
		path, v = path[:len(path)-len(s.File)]+pannier.MetaFile, yamldoc.Value{}
	}
	if version != "" && !isSemanticVersion(version) {
		c.warnIn(path, "skill.version.format", "version", v, "not a semantic version; versions cannot be compared", `write three numbers with dots, such as "1.0.0"`)
	}
	if version == "" {
		text, _ := profile.Version(c.front).Text()
		version = strings.TrimSpace(text)
	}
	return version
}

// isSemanticVersion reports whether a text is a version by Semantic Versioning 2.0.0. The library also takes versions of one or
// two numbers, which it completes in the canonical form.
func isSemanticVersion(text string) bool {
	version := "v" + text
	return semver.IsValid(version) && semver.Canonical(version)+semver.Build(version) == version
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
	names := c.listOf(v, "runtime", fields.Commas)
	switch text := v.Kind() == yamldoc.Text; {
	case text && len(names) == 0:
		c.wrongRuntime(v)
	case text && len(names) > 1:
		c.warn("skill.runtime.text", "runtime", v, "this text with commas is read as a list of adapters, and other readers may take it for one name", "write a YAML list, such as `runtime: [claude-code, langgraph]`")
	}
	if slices.Contains(names, "*") {
		return nil
	}
	return names
}

// isName reports whether a value can be the name of an adapter: `runtime: 123` cannot.
func isName(v yamldoc.Value) bool {
	text, ok := v.Text()
	return ok && strings.TrimSpace(text) != "" && v.JSON()[0] == '"'
}

func (c *contract) wrongRuntime(v yamldoc.Value) {
	c.warn(pannier.CodeRuntimeValue, "runtime", v, "this is not the name of an adapter, so the skill counts as fit for all", "write a name such as claude-code, or a list of names, or remove the field")
}
