// Package pytool finds the tools in a Python file: functions with the decorator `@tool`. It reads the text with a lexer of its
// own and never imports or runs anything, so a file from anywhere can be read.
//
// A function counts where an import of the file finds it: on the top level, or in an `if` or a `try` there. Methods and
// functions within functions do not. The decorator is known by its name: `tool`, with or without a module before it, with or
// without arguments, or the name that `from … import tool as …` gives it.
//
// A tool has the name, the docstring and the parameters of its function. Their JSON Schema says what the type hints say in plain
// types: str, int, float, bool, None, lists, mappings, unions, Literal and described types. Other types claim nothing, and neither
// do the constraints of libraries such as pydantic, because the call validates its arguments itself. A computed default only makes
// its parameter optional. A tool with a computed name is a [Fault] and is not listed; it does not affect the others.
// An f-string in single quotes whose braces span lines, as Python 3.12 allows, is reported as one without an end.
package pytool

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"pannier"
)

// The bounds of a file, of what is found in it, and of the name that a decorator gives.
const (
	MaxFileBytes = 256 << 10
	MaxTools     = 256

	maxFaults = 64
	maxName   = 256
)

// Fault is something that looks like a tool and cannot be understood, or only in part.
type Fault struct {
	// Line counts from 1; 0 is the whole file.
	Line    int
	Message string
}

// Read returns the tools of a Python file in source order, without their path, and what kept others from being one. Line is
// where the `def` stands. Of functions with one name the last counts, as in Python. A text without the word `tool` has neither.
func Read(text []byte) ([]pannier.Tool, []Fault) {
	if !bytes.Contains(text, []byte("tool")) || !bytes.Contains(text, []byte("@")) {
		return nil, nil
	}
	if len(text) > MaxFileBytes {
		return nil, []Fault{{Message: fmt.Sprintf("the file has more than %d bytes, so it is not searched for tools", MaxFileBytes)}}
	}
	if at := bytes.IndexByte(text, 0); at >= 0 {
		return nil, []Fault{{Line: 1 + bytes.Count(text[:at], []byte("\n")), Message: "there is a NUL character, which Python does not read"}}
	}
	r := newReader(text)
	for _, f := range r.last() {
		if len(r.tools) == MaxTools {
			r.report(f.at, fmt.Sprintf("there are more than %d tools; those from here on are left out", MaxTools))
			break
		}
		r.add(f)
	}
	return r.tools, r.sortedFaults()
}

// reader makes tools of the functions of a module.
type reader struct {
	*module
	starts []int // of the lines
	tools  []pannier.Tool
	found  []Fault
}

// newReader brings a text into the form that Python reads it in: without a byte order mark, lines that end with LF.
func newReader(text []byte) *reader {
	plain := strings.TrimPrefix(string(text), "\ufeff")
	plain = strings.ReplaceAll(strings.ReplaceAll(plain, "\r\n", "\n"), "\r", "\n")
	r := &reader{starts: lineStarts(plain)}
	if !utf8.ValidString(plain) {
		at := strings.IndexFunc(plain, func(c rune) bool { return c == utf8.RuneError })
		r.report(at, "this is not UTF-8, so Python may not read the file")
		plain = strings.ToValidUTF8(plain, "?")
		r.starts = lineStarts(plain)
	}
	r.module = readModule(plain)
	if len(r.functions) > 0 || mentionsTool(plain) {
		for _, f := range r.faults {
			r.report(f.at, f.message)
		}
	} else {
		r.found = nil
	}
	return r
}

// mentionsTool reports whether a line looks like the decorator. Faults of a file without one are not reported.
func mentionsTool(text string) bool {
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "@"); ok && strings.Contains(name, "tool") {
			return true
		}
	}
	return false
}

