package profile

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"pannier"
	"pannier/internal/yamldoc"
	"pannier/loader/fields"
)

// contract tells what Pioneer's parser holds against the fields of a skill, of those that pannier reads too (Pioneer
// skills architecture, "Supported Frontmatter"). It knows the types of YAML 1.2, so that `version: 1.0` is a number to it.
func contract(c *check) {
	for _, field := range typed(func(f *fields.Field) bool { return f.Text != nil }) {
		v := c.Front.Get(field)
		if v.Kind() != yamldoc.Missing && v.Kind() != yamldoc.Null && !isText(v) {
			c.fail("contract."+field+".type", field, placeOf(v), "this is "+shapeOf(v)+" where a text belongs"+lost(v), "write one text, in quotes")
		}
	}
	for _, field := range typed(func(f *fields.Field) bool { return f.Flag != nil }) {
		v := c.Front.Get(field)
		if _, ok := v.Bool(); !ok && v.Kind() != yamldoc.Missing {
			c.fail("contract."+field+".type", field, placeOf(v), "this is neither true nor false", "write true or false, without quotes, or remove the field")
		}
	}
	for _, field := range typed(func(f *fields.Field) bool { return f.List != nil }) {
		contractTexts(c, field, c.Front.Get(field))
	}
	contractDependencies(c)
	contractMetadata(c)
	contractRuntime(c)
}

func typed(is func(*fields.Field) bool) []string {
	return fields.Names(func(f *fields.Field) bool { return f.Profiles&fields.Pioneer != 0 && is(f) })
}

// lost says what becomes of a scalar that is not a text.
func lost(v yamldoc.Value) string {
	if v.Kind() == yamldoc.Text {
		return ", and Pioneer drops it"
	}
	return ""
}

// contractTexts wants a text or a list of texts; absent and null are neither.
func contractTexts(c *check, field string, v yamldoc.Value) {
	switch {
	case v.Kind() == yamldoc.Missing || v.Kind() == yamldoc.Null || isText(v):
	case v.Kind() != yamldoc.List:
		c.fail("contract."+field+".type", field, placeOf(v), "this is "+shapeOf(v)+" where a text or a list of texts belongs", "write a list of texts")
	}
	contractItems(c, "contract."+field+".item_type", field, v)
}

func contractItems(c *check, code, field string, v yamldoc.Value) {
	i := 0
	for item := range v.Items() {
		if !isText(item) {
			c.fail(code, fmt.Sprintf("%s[%d]", field, i), placeOf(item), "this is "+shapeOf(item)+" where a text belongs, and is left out", "write a text, in quotes")
		}
		i++
	}
}

func contractDependencies(c *check) {
	v := c.Front.Get("dependencies")
	if v.Kind() == yamldoc.Missing {
		return
	}
	if v.Kind() != yamldoc.Map {
		c.fail("contract.dependencies.type", "dependencies", placeOf(v), "this is "+shapeOf(v)+" where a mapping belongs", "write lists `env`, `api_keys`, `bins`, `commands`, `mcp` and `config` below it, or remove the field")
		return
	}
	for _, kind := range []string{"env", "api_keys", "bins", "commands", "mcp", "config"} {
		contractTexts(c, "dependencies."+kind, v.Get(kind))
	}
}

func contractMetadata(c *check) {
	v := c.Front.Get("metadata")
	text, isScalar := v.Text()
	if !isScalar {
		if v.Kind() == yamldoc.List {
			c.fail("contract.metadata.type", "metadata", placeOf(v), "this is a list where a mapping belongs", metadataHint)
		}
		return
	}
	var syntax *json.SyntaxError
	switch _, err := FromJSON(text); {
	case errors.Is(err, errNoObject):
		c.fail("contract.metadata.type", "metadata", placeOf(v), "this is "+shapeOf(v)+" where a mapping belongs", metadataHint)
	case errors.As(err, &syntax):
		c.fail("contract.metadata.invalid_json", "metadata", placeOf(v), fmt.Sprintf("this text is not JSON: %v, at its character %d", syntax, syntax.Offset), metadataHint)
	case err != nil:
		c.fail("contract.metadata.invalid_json", "metadata", placeOf(v), "this text cannot be read as JSON: "+err.Error(), metadataHint)
	}
}

const metadataHint = "write lines `key: value`, indented below `metadata:`"

// contractRuntime judges the tools that a skill declares. Names of adapters in the place of the mapping are Molecule's,
// which pannier reads as well, so they are not held against it.
func contractRuntime(c *check) {
	v := c.Front.Get("runtime")
	wrong := v.Kind() == yamldoc.Text && !isText(v)
	for item := range v.Items() {
		wrong = wrong || !isText(item)
	}
	if wrong {
		c.fail("contract.runtime.type", "runtime", placeOf(v), "this is neither names of adapters nor a mapping with tools", "write the names as texts, or the tools below `tools:`")
	}
	tools := v.Get("tools")
	if tools.Kind() != yamldoc.Missing && tools.Kind() != yamldoc.Null && tools.Kind() != yamldoc.List {
		c.fail("contract.runtime.type", "runtime.tools", placeOf(tools), "this is "+shapeOf(tools)+" where a list of tools belongs", "begin each tool with `- tool_slug:`")
	}
	i := 0
	for tool := range tools.Items() {
		contractTool(c, fmt.Sprintf("runtime.tools[%d]", i), tool)
		i++
	}
}

func contractTool(c *check, field string, tool yamldoc.Value) {
	if tool.Kind() != yamldoc.Map {
		c.fail("contract.runtime.type", field, placeOf(tool), "this is "+shapeOf(tool)+" where a tool belongs", "write `tool_slug:` and `kind:`")
		return
	}
	slug := tool.Get("tool_slug")
	if text, _ := slug.Text(); !isText(slug) || pannier.Slugify(text) == "" {
		c.fail("contract.runtime.tools.tool_slug", field+".tool_slug", placeOr(slug, tool), "the tool has no `tool_slug:` with a letter or digit", "name it in lower-case letters, digits and hyphens")
	}
	if kind, _ := tool.Get("kind").Text(); !slices.Contains(pannier.DeclaredToolKinds(), pannier.RuntimeToolKind(kind)) {
		c.fail("contract.runtime.tools.kind", field+".kind", placeOr(tool.Get("kind"), tool), "the tool has no `kind:` that is known", "write shell, http or function_proxy")
	}
	if class := tool.Get("execution_class"); class.Kind() != yamldoc.Missing && !isOneOf(class, "shared", "exclusive", "session_scoped") {
		c.fail("contract.runtime.tools.execution_class", field+".execution_class", placeOf(class), "this execution class is not known", "write shared, exclusive or session_scoped, or remove the field")
	}
	if policy := tool.Get("output_policy"); policy.Kind() != yamldoc.Missing && policy.Kind() != yamldoc.Null {
		outputPolicy(c, field+".output_policy", policy)
	}
}

// placeOr is the place of a value, or of what it is missing in.
func placeOr(v, parent yamldoc.Value) place {
	if v.Kind() == yamldoc.Missing {
		return placeOf(parent)
	}
	return placeOf(v)
}

func isOneOf(v yamldoc.Value, words ...string) bool {
	text, ok := v.Text()
	return ok && slices.Contains(words, text)
}
