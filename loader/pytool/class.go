package pytool

import (
	"fmt"
	"slices"
	"strings"

	"pannier"
)

// baseTool is the class of LangChain whose subclasses are tools, maxClasses bounds the classes of a file.
const (
	baseTool   = "BaseTool"
	maxClasses = 256
)

// class is a class on the top level.
type class struct {
	at     int
	name   string
	bases  []string
	col    int // of its body; -1 before the first statement
	fields []param
	// run and arun are the methods `_run` and `_arun`, init is `__init__`; nil for none.
	run, arun, init *function
	message         string // why a method cannot be read
}

func (c class) isTool() bool { return slices.Contains(c.bases, baseTool) }

// beginClass reads `class NAME(BASE, …):`. What follows on its line does not count.
func (m *module) beginClass(s []token) {
	if len(s) < 3 || s[1].kind != tokenName || len(m.classes) == maxClasses {
		return
	}
	c := class{at: s[0].at, name: s[1].text, col: -1}
	for at := 2; at < len(s); at++ {
		if s[at].is("(") && s[at].skip > 0 {
			for _, base := range split(s[at+1:at+s[at].skip], ",") {
				name, _ := lastName(base)
				c.bases = append(c.bases, name)
			}
			break
		}
		at += s[at].skip
	}
	m.classes, m.inClass = append(m.classes, c), true
}

// statement reads a statement in the body: a field, or one of the methods that count.
func (c *class) statement(s []token) {
	if c.col < 0 {
		c.col = s[0].col
	}
	if s[0].col != c.col {
		return
	}
	def := s
	if s[0].isWord("async") {
		def = s[1:]
	}
	if len(def) > 1 && def[0].isWord("def") {
		f := &function{at: s[0].at, name: def[1].text}
		into := map[string]**function{"_run": &c.run, "_arun": &c.arun, "__init__": &c.init}[f.name]
		if into == nil {
			return
		}
		if _, message := f.signature(def[1:]); message != "" {
			c.message = message
		}
		*into = f
		return
	}
	if p, ok := readParam(s); ok && len(s) > 1 && (s[1].is(":") || s[1].is("=")) && len(c.fields) < maxParams {
		c.fields = append(c.fields, p)
	}
}

// field returns what a field is set to: the value, or the default of a Field.
func (c *class) field(name string) (value []token, found bool) {
	for _, f := range c.fields {
		if f.name == name {
			value, found = f.value, true
			if called, rest := lastName(value); called == "Field" {
				value = nil
				if inner, ok := inBrackets(rest, "("); ok {
					value, _ = argument(split(inner, ","), "default", 0)
				}
			}
		}
	}
	return value, found
}

// addClasses makes tools of the subclasses of BaseTool. One with neither a name nor `_run` is a base of others.
func (m *module) addClasses() {
	for i := range m.classes {
		c := &m.classes[i]
		_, named := c.field("name")
		if !c.isTool() || !named && c.run == nil && c.arun == nil {
			continue
		}
		tool, fault := m.classTool(c)
		if fault == "" && slices.ContainsFunc(m.tools, func(t pannier.Tool) bool { return t.Name == tool.Name }) {
			fault = "there is a tool of that name before it"
		}
		if len(m.tools) == MaxTools {
			m.fault(c.at, fmt.Sprintf("there are more than %d tools; those from here on are left out", MaxTools))
			return
		}
		if fault != "" {
			fault = "the class " + c.name + " cannot be a tool: " + fault
			tool.Declaration = encode(map[string]string{"fault": fault}) // the planner keeps it back
			m.fault(c.at, fault)
		}
		m.tools = append(m.tools, tool)
	}
}

// classTool returns the tool of a class, and what keeps it from being called.
func (m *module) classTool(c *class) (tool pannier.Tool, fault string) {
	tool = pannier.Tool{Name: c.name, Kind: pannier.RuntimePython, Line: m.line(c.at)}
	run := c.run
	if run == nil {
		run = c.arun
	}
	value, _ := c.field("name")
	name, named := textOf(value)
	value, _ = c.field("description")
	description, described := textOf(value)
	switch {
	case !named || strings.TrimSpace(name) == "" || len(name) > maxName:
		return tool, "its name is not written as a text"
	case !described || strings.TrimSpace(description) == "":
		return tool, "its description is not written as a text"
	case c.message != "":
		return tool, c.message
	case run == nil:
		return tool, "it has no method _run"
	}
	for _, f := range c.fields {
		if !f.optional && !strings.HasPrefix(f.name, "_") && !isClassVar(f.hint) {
			return tool, "it cannot be made without a value for " + f.name
		}
	}
	if c.init != nil {
		for _, p := range c.init.params {
			if !p.optional && p.stars == 0 {
				return tool, "it cannot be made without a value for " + p.name
			}
		}
	}
	tool.Name, tool.Function = name, c.name+"."+run.name
	tool.Description = pannier.Truncate(strings.TrimSpace(cleanDoc(description)), maxDescription)
	params, descriptions := run.params, map[string]string{}
	if schema := m.argsSchema(c); schema != nil {
		params = schema.modelParams(descriptions)
	}
	tool.Parameters = parameters(params, descriptions)
	return tool, ""
}

func isClassVar(hint []token) bool {
	name, _ := lastName(hint)
	return name == "ClassVar"
}

// argsSchema returns the class that args_schema names, if it is in the file and all of its fields are.
func (m *module) argsSchema(c *class) *class {
	value, _ := c.field("args_schema")
	if len(value) != 1 {
		return nil
	}
	for i := range m.classes {
		if s := &m.classes[i]; s.name == value[0].text && slices.Equal(s.bases, []string{"BaseModel"}) {
			return s
		}
	}
	return nil
}

// modelParams returns the fields of a pydantic model as parameters. It adds what a Field describes.
func (c *class) modelParams(descriptions map[string]string) []param {
	var params []param
	for _, p := range c.fields {
		if len(p.hint) == 0 || strings.HasPrefix(p.name, "_") || p.name == "model_config" || isClassVar(p.hint) {
			continue
		}
		if called, rest := lastName(p.value); called == "Field" {
			inner, _ := inBrackets(rest, "(")
			arguments := split(inner, ",")
			text, _ := argument(arguments, "description", -1)
			descriptions[p.name], _ = textOf(text)
			p.value, p.optional = argument(arguments, "default", 0)
			if len(p.value) == 1 && p.value[0].is("...") {
				p.value, p.optional = nil, false
			}
			if _, made := argument(arguments, "default_factory", -1); made {
				p.optional = true
			}
		}
		params = append(params, p)
	}
	return params
}
