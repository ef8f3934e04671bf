package loader

import (
	"bytes"
	"strings"

	"pannier/internal/yamldoc"
)

// codeNoDescription is the code of the problem of a skill without a description of its own.
const codeNoDescription = "skill.description.missing"

// description returns what the skill does. One that begins with a bracket or a brace, such as `[TODO: write this]`, is the text
// that stands there, as other readers have it: authors do not mean a list or a mapping.
func (c *contract) description() string {
	const field = "description"
	v := c.front.Get(field)
	if v.Flow() {
		if text := c.sourceOf(field); text != "" {
			c.warn("skill.type", field, v, "this is "+v.Kind().String()+" where a text belongs; it is read as the text that stands there", "put the text in double quotes")
			return text
		}
	}
	text := c.textOf(v, field)
	if text != "" {
		return text
	}
	message, hint := "the description is missing; agents see the first line of the instructions instead", "add `description:` with what the skill does and when to use it"
	if v.Kind() == yamldoc.Null && strings.HasPrefix(c.sourceOf(field), "#") {
		message, hint = "the description is empty, because `#` begins a comment", "put the text in double quotes"
	}
	c.warn(codeNoDescription, field, v, message, hint)
	return ""
}

// sourceOf returns what is written behind a key at the top, up to the next one, in one line; "" where the key does not begin its
// line.
func (c *contract) sourceOf(field string) string {
	lines := bytes.Split(c.source, []byte("\n"))
	from, to := 0, len(lines)+1
	for pair := range c.front.Pairs() {
		switch {
		case pair.Key == field:
			from = pair.Line
		case from > 0 && pair.Line > from:
			to = min(to, pair.Line)
		}
	}
	if from == 0 || to <= from || to > len(lines)+1 {
		return ""
	}
	value, ok := bytes.CutPrefix(lines[from-1], []byte(field+":"))
	if !ok {
		return ""
	}
	text := append([][]byte{value}, lines[from:to-1]...)
	return strings.Join(strings.Fields(string(bytes.Join(text, []byte(" ")))), " ")
}
