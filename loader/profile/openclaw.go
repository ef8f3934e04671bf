package profile

import (
	"strings"

	"pannier"
	"pannier/internal/yamldoc"
)

// OpenClaw judges a skill by Pioneer's profile of that name: name, description, the shapes of the metadata that Pioneer
// knows, and what its parser holds against the other fields (Pioneer skills architecture, "Validation"). Metadata errors
// are those that keep Pioneer from using a skill at all.
func OpenClaw(s Skill) []pannier.Problem {
	c := newCheck(&s, "openclaw")
	c.file("SKILL.md")
	if c.readable() {
		contract(c)
		openClawTexts(c)
		openClawMetadata(c)
	}
	return c.done()
}

func openClawTexts(c *check) {
	if strings.TrimSpace(c.Name) == "" {
		c.fail("openclaw.name.required", "name", placeOf(c.Front.Get("name")), "the skill has no name", nameHint(c.Folder, c.Folder))
		return
	}
	if strings.ContainsFunc(c.Name, func(r rune) bool { return !isSnake(r) }) {
		c.warn("openclaw.name.snake_case", "name", placeOf(c.Front.Get("name")),
			"the name "+quote(c.Name)+" is not of lower-case ASCII letters, digits and underscores alone", snakeHint(c.Name))
	}
	if strings.TrimSpace(c.Description) == "" {
		c.fail("openclaw.description.required", "description", placeOf(c.Front.Get("description")), "the skill has no description", "add `description:` with what the skill does and when to use it")
	}
}

func isSnake(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' }

func snakeHint(name string) string {
	if !strings.ContainsFunc(name, func(r rune) bool { return r != '-' && !isSnake(r) }) {
		return "leave it, unless the skill is for OpenClaw alone: the Agent Skills standard wants hyphens"
	}
	return "write lower-case letters and digits, with underscores between them, or hyphens where the skill also has to fit the Agent Skills standard"
}

// namespace is what is known of the shapes below a key of metadata.
type namespace struct {
	name         string
	lists, texts []string // directly below it
	requires     []string // lists below its `requires`
}

var namespaces = []namespace{
	{name: "openclaw", lists: []string{"os"}, texts: []string{"skillKey", "homepage"}, requires: []string{"bins", "config"}},
	{name: "clawdbot", texts: []string{"emoji", "homepage"}, requires: []string{"commands", "bins"}},
}

func openClawMetadata(c *check) {
	v := c.Front.Get("metadata")
	if text, isScalar := v.Text(); isScalar {
		if _, err := FromJSON(text); err != nil {
			c.fail("openclaw.metadata.type", "metadata", placeOf(v), "this text is not a mapping", metadataHint)
			return
		}
	}
	if v.Kind() == yamldoc.List {
		c.fail("openclaw.metadata.type", "metadata", placeOf(v), "this is a list, not a mapping", metadataHint)
		return
	}
	c.metadata(func(all yamldoc.Value) {
		for _, space := range namespaces {
			if v := all.Get(space.name); v.Kind() != yamldoc.Missing {
				openClawNamespace(c, space, v)
			}
		}
	})
}

func openClawNamespace(c *check, space namespace, v yamldoc.Value) {
	field := "metadata." + space.name
	if !wantMap(c, field, v) {
		return
	}
	for _, name := range space.lists {
		openClawList(c, field+"."+name, v.Get(name))
	}
	for _, name := range space.texts {
		if text := v.Get(name); text.Kind() != yamldoc.Missing && !isText(text) {
			c.fail("openclaw."+field+"."+name+".type", field+"."+name, placeOf(text), "this is "+shapeOf(text)+" where a text belongs", "write one text, in quotes, or remove the field")
		}
	}
	requires := v.Get("requires")
	if requires.Kind() == yamldoc.Missing || !wantMap(c, field+".requires", requires) {
		return
	}
	for _, name := range space.requires {
		openClawList(c, field+".requires."+name, requires.Get(name))
	}
}

// wantMap tells of a value that is not a mapping.
func wantMap(c *check, field string, v yamldoc.Value) bool {
	if v.Kind() == yamldoc.Map {
		return true
	}
	hint := "write its fields as lines `key: value`, indented below it, or remove it"
	if text, ok := v.Text(); ok && strings.HasPrefix(strings.TrimSpace(text), "{") {
		hint = "remove the quotes around the mapping"
	}
	c.fail("openclaw."+field+".type", field, placeOf(v), "this is "+shapeOf(v)+" where a mapping belongs", hint)
	return false
}

// openClawList wants a list of texts. Pioneer's compiler also takes a single text, and this profile does not.
func openClawList(c *check, field string, v yamldoc.Value) {
	switch v.Kind() {
	case yamldoc.Missing:
	case yamldoc.List:
		contractItems(c, "openclaw."+field+".item_type", field, v)
	default:
		hint := "write a list, or remove the field"
		if text, ok := v.Text(); ok && text != "" && len(text) <= 60 && !strings.ContainsAny(text, "`,:#\n") {
			hint = "write `- " + text + "` in a line below the key"
		}
		c.fail("openclaw."+field+".type", field, placeOf(v), "this is "+shapeOf(v)+" where a list of texts belongs", hint)
	}
}
