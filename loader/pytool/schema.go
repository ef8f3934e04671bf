package pytool

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// schemas makes JSON Schemas of annotations. It claims nothing of a type that it does not know for sure: then the schema
// is empty, and allows everything.
type schemas struct {
	// classes are those that the file itself defines, whatever else bears their names.
	classes map[string][]param
}

// simple are types without parts.
var simple = map[string]string{
	"str": `"string"`, "LiteralString": `"string"`, "int": `"integer"`, "float": `"number"`, "bool": `"boolean"`,
	"None": `"null"`, "NoneType": `"null"`, "Path": `"string"`, "PurePath": `"string"`, "StrictStr": `"string"`, "StrictInt": `"integer"`,
	"StrictBool": `"boolean"`, "StrictFloat": `"number"`,
}

// formats are types that JSON holds as texts of a format that JSON Schema knows.
var formats = map[string]string{
	"datetime": "date-time", "date": "date", "UUID": "uuid", "timedelta": "duration", "HttpUrl": "uri", "AnyUrl": "uri",
	"AnyHttpUrl": "uri", "EmailStr": "email", "IPv4Address": "ipv4", "IPv6Address": "ipv6",
}

var (
	arrays = []string{"list", "List", "Sequence", "MutableSequence", "Iterable", "Collection"}
	sets   = []string{"set", "Set", "frozenset", "FrozenSet", "AbstractSet", "MutableSet"}
	maps   = []string{"dict", "Dict", "Mapping", "MutableMapping", "OrderedDict"}
	tuples = []string{"tuple", "Tuple"}
)

func typed(name string) object { return object{{"type", quoted(name)}} }

// of returns the schema of an annotation.
func (s schemas) of(n node, depth int) object {
	if depth > maxDepth {
		return nil
	}
	switch n.kind {
	case nodeName:
		return s.ofName(n.text)
	case nodeText:
		return s.of(parseText(n.text, depth+1), depth+1)
	case nodeUnion:
		return s.union(n.items, depth)
	case nodeSubscript:
		if n.base.kind == nodeName && !s.isOwn(n.base.text) {
			return s.ofGeneric(lastName(n.base.text), n.items, depth)
		}
	}
	return nil
}

// isOwn reports whether a name is that of a class in the file.
func (s schemas) isOwn(name string) bool {
	_, own := s.classes[name]
	return own
}

func (s schemas) ofName(name string) object {
	if s.isOwn(name) {
		return nil
	}
	last := lastName(name)
	if t, ok := simple[last]; ok {
		return object{{"type", json.RawMessage(t)}}
	}
	if format, ok := formats[last]; ok {
		o := typed("string")
		o.set("format", quoted(format))
		return o
	}
	return s.ofGeneric(last, nil, 0)
}

// ofGeneric returns the schema of a type that may have parts in brackets.
func (s schemas) ofGeneric(name string, parts []node, depth int) object {
	switch {
	case slices.Contains(arrays, name):
		return s.array(parts, depth)
	case slices.Contains(sets, name):
		o := s.array(parts, depth)
		o.set("uniqueItems", json.RawMessage("true"))
		return o
	case slices.Contains(tuples, name):
		return s.tuple(parts, depth)
	case slices.Contains(maps, name):
		o := typed("object")
		if len(parts) == 2 {
			o.setPart("additionalProperties", s.of(parts[1], depth+1))
		}
		return o
	case len(parts) == 0:
		return nil
	case name == "Optional":
		return s.union(append(slices.Clip(parts[:1]), node{kind: nodeName, text: "None"}), depth)
	case name == "Union":
		return s.union(parts, depth)
	case name == "Literal":
		return choice(parts)
	case name == "Annotated":
		return s.annotated(parts, depth)
	case name == "Final" || name == "Required" || name == "NotRequired":
		return s.of(parts[0], depth+1)
	}
	return nil
}

// setPart adds a schema that claims something.
func (o *object) setPart(key string, part object) {
	if len(part) > 0 {
		o.set(key, part.json())
	}
}

func (s schemas) array(parts []node, depth int) object {
	o := typed("array")
	if len(parts) == 1 {
		o.setPart("items", s.of(parts[0], depth+1))
	}
	return o
}

func (s schemas) tuple(parts []node, depth int) object {
	o := typed("array")
	switch {
	case len(parts) == 0:
		return o
	case len(parts) == 2 && parts[1].kind == nodeEllipsis:
		return s.array(parts[:1], depth)
	case len(parts) == 1 && parts[0].kind == nodeTuple && len(parts[0].items) == 0: // tuple[()]
		o.set("maxItems", json.RawMessage("0"))
		return o
	}
	items := make([]json.RawMessage, len(parts))
	for i, part := range parts {
		items[i] = s.of(part, depth+1).json()
	}
	size := json.RawMessage(strconv.Itoa(len(parts)))
	o.set("prefixItems", array(items))
	o.set("minItems", size)
	o.set("maxItems", size)
	return o
}

// maxMembers bounds the types that something may be one of.
const maxMembers = 64

// union returns the schema of what may be one of several types. Where one of them is not known, nothing is.
func (s schemas) union(members []node, depth int) object {
	if len(members) > maxMembers {
		return nil
	}
	var all []json.RawMessage
	var only object
	for _, member := range members {
		part := s.of(member, depth+1)
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

// annotated returns the schema of `Annotated[T, "description"]` and `Annotated[T, Field(description="…")]`.
func (s schemas) annotated(parts []node, depth int) object {
	o := slices.Clone(s.of(parts[0], depth+1))
	for _, extra := range parts[1:] {
		switch {
		case extra.kind == nodeText:
			o.describe(extra.text)
		case extra.kind == nodeCall && len(extra.items) > 0 && extra.keys[0] == "" && isNamed(extra, "Doc") && extra.items[0].kind == nodeText:
			o.describe(extra.items[0].text)
		case isNamed(extra, "Field"):
			o.field(extra)
		}
	}
	return o
}

func (o *object) describe(text string) {
	if text = shorten(strings.TrimSpace(text)); text != "" {
		o.set("description", quoted(text))
	}
}

// isNamed reports whether a node is a call of that name.
func isNamed(n node, name string) bool {
	return n.kind == nodeCall && n.base.kind == nodeName && lastName(n.base.text) == name
}

// bounds are the arguments of pydantic's Field that JSON Schema has under another name.
var bounds = map[string]string{
	"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum", "multiple_of": "multipleOf",
}

// field takes what pydantic's Field says of a value.
func (o *object) field(call node) {
	for i, key := range call.keys {
		value := call.items[i]
		if key == "description" && value.kind == nodeText {
			o.describe(value.text)
		}
		if name, ok := bounds[key]; ok && value.kind == nodeNumber {
			if limit, ok := value.literal(); ok {
				o.set(name, limit)
			}
		}
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
