package loader

import (
	"fmt"
	"strings"

	"pannier"
	"pannier/internal/yamldoc"
	"pannier/loader/fields"
	"pannier/loader/profile"
)

// text returns a field that must be a text, trimmed; absent and null are empty.
func (c *contract) text(field string) string { return c.textOf(c.front.Get(field), field) }

func (c *contract) textOf(v yamldoc.Value, field string) string {
	text, ok := v.Text()
	if !ok && v.Kind() != yamldoc.Missing && v.Kind() != yamldoc.Null {
		c.warn("skill.type", field, v, "this is "+v.Kind().String()+" where a text belongs, and counts as absent", "write one text, in double quotes where it holds a colon or a bracket")
	}
	return strings.TrimSpace(text)
}

// list returns a field that may be a text or a list of texts; split says how such a text is a list.
func (c *contract) list(field string, split fields.Split) []string {
	return c.listOf(c.front.Get(field), field, split)
}

func (c *contract) listOf(v yamldoc.Value, field string, split fields.Split) []string {
	var items []string
	add := func(text string) {
		if text = strings.TrimSpace(text); text != "" {
			items = append(items, text)
		}
	}
	switch v.Kind() {
	case yamldoc.Text:
		text, _ := v.Text()
		split.Each(text, add)
	case yamldoc.List:
		for item := range v.Items() {
			add(c.textOf(item, field))
		}
	case yamldoc.Map:
		c.warn("skill.type", field, v, "this is a mapping where a text or a list of texts belongs, and counts as absent", "write the items as a list")
	}
	return items
}

func (c *contract) flagOf(v yamldoc.Value, field string, fallback bool) bool {
	value, ok := v.Bool()
	if !ok {
		if v.Kind() != yamldoc.Missing && v.Kind() != yamldoc.Null {
			c.warn("skill.type", field, v, fmt.Sprintf("this is neither true nor false, and counts as %t", fallback), "write true or false, without quotes")
		}
		return fallback
	}
	return value
}

// warn adds a warning about a field.
func (c *contract) warn(code, field string, v yamldoc.Value, message, hint string) {
	c.warnIn(c.path, code, field, v, message, hint)
}

// warnIn adds a warning about a field of another file.
func (c *contract) warnIn(path, code, field string, v yamldoc.Value, message, hint string) {
	p := pannier.Problem{Code: code, Severity: pannier.SeverityWarning, Path: path, Field: field, Message: message, Hint: hint}
	p.Line, p.Column = c.place(v)
	c.problems = append(c.problems, p)
}

// place returns where a value stands in the file; of one within a text, where that text does.
func (c *contract) place(v yamldoc.Value) (line, column int) {
	if v.Line() == 0 {
		return 0, 0
	}
	return c.at(v.Line(), v.Column())
}

// at returns the place in the file of a place in what is read.
func (c *contract) at(line, column int) (int, int) {
	if c.within != nil {
		line, column = c.within.Line(), c.within.Column()
	}
	return line + c.offset, column
}

func firstText(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// mapping calls read with a mapping, which may also be written as JSON in a text; what stands in a text is reported with
// the place of that text.
func (c *contract) mapping(v yamldoc.Value, field string, read func(yamldoc.Value)) {
	code := "skill.type"
	if strings.HasPrefix(field, "metadata") {
		code = "skill.metadata.type"
	}
	text, isText := v.Text()
	switch {
	case v.Kind() == yamldoc.Map:
		read(v)
	case isText:
		parsed, err := mappingIn(text)
		if err != nil {
			c.warn(code, field, v, "this text cannot be read as a mapping: "+syntaxOf(err).Message, "write "+field+" as a mapping")
			return
		}
		outer := c.within
		c.within = &v
		read(parsed)
		c.within = outer
	case v.Kind() == yamldoc.List:
		c.warn(code, field, v, "this is a list where a mapping belongs, and counts as absent", "write "+field+" as a mapping")
	}
}

// mappingIn reads a mapping in a text, as YAML or, where that is refused, as JSON, which allows what YAML does not.
func mappingIn(text string) (yamldoc.Value, error) {
	v, _, err := yamldoc.Parse([]byte(text))
	if err == nil {
		return v, nil
	}
	if v, otherErr := profile.FromJSON(text); otherErr == nil {
		return v, nil
	}
	return yamldoc.Value{}, err
}
