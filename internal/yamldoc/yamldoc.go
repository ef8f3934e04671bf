// Package yamldoc reads one YAML mapping within bounds and keeps it as it was written. It is the one place that knows the
// YAML library. A scanner of its own reads the simple texts that nearly all frontmatters are, with the same result (see
// subset.go); the library reads all others.
//
// What it reads is untrusted: the frontmatter of a SKILL.md, a config.yaml that a canvas wrote. So depth and the number
// of nodes are bounded, and anchors, aliases, merge keys and tags are refused: no author means them there, and all that
// they are good for is to make a small text large. Scalars are kept as they are written, so `1.0` stays "1.0" and `yes`
// stays "yes"; what a scalar means is decided by who asks for it.
package yamldoc

import (
	"bytes"
	"fmt"
	"iter"

	"gopkg.in/yaml.v3"
)

// The bounds of a document.
const (
	MaxDepth = 16
	MaxNodes = 4096
)

// Kind is the shape of a [Value].
type Kind int

// The kinds.
const (
	Missing Kind = iota // there is no such value
	Null
	Text // any other scalar
	List
	Map
)

// String returns the word that people use for the kind.
func (k Kind) String() string {
	return [...]string{"nothing", "null", "a text", "a list", "a mapping"}[k]
}

// Value is a part of a document. The zero Value is Missing. Values stay valid for as long as they are kept and must not
// be written to.
type Value struct {
	node *yaml.Node
}

// Fault is what keeps a text from being read, or a repeated key that was read all the same.
type Fault struct {
	// Line and Column count from 1 in the text; 0 is not known.
	Line, Column int
	// Message says what is wrong, Hint what to do.
	Message, Hint string
}

// Error implements error.
func (f *Fault) Error() string {
	if f.Line == 0 {
		return f.Message
	}
	return fmt.Sprintf("line %d: %s", f.Line, f.Message)
}

// Parse reads text as one mapping. The faults it returns beside the mapping are repeated keys, of which the last one
// counts. The error, where there is one, is a [*Fault]. An empty text is an empty mapping. text is not kept.
func Parse(text []byte) (Value, []Fault, error) {
	if v, ok := parseSubset(text); ok {
		return v, nil, nil
	}
	return parseAny(text)
}

// parseAny reads any text, with the library.
func parseAny(text []byte) (Value, []Fault, error) {
	root, err := load(text)
	if err != nil {
		return Value{}, nil, err
	}
	if root == nil {
		return Value{node: &yaml.Node{Kind: yaml.MappingNode}}, nil, nil
	}
	w := walker{}
	if err := w.visit(root, 1); err != nil {
		return Value{}, nil, err
	}
	if root.Kind != yaml.MappingNode {
		if (Value{root}).Kind() == Null {
			return Value{node: &yaml.Node{Kind: yaml.MappingNode}}, nil, nil
		}
		return Value{}, nil, notMapping(root)
	}
	return Value{root}, w.repeats, nil
}

func notMapping(root *yaml.Node) *Fault {
	return fault(root, "this is "+(Value{root}).Kind().String()+", not a mapping", "write lines of the form `key: value`")
}

// load reads a text of one document with the library. It returns nil for one without content.
func load(text []byte) (*yaml.Node, error) {
	if at := documentEnd(text); at > 0 {
		return nil, &Fault{Line: at, Message: "the document ends here, and more text follows", Hint: "remove the line, or indent it if it belongs to a text"}
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, syntaxFault(text, err)
	}
	if doc.Kind == 0 {
		return nil, nil
	}
	return doc.Content[0], nil
}

// documentEnd returns the line of a document mark that would make the library stop before the end of the text, or 0. A
// `---` that begins the document, with nothing but comments before it, is none.
func documentEnd(text []byte) int {
	begun := false
	number, end := 0, 0
	for line := range bytes.Lines(text) {
		number++
		end += len(line)
		line = bytes.TrimRight(line, " \t\r\n")
		switch {
		case isMark(line, "..."), begun && isMark(line, "---"):
			if len(bytes.TrimSpace(text[end:])) > 0 || len(line) > len("---") {
				return number
			}
		case len(line) > 0 && line[0] != '#' && line[0] != '%':
			begun = true
		}
	}
	return 0
}

func isMark(line []byte, mark string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(mark))
	return ok && (len(rest) == 0 || rest[0] == ' ' || rest[0] == '\t')
}

// walker checks a tree of nodes against the bounds.
type walker struct {
	nodes   int
	repeats []Fault
}

