package profile

import (
	"regexp"
	"strings"

	"pannier"
	"pannier/internal/yamldoc"
)

// moleculeName is what the table of the frontmatter fields requires (Molecule skills, "Frontmatter Fields").
var moleculeName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)

// Molecule judges a skill as `molecli agent skill audit` does: there is a SKILL.md, its frontmatter parses, and name,
// description and version stand in it (Molecule skills, "Skill Audit"). The name has to be an identifier, which that command does
// not check. A version below `metadata` counts too, so that a skill can
// fit the Agent Skills specification as well. What _meta.json says of them does not count.
func Molecule(s Skill) []pannier.Problem {
	c := newCheck(&s, "molecule")
	c.file("SKILL.md")
	if c.readable() {
		c.faults()
		c.moleculeField("name", moleculeNameHint(s.Folder))
		if name, ok := c.Front.Get("name").Text(); ok && strings.TrimSpace(name) != "" && !moleculeName.MatchString(name) {
			c.fail("molecule.name.invalid", "name", placeOf(c.Front.Get("name")), "the name "+quote(name)+" is not lower-case letters, digits and hyphens", nameHint(name, s.Folder))
		}
		c.moleculeField("description", "add `description:` with a short summary of what the skill does")
		if top := c.Front.Get("version").Kind(); top == yamldoc.List || top == yamldoc.Map || Version(c.Front).Kind() == yamldoc.Missing {
			c.moleculeField("version", "add `version: \"1.0.0\"`, a semantic version, below `metadata:`, or `version: 1.0.0` at the top")
		}
	}
	return c.done()
}

func (c *check) moleculeField(field, hint string) {
	v := c.Front.Get(field)
	text, isScalar := v.Text()
	switch {
	case v.Kind() == yamldoc.List || v.Kind() == yamldoc.Map:
		c.fail("molecule."+field+".type", field, placeOf(v), "this is "+v.Kind().String()+" where a text belongs", "write one text, in double quotes where it holds a colon or a bracket")
	case !isScalar || strings.TrimSpace(text) == "":
		c.fail("molecule."+field+".missing", field, placeOf(v), "the frontmatter has no "+field, hint)
	}
}

func moleculeNameHint(folder string) string {
	if slug := proposal(folder); slug != "" {
		return "add `name: " + slug + "`"
	}
	return "add `name:` with lower-case letters, digits and hyphens"
}
