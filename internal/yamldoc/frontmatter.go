package yamldoc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// JSON returns a mapping as the JSON that a host gets with the package yaml of npm, by which the Model Context Protocol
// compares a frontmatter: plain scalars and keys have the types of the core schema of YAML 1.2, pairs are in source
// order, aliases are written out, and `<<` is a key like any other. Integers keep all their digits, and `-0` its sign.
//
// It is stricter than [Parse] about what that package refuses or types in ways that JSON cannot express: repeated keys,
// keys that are collections, directives and tags that are not of the core schema. The error is a [*Fault]. The bounds
// are those of Parse, and aliases count as often as they are used.
func JSON(text []byte) (json.RawMessage, error) {
	if n := len(text); n > 0 && text[n-1] != '\n' {
		text = append(text[:n:n], '\n') // the library would leave out the last line feed of a block text
	}
	if v, ok := parseSubset(text); ok {
		return typedJSON(v.node)
	}
	root, err := load(text)
	if err != nil {
		return nil, err
	}
	if at := directive(text); at > 0 {
		return nil, &Fault{Line: at, Message: wordsFor("directive"), Hint: "remove the line"}
	}
	switch v := (Value{root}); v.Kind() {
	case Missing, Null:
		return json.RawMessage("{}"), nil
	case Map:
		return typedJSON(root)
	default:
		return nil, notMapping(root)
	}
}

// directive returns the line of a directive, or 0. The package of npm reads `%YAML 1.1` as a change of the schema.
func directive(text []byte) int {
	number := 0
	for line := range bytes.Lines(text) {
		number++
		if line = bytes.TrimSpace(line); len(line) == 0 || line[0] == '#' {
			continue
		}
		if line[0] == '%' {
			return number
		}
		return 0
	}
	return 0
}

func typedJSON(root *yaml.Node) (json.RawMessage, error) {
	w := typedWriter{}
	if err := w.value(root, 1); err != nil {
		return nil, err
	}
	return w.out, nil
}

// typedWriter writes a tree of nodes as JSON.
type typedWriter struct {
	out   []byte
	nodes int
}

func (w *typedWriter) value(n *yaml.Node, depth int) error {
	n = target(n)
	w.nodes++
	if err := checkBounds(n, w.nodes, depth); err != nil {
		return err
	}
	switch n.Kind {
	case yaml.SequenceNode:
		return w.list(n, depth)
	case yaml.MappingNode:
		return w.mapping(n, depth)
	}
	literal, err := scalarJSON(n)
	w.out = append(w.out, literal...)
	return err
}

