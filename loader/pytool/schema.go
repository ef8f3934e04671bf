package pytool

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// simple are types without parts. Any other name claims nothing.
var simple = map[string]string{
	"str": `"string"`, "LiteralString": `"string"`, "int": `"integer"`, "float": `"number"`, "bool": `"boolean"`,
	"None": `"null"`, "NoneType": `"null"`, "Path": `"string"`, "datetime": `"string"`, "date": `"string"`, "UUID": `"string"`,
}

var (
	arrays = []string{"list", "List", "Sequence", "Iterable", "set", "Set", "frozenset", "tuple", "Tuple"}
	maps   = []string{"dict", "Dict", "Mapping"}
)

func typed(name string) object { return object{{"type", quoted(name)}} }

// schemaOf returns the JSON Schema of an annotation. It is empty, and allows everything, for a type that is not plain.
func schemaOf(n node, depth int) object {
	if depth > maxDepth {
		return nil
	}
	switch n.kind {
	case nodeName:
		if t, ok := simple[lastName(n.text)]; ok {
			return object{{"type", json.RawMessage(t)}}
		}
		return schemaOfGeneric(lastName(n.text), nil, 0)
	case nodeText:
		return schemaOf(parseText(n.text, depth+1), depth+1)
	case nodeUnion:
		return union(n.items, depth)
	case nodeSubscript:
		if n.base.kind == nodeName {
			return schemaOfGeneric(lastName(n.base.text), n.items, depth)
		}
	}
	return nil
}

// schemaOfGeneric returns the schema of a type that may have parts in brackets.
func schemaOfGeneric(name string, parts []node, depth int) object {
	switch {
	case slices.Contains(arrays, name):
		o := typed("array")
		if len(parts) == 1 || len(parts) == 2 && parts[1].kind == nodeEllipsis {
			o.setPart("items", schemaOf(parts[0], depth+1))
		}
		return o
	case slices.Contains(maps, name):
		o := typed("object")
		if len(parts) == 2 {
			o.setPart("additionalProperties", schemaOf(parts[1], depth+1))
		}
		return o
	case len(parts) == 0:
		return nil
	case name == "Optional":
		return union(append(slices.Clip(parts[:1]), node{kind: nodeName, text: "None"}), depth)
	case name == "Union":
		return union(parts, depth)
	case name == "Literal":
		return choice(parts)
	case name == "Annotated":
		return annotated(parts, depth)
	}
	return nil
}

// setPart adds a schema that claims something.
func (o *object) setPart(key string, part object) {
	if len(part) > 0 {
		o.set(key, part.json())
	}
}

// maxMembers bounds the types that something may be one of.
const maxMembers = 64

// union returns the schema of what may be one of several types. It is empty if one of them is not plain.
func union(members []node, depth int) object {
	if len(members) > maxMembers {
		return nil
	}
	var all []json.RawMessage
	var only object
	for _, member := range members {
		part := schemaOf(member, depth+1)
		if len(part) == 0 {
			return nil
		}
		text := part.json()
		if !slices.ContainsFunc(all, func(other json.RawMessage) bool { return bytes.Equal(other, text) }) {
			all, only = append(all, text), part
		}
	}
	if len(all) == 1 {
		return only
	}
	return object{{"anyOf", array(all)}}
}

// choice returns the schema of Literal.
func choice(parts []node) object {
	var values []json.RawMessage
	texts := true
	for _, part := range parts {
		value, ok := part.literal()
		if !ok || part.kind == nodeList || part.kind == nodeTuple || part.kind == nodeDict {
			return nil
		}
		texts = texts && part.kind == nodeText
		values = append(values, value)
	}
	o := object{{"enum", array(values)}}
	if texts {
		o = append(o, member{"type", quoted("string")})
	}
	return o
}

// annotated returns the schema of `Annotated[T, "description"]`.
func annotated(parts []node, depth int) object {
	o := slices.Clone(schemaOf(parts[0], depth+1))
	for _, extra := range parts[1:] {
		if extra.kind == nodeText {
			o.describe(extra.text)
		}
	}
	return o
}

func (o *object) describe(text string) {
	if text = shorten(strings.TrimSpace(text)); text != "" {
		o.set("description", quoted(text))
	}
}

// argument returns what stands for a name among the arguments of a call, or for a place if they have no names.
func (n node) argument(name string, place int) (node, bool) {
	for i, key := range n.keys {
		if key == name || (key == "" && i == place) {
			return n.items[i], true
		}
	}
	return node{}, false
}
