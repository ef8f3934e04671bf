package profile

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"pannier"
	"pannier/internal/yamldoc"
	"pannier/loader/fields"
)

const (
	maxDescriptionLength   = 1024
	maxCompatibilityLength = 500
)

var allowedFields = fields.Names(func(f *fields.Field) bool { return f.Profiles&fields.AgentSkills != 0 })

// textRule marks a rule of the specification's text that the reference validator does not check.
const textRule = "; the Agent Skills specification says so, its reference validator lets it pass"

// AgentSkills judges a skill as the reference validator of the Agent Skills specification does (skills-ref 0.1.0, the
// command validate), and by three rules of the specification's text beyond it: strict.allowed_tools.format,
// strict.metadata.value_type and, for what is empty, strict.compatibility.length.
//
// It differs from the reference validator where that finds the end of the frontmatter by accident, at any `---`: fences
// here are whole lines.
func AgentSkills(s Skill) []pannier.Problem {
	c := newCheck(&s, "strict")
	c.file("SKILL.md", "skill.md")
	if c.readable() {
		c.faults()
		strictFlow(c, "", s.Front)
		for pair := range c.Front.Pairs() {
			if !slices.Contains(allowedFields, pair.Key) {
				c.fail("strict.field.unknown", key("", pair.Key), place{pair.Line, pair.Column},
					"the standard knows no field "+quote(pair.Key), fieldHint(pair.Key))
			}
		}
		strictName(c)
		strictDescription(c)
		strictCompatibility(c)
		// "A space-separated string of tools" (Agent Skills specification, "allowed-tools field").
		v := c.Front.Get("allowed-tools")
		if v.Kind() == yamldoc.List || v.Kind() == yamldoc.Map {
			c.fail("strict.allowed_tools.format", "allowed-tools", placeOf(v), "this is "+v.Kind().String()+" where a text belongs"+textRule, toolsHint(v))
		}
		c.metadata(func(all yamldoc.Value) {
			for pair := range all.Pairs() {
				v := pair.Value
				if isText(v) || v.Kind() == yamldoc.Map && (pair.Key == "openclaw" || pair.Key == "clawdbot") {
					continue
				}
				c.fail("strict.metadata.value_type", key("metadata", pair.Key), placeOf(v), "this is "+shapeOf(v)+" where a text belongs"+textRule, valueHint(pair))
			}
		})
	}
	return c.done()
}

// strictFlow tells of lists and mappings in brackets, of nested ones the outermost.
func strictFlow(c *check, field string, v yamldoc.Value) {
	if c.layout.flow(v) {
		c.fail("strict.frontmatter.flow", field, placeOf(v), "this is written in brackets, which StrictYAML refuses", flowHint(field, v))
		return
	}
	for pair := range v.Pairs() {
		strictFlow(c, key(field, pair.Key), pair.Value)
	}
	i := 0
	for item := range v.Items() {
		strictFlow(c, fmt.Sprintf("%s[%d]", field, i), item)
		i++
	}
}

// flowHint does not send people to what another rule holds against them.
func flowHint(field string, v yamldoc.Value) string {
	switch {
	case field == "allowed-tools":
		return toolsHint(v)
	case v.Kind() == yamldoc.List && strings.HasPrefix(field, "metadata.") && strings.Count(field, ".") == 1:
		return itemsHint
	case v.Kind() == yamldoc.List:
		return "write one line `- item` for each item, indented below the key"
	}
	return "write one line `key: value` for each pair, indented below the key, and what is in it indented further"
}

func fieldHint(name string) string {
	meant := strings.ToLower(strings.NewReplacer("_", "-", " ", "-").Replace(pannier.TrimBlanks(name)))
	if slices.Contains(allowedFields, meant) {
		return "write `" + meant + ":`"
	}
	return "move it below `metadata:`, as a text, unless a platform that you need reads it here"
}

func strictDescription(c *check) {
	v := c.Front.Get("description")
	text, ok := c.layout.literal(v)
	if !ok || pannier.TrimBlanks(text) == "" {
		c.fail("strict.description.required", "description", placeOf(v), "`description:` is missing or not a text", "say in one text what the skill does and when to use it")
		return
	}
	if length := utf8.RuneCountInString(text); length > maxDescriptionLength {
		c.fail("strict.description.length", "description", placeOf(v),
			fmt.Sprintf("the description has %d characters, and at most %d are allowed", length, maxDescriptionLength), "keep what the skill does and when to use it, and move the rest below the frontmatter")
	}
}

func strictCompatibility(c *check) {
	v := c.Front.Get("compatibility")
	if v.Kind() == yamldoc.Missing {
		return
	}
	text, ok := c.layout.literal(v)
	length := utf8.RuneCountInString(text)
	switch {
	case !ok:
		c.fail("strict.compatibility.type", "compatibility", placeOf(v), "this is "+v.Kind().String()+" where a text belongs", "write what the skill needs in one text")
	case length == 0:
		c.fail("strict.compatibility.length", "compatibility", placeOf(v), "the compatibility is empty"+textRule, "say what the skill needs, or remove the field")
	case length > maxCompatibilityLength:
		c.fail("strict.compatibility.length", "compatibility", placeOf(v),
			fmt.Sprintf("the compatibility has %d characters, and at most %d are allowed", length, maxCompatibilityLength), "keep what the skill needs, and move the rest below the frontmatter")
	}
}

const plainToolsHint = "write the tools in one text, with blanks between them and none in their names"

func toolsHint(v yamldoc.Value) string {
	var tools []string
	for item := range v.Items() {
		text, ok := item.Text()
		if !ok || text == "" || strings.ContainsAny(text, "`\n") || strings.Contains(text, " ") && !strings.Contains(text, "(") {
			return plainToolsHint
		}
		tools = append(tools, text)
	}
	line := "allowed-tools: " + strings.Join(tools, " ")
	if len(tools) == 0 || utf8.RuneCountInString(line) > 200 || quote(line) != `"`+line+`"` {
		return plainToolsHint
	}
	return "write `" + line + "`"
}

const itemsHint = "write the items in one text, with commas between them"

func valueHint(pair yamldoc.Pair) string {
	switch text, isScalar := pair.Value.Text(); {
	case isScalar && len(text) > 60:
		return "put it in quotes"
	case isScalar:
		return fmt.Sprintf("put it in quotes: `%s: %q`", key("", pair.Key), text)
	case pair.Key == "clawdis" || pair.Key == "moltbot":
		return "call it `openclaw`"
	case pair.Value.Kind() == yamldoc.Null:
		return "remove it, or write a text"
	case pair.Value.Kind() == yamldoc.List:
		return itemsHint
	}
	return "write its pairs right below `metadata:`, with texts as values"
}