func lineStarts(text string) []int {
	starts := []int{0}
	for i := range len(text) {
		if text[i] == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// line returns the line of a place, counted from 1.
func (r *reader) line(at int) int { return sort.SearchInts(r.starts, at+1) }

func (r *reader) report(at int, message string) {
	r.found = append(r.found, Fault{r.line(at), message})
}

// sortedFaults returns the faults by line, within their bound.
func (r *reader) sortedFaults() []Fault {
	slices.SortStableFunc(r.found, func(a, b Fault) int { return cmp.Compare(a.Line, b.Line) })
	faults := slices.Compact(r.found)
	return faults[:min(len(faults), maxFaults)]
}

// last returns the functions without those that a later one of the same name replaces.
func (r *reader) last() []function {
	final := map[string]int{}
	for i, f := range r.functions {
		final[f.name] = i
	}
	var functions []function
	for i, f := range r.functions {
		if final[f.name] == i {
			functions = append(functions, f)
		}
	}
	return functions
}

// toolCall reports whether a decorator is the one that makes a tool, called or not.
func (m *module) toolCall(d node) bool {
	if d.kind == nodeCall {
		d = *d.base
	}
	return d.kind == nodeName && (lastName(d.text) == "tool" || m.aliases[d.text])
}

// add makes a tool of a function.
func (r *reader) add(f function) {
	call := f.decorators[slices.IndexFunc(f.decorators, r.toolCall)]
	name, ok := r.nameOf(f, call)
	if !ok {
		return
	}
	tool := pannier.Tool{Name: name, Kind: pannier.ToolFunction, Line: r.line(f.at)}
	tool.Description = r.descriptionOf(f, call)
	tool.Parameters = parameters(f.params, argumentDocs(f.doc))
	if i := slices.IndexFunc(r.tools, func(t pannier.Tool) bool { return t.Name == name }); i >= 0 {
		r.report(f.at, fmt.Sprintf("the tool %s is there already, from line %d", name, r.tools[i].Line))
		return
	}
	r.tools = append(r.tools, tool)
}

// nameOf returns the name that a decorator gives, else that of the function.
func (r *reader) nameOf(f function, call node) (string, bool) {
	given, ok := call.argument("name", 0)
	if !ok {
		given, ok = call.argument("name_or_callable", 0)
	}
	switch {
	case !ok || (given.kind == nodeName && given.text == "None"):
		if slices.ContainsFunc(call.keys, func(key string) bool { return strings.HasPrefix(key, "*") }) {
			r.report(f.at, "the arguments of the decorator cannot be known without running it; the tool "+f.name+" may have another name")
		}
		return f.name, true
	case given.kind != nodeText:
		r.report(f.at, "the name that the decorator gives "+f.name+" cannot be known without running it: write it as a text")
	case strings.TrimSpace(given.text) == "" || len(given.text) > maxName || strings.ContainsFunc(given.text, unicode.IsControl):
		r.report(f.at, fmt.Sprintf("the name that the decorator gives %s is empty, longer than %d bytes, or has control characters", f.name, maxName))
	default:
		return given.text, true
	}
	return "", false
}

// descriptionOf returns what a decorator says of a tool, else what the docstring says.
func (r *reader) descriptionOf(f function, call node) string {
	given, ok := call.argument("description", -1)
	if ok && given.kind == nodeText && strings.TrimSpace(given.text) != "" {
		return shorten(strings.TrimSpace(given.text))
	}
	if ok && given.kind != nodeText && (given.kind != nodeName || given.text != "None") {
		r.report(f.at, "the description that the decorator gives "+f.name+" cannot be known without running it: write it as a text")
	}
	return describe(f.doc)
}

// parameters returns the schema of the arguments of a tool.
func parameters(params []param, docs map[string]string) json.RawMessage {
	var properties object
	var required []json.RawMessage
	rest := json.RawMessage(nil)
	for _, p := range params {
		switch {
		case p.stars == 2:
			rest = json.RawMessage("true")
			if values := schemaOf(p.annotation, 0); len(values) > 0 {
				rest = values.json()
			}
		case p.stars == 0 && !p.isInjected():
			property := slices.Clone(schemaOf(p.annotation, 0))
			if value, ok := p.value.literal(); ok && p.optional {
				property.set("default", value)
			}
			if said, ok := docs[p.name]; ok && !property.has("description") {
				property.describe(said)
			}
			properties.set(p.name, property.json())
			if !p.optional {
				required = append(required, quoted(p.name))
			}
		}
	}
	o := typed("object")
	o.set("properties", properties.json())
	if len(required) > 0 {
		o.set("required", array(required))
	}
	if rest != nil {
		o.set("additionalProperties", rest)
	}
	return o.json()
}