// target returns the node that an alias stands for.
func target(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func (w *typedWriter) list(n *yaml.Node, depth int) error {
	if err := collectionTag(n); err != nil {
		return err
	}
	w.out = append(w.out, '[')
	first := true
	for _, item := range n.Content {
		w.out = comma(w.out, &first)
		if err := w.value(item, depth+1); err != nil {
			return err
		}
	}
	w.out = append(w.out, ']')
	return nil
}

func (w *typedWriter) mapping(n *yaml.Node, depth int) error {
	if err := collectionTag(n); err != nil {
		return err
	}
	pairs, err := typedPairs(n)
	if err != nil {
		return err
	}
	w.nodes += len(pairs)
	w.out = append(w.out, '{')
	first := true
	for _, p := range pairs {
		w.out = appendString(comma(w.out, &first), p.name)
		w.out = append(w.out, ':')
		if err := w.value(p.value, depth+1); err != nil {
			return err
		}
	}
	w.out = append(w.out, '}')
	return nil
}

type typedPair struct {
	name  string
	value *yaml.Node
}

// typedPairs returns the pairs of a mapping. Keys of which one is a number and the other the text of it are two keys in
// YAML and one in JSON: it stays where the first was, with the value of the last.
func typedPairs(n *yaml.Node) ([]typedPair, error) {
	pairs := make([]typedPair, 0, len(n.Content)/2)
	seen := make(map[string]bool, len(n.Content)/2)
	index := make(map[string]int, len(n.Content)/2)
	for i := 0; i < len(n.Content); i += 2 {
		key := target(n.Content[i])
		if key.Kind != yaml.ScalarNode {
			return nil, fault(key, "a key is a list or a mapping", "write a text as the key")
		}
		literal, err := scalarJSON(key)
		if err != nil {
			return nil, err
		}
		name := keyName(key, literal)
		typed := name
		if literal[0] == '"' {
			typed = literal
		}
		if seen[typed] {
			return nil, fault(key, fmt.Sprintf("the key %q stands here again", name), "remove one of the two")
		}
		seen[typed] = true
		if at, again := index[name]; again {
			pairs[at].value = n.Content[i+1]
			continue
		}
		index[name] = len(pairs)
		pairs = append(pairs, typedPair{name, n.Content[i+1]})
	}
	return pairs, nil
}

// keyName returns a key as the text that JavaScript makes of it.
func keyName(key *yaml.Node, literal string) string {
	switch {
	case literal[0] == '"':
		return key.Value
	case literal == "true" || literal == "false":
		return literal
	case literal != "null":
		f, _ := strconv.ParseFloat(literal, 64)
		text, err := json.Marshal(f)
		switch {
		case f == 0:
			return "0" // without the sign
		case err == nil:
			return string(text)
		case f < 0: // an integer past what a float64 holds
			return "-Infinity"
		}
		return "Infinity"
	case isNull(key.Value):
		return ""
	case strings.HasSuffix(strings.ToLower(key.Value), "nan"):
		return "NaN"
	case key.Value[0] == '-':
		return "-Infinity"
	}
	return "Infinity"
}

// scalarJSON returns a scalar as JSON: by its tag, or else by its quotes, or else by its text. A tag whose form the text
// does not have makes a text of it.
func scalarJSON(n *yaml.Node) (string, error) {
	if n.Style&yaml.TaggedStyle == 0 {
		return string(Value{n}.appendScalarJSON(nil)), nil
	}
	literal := string(Value{&yaml.Node{Kind: yaml.ScalarNode, Value: n.Value}}.appendScalarJSON(nil))
	integer := decimal.MatchString(n.Value) || octal.MatchString(n.Value) || hexa.MatchString(n.Value)
	fits := false
	switch n.Tag {
	case "!!null":
		fits = isNull(n.Value)
	case "!!bool":
		fits = literal == "true" || literal == "false"
	case "!!int":
		fits = integer
	case "!!float":
		fits = !integer && (float.MatchString(n.Value) || endless.MatchString(n.Value))
	case "!!str":
	default:
		if strings.HasPrefix(n.Tag, "!!") {
			return "", tagFault(n)
		}
	}
	if !fits {
		literal = string(appendString(nil, n.Value))
	}
	return literal, nil
}

func tagFault(n *yaml.Node) *Fault {
	return fault(n, "a tag ("+n.Tag+") is refused", "if the value is a text that starts with !, put it in quotes; else remove the tag")
}

// collectionTag returns a fault for a list or a mapping whose tag makes something else of it.
func collectionTag(n *yaml.Node) error {
	if n.Style&yaml.TaggedStyle == 0 || n.Tag == "!!map" || n.Tag == "!!seq" || !strings.HasPrefix(n.Tag, "!!") {
		return nil
	}
	return tagFault(n)
}

// appendScalarJSON appends a scalar or null as JSON, a negative zero with its sign.
func (v Value) appendScalarJSON(b []byte) []byte {
	if v.Kind() == Null {
		return append(b, "null"...)
	}
	if v.plain() && decimal.MatchString(v.node.Value) && strings.Trim(v.node.Value, "0") == "-" {
		return append(b, "-0"...)
	}
	return v.appendScalar(b)
}