func (w *walker) visit(n *yaml.Node, depth int) error {
	w.nodes++
	if err := checkBounds(n, w.nodes, depth); err != nil {
		return err
	}
	switch {
	case n.Kind == yaml.AliasNode:
		return fault(n, "an alias (*name) is refused", "if the value is a text that starts with *, put it in quotes; else write the value out")
	case n.Anchor != "":
		return fault(n, "an anchor (&name) is refused", "if the value is a text that starts with &, put it in quotes; else remove the anchor")
	case n.Style&yaml.TaggedStyle != 0:
		return fault(n, "a tag (!name) is refused", "if the value is a text that starts with !, put it in quotes; else remove the tag")
	}
	if n.Kind == yaml.MappingNode {
		if err := w.keys(n); err != nil {
			return err
		}
	}
	for _, child := range n.Content {
		if err := w.visit(child, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// checkBounds returns a fault for a node that is past the bounds of a document, by the number of nodes up to it.
func checkBounds(n *yaml.Node, nodes, depth int) error {
	switch {
	case nodes > MaxNodes:
		return fault(n, fmt.Sprintf("there are more than %d values", MaxNodes), "move lists of this size into a file of their own")
	case depth > MaxDepth:
		return fault(n, fmt.Sprintf("values are nested more than %d deep", MaxDepth), "flatten the structure")
	}
	return nil
}

// keys checks the keys of a mapping and notes those that repeat an earlier one.
func (w *walker) keys(n *yaml.Node) error {
	var seen map[string]bool // of a large mapping, where comparing each key with all before it would be quadratic
	if len(n.Content) > 64 {
		seen = make(map[string]bool, len(n.Content)/2)
	}
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode {
			continue // visit refuses an alias; Pairs leaves out what is not text
		}
		if key.Value == "<<" && key.Style == 0 {
			return fault(key, "a merge key (<<) is refused", "write the merged values out")
		}
		again := seen[key.Value]
		if seen != nil {
			seen[key.Value] = true
		} else {
			again = findKey(n.Content[:i], key.Value) >= 0
		}
		if again {
			w.repeats = append(w.repeats, *fault(key, fmt.Sprintf("the key %q stands here again; this one counts", key.Value), "remove one of the two"))
		}
	}
	return nil
}

func findKey(content []*yaml.Node, key string) int {
	for i := len(content) - 2; i >= 0; i -= 2 {
		if content[i].Kind == yaml.ScalarNode && content[i].Value == key {
			return i
		}
	}
	return -1
}

func fault(n *yaml.Node, message, hint string) *Fault {
	return &Fault{Line: n.Line, Column: n.Column, Message: message, Hint: hint}
}

// Kind returns the shape of the value.
func (v Value) Kind() Kind {
	if v.node == nil {
		return Missing
	}
	switch v.node.Kind {
	case yaml.SequenceNode:
		return List
	case yaml.MappingNode:
		return Map
	}
	if v.plain() && isNull(v.node.Value) {
		return Null
	}
	return Text
}

// Line returns the line that the value begins in, counted from 1 in the text, or 0.
func (v Value) Line() int {
	if v.node == nil {
		return 0
	}
	return v.node.Line
}

// Column returns the column that the value begins in, counted from 1, or 0.
func (v Value) Column() int {
	if v.node == nil {
		return 0
	}
	return v.node.Column
}

// Text returns a scalar as it is written, without its quotes; null and everything that is not a scalar is not a text.
func (v Value) Text() (string, bool) {
	if v.Kind() != Text {
		return "", false
	}
	return v.node.Value, true
}

// Bool returns what a plain `true` or `false` says.
func (v Value) Bool() (value, ok bool) {
	if v.Kind() != Text || !v.plain() {
		return false, false
	}
	switch v.node.Value {
	case "true", "True", "TRUE":
		return true, true
	case "false", "False", "FALSE":
		return false, true
	}
	return false, false
}

// plain reports whether the scalar stands without quotes, so that its text decides its type.
func (v Value) plain() bool {
	return v.node.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
}

// Quoted reports whether a scalar is marked as text by its quotes or as a block.
func (v Value) Quoted() bool { return v.Kind() == Text && !v.plain() }

// Flow reports whether a list or a mapping is written in brackets or braces.
func (v Value) Flow() bool {
	return v.node != nil && v.node.Kind != yaml.ScalarNode && v.node.Style&yaml.FlowStyle != 0
}

// Items returns the items of a list.
func (v Value) Items() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() != List {
			return
		}
		for _, n := range v.node.Content {
			if !yield(Value{n}) {
				return
			}
		}
	}
}

// Pair is a key of a mapping with its value.
type Pair struct {
	Key          string
	Line, Column int // of the key
	Value        Value
}

// Pairs returns the pairs of a mapping in source order, of repeated keys the last. Keys that are no scalars are left out.
func (v Value) Pairs() iter.Seq[Pair] {
	return func(yield func(Pair) bool) {
		if v.Kind() != Map {
			return
		}
		content := v.node.Content
		for i := 0; i < len(content); i += 2 {
			key := content[i]
			if key.Kind != yaml.ScalarNode || findKey(content[i+2:], key.Value) >= 0 {
				continue
			}
			if !yield(Pair{Key: key.Value, Line: key.Line, Column: key.Column, Value: Value{content[i+1]}}) {
				return
			}
		}
	}
}

// Get returns the value of a key, and a Missing one where there is none.
func (v Value) Get(key string) Value {
	if v.Kind() != Map {
		return Value{}
	}
	if i := findKey(v.node.Content, key); i >= 0 {
		return Value{v.node.Content[i+1]}
	}
	return Value{}
}
