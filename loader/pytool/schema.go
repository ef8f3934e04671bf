package pytool

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"pannier"
)

// schema is a JSON Schema; nil is a type that is not plain.
type schema struct {
	Enum                 []json.RawMessage `json:"enum,omitempty"`
	Type                 string            `json:"type,omitempty"`
	AnyOf                []*schema         `json:"anyOf,omitempty"`
	Items                *schema           `json:"items,omitempty"`
	AdditionalProperties *schema           `json:"additionalProperties,omitempty"`
	Description          string            `json:"description,omitempty"`
	Default              json.RawMessage   `json:"default,omitempty"`
}

// properties are the parameters in source order.
type properties []struct {
	name string
	schema
}

func (p properties) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i := range p {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, encode(p[i].name)...), ':'), encode(p[i].schema)...)
	}
	return append(b, '}'), nil
}

// encode returns a value as JSON, with `<` and `&` as they are.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // these types and a buffer do not fail
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}

// parameters returns the schema of the arguments of a tool. Arguments that the function does not know are refused.
func parameters(params []param, descriptions map[string]string) json.RawMessage {
	var o struct {
		Type                 string     `json:"type"`
		Properties           properties `json:"properties"`
		Required             []string   `json:"required,omitempty"`
		AdditionalProperties any        `json:"additionalProperties"`
	}
	o.Type, o.AdditionalProperties = "object", false
	for _, p := range params {
		s := schemaOf(p.hint, 0)
		switch {
		case p.stars == 2 && s != nil:
			o.AdditionalProperties = s
		case p.stars == 2:
			o.AdditionalProperties = true
		case p.stars == 0 && !p.isInjected():
			if s == nil {
				s = &schema{}
			}
			s.Description = cmp.Or(s.Description, descriptions[p.name])
			if p.optional {
				s.Default, _ = literal(p.value)
			} else {
				o.Required = append(o.Required, p.name)
			}
			o.Properties = append(o.Properties, struct {
				name string
				schema
			}{p.name, *s})
		}
	}
	return encode(o)
}

var simple = map[string]string{
	"str": "string", "LiteralString": "string", "int": "integer", "float": "number", "bool": "boolean", "None": "null", "NoneType": "null",
	"Path": "string", "datetime": "string", "date": "string", "UUID": "string",
	"list": "array", "List": "array", "Sequence": "array", "Iterable": "array", "set": "array", "Set": "array", "frozenset": "array",
	"tuple": "array", "Tuple": "array", "dict": "object", "Dict": "object", "Mapping": "object",
}

// The bounds of types within types, and of the types of a union.
const (
	maxDepth   = 40
	maxMembers = 64
)

func schemaOf(hint []token, depth int) *schema {
	hint = withoutParentheses(hint)
	if depth > maxDepth || len(hint) == 0 {
		return nil
	}
	if members := split(hint, "|"); len(members) > 1 {
		return union(members, depth)
	}
	if text, ok := textOf(hint); ok {
		faulty := false
		inner := lex(text, func(int, string) { faulty = true })
		if faulty || len(inner) == 0 {
			return nil
		}
		return schemaOf(inner[:len(inner)-1], depth+1)
	}
	name, rest := lastName(hint)
	if len(rest) == 0 && simple[name] != "" {
		return &schema{Type: simple[name]}
	}
	parts, ok := inBrackets(rest, "[")
	if !ok {
		return nil
	}
	return generic(name, split(parts, ","), depth)
}

func generic(name string, parts [][]token, depth int) *schema {
	s := &schema{Type: simple[name]}
	switch {
	case s.Type == "array":
		if len(parts) == 1 || len(parts) == 2 && parts[1][0].is("...") {
			s.Items = schemaOf(parts[0], depth+1)
		}
		return s
	case s.Type == "object":
		if len(parts) == 2 {
			s.AdditionalProperties = schemaOf(parts[1], depth+1)
		}
		return s
	case len(parts) == 0:
		return nil
	}
	switch name {
	case "Optional":
		return union([][]token{parts[0], {{kind: tokenName, text: "None"}}}, depth)
	case "Union":
		return union(parts, depth)
	case "Literal":
		return choice(parts)
	case "Annotated":
		s := schemaOf(parts[0], depth+1)
		for _, extra := range parts[1:] {
			if text, ok := textOf(extra); ok {
				if s == nil {
					s = &schema{}
				}
				s.Description = pannier.Truncate(strings.TrimSpace(text), maxDescription)
			}
		}
		return s
	}
	return nil
}

// union returns the schema of one of several types. It is nil if one of them is not plain.
func union(members [][]token, depth int) *schema {
	if len(members) > maxMembers {
		return nil
	}
	var all []*schema
	for _, member := range members {
		part := schemaOf(member, depth+1)
		if part == nil {
			return nil
		}
		if !slices.ContainsFunc(all, func(other *schema) bool { return reflect.DeepEqual(other, part) }) {
			all = append(all, part)
		}
	}
	if len(all) == 1 {
		return all[0]
	}
	return &schema{AnyOf: all}
}

func choice(parts [][]token) *schema {
	s := &schema{Type: "string"}
	for _, part := range parts {
		value, ok := literal(part)
		if !ok {
			return nil
		}
		if value[0] != '"' {
			s.Type = ""
		}
		s.Enum = append(s.Enum, value)
	}
	return s
}

// literal returns a text, a number, True, False or None as JSON.
func literal(tokens []token) (json.RawMessage, bool) {
	tokens = withoutParentheses(tokens)
	if text, ok := textOf(tokens); ok {
		return encode(text), true
	}
	sign := ""
	if len(tokens) == 2 && (tokens[0].is("-") || tokens[0].is("+")) {
		sign, tokens = tokens[0].text, tokens[1:]
	}
	if len(tokens) != 1 {
		return nil, false
	}
	if tokens[0].kind == tokenNumber {
		return number(sign + tokens[0].text)
	}
	word, ok := map[string]string{"True": "true", "False": "false", "None": "null"}[sign+tokens[0].text]
	return json.RawMessage(word), ok
}

// number returns a number of Python as one of JSON, if it is a valid one of usual size.
func number(text string) (json.RawMessage, bool) {
	digits := strings.TrimLeft(text, "+-")
	if len(digits) > 1 && digits[0] == '0' && isDigit(digits[1]) {
		return nil, false // Python has no such octal numbers
	}
	if whole, err := strconv.ParseInt(text, 0, 64); err == nil {
		return strconv.AppendInt(nil, whole, 10), true
	}
	value, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	if err != nil || math.IsInf(value, 0) || strings.ContainsAny(digits, "xX") || !strings.ContainsAny(digits, ".eE") {
		return nil, false
	}
	return encode(value), true
}
