// Package pytool finds the tools in a Python file: functions with the decorator `@tool`. It reads the text with its own lexer
// and never imports or runs anything, so a file from anywhere can be read.
//
// A function counts if an import of the file defines it: on the top level, or in an `if` or a `try` there. Methods and nested
// functions do not. The decorator is recognized by its name: `tool`, with or without a module before it, with or without
// arguments, or the name that `from … import tool as …` gives it. One of a value, such as `@mcp.tool`, registers the function with a
// server, and does not count.
//
// A subclass of `BaseTool` on the top level is a tool too, with its literal name and description, and the method `_run`. One that
// has no such name, or that needs arguments to be made, is returned with a fault.
//
// A tool has the name, the docstring and the parameters of its function, unless the decorator gives others. A docstring in the style
// of Google, NumPy or Sphinx describes the parameters too. Their JSON Schema has the type hints that are plain
// types: str, int, float, bool, None, lists, mappings, unions, Literal and described types. Other types have no constraint,
// because the call validates its arguments itself. A default is a text, a number, True, False or None; another one only makes its
// parameter optional. A tool with a computed name is a [Fault] and is not listed; it does not affect the others.
package pytool

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
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

// A docstring of up to shortDoc characters is a description as it is, otherwise its first paragraph. No description is longer
// than maxDescription.
const (
	shortDoc       = 400
	maxDescription = 1024
)

// Fault is something that looks like a tool and cannot be read, or only in part.
type Fault struct {
	// Line counts from 1; 0 is the whole file.
	Line    int
	Message string
}

// mentionsTool finds a line that looks like the decorator. Faults of a file without one are not reported.
var mentionsTool = regexp.MustCompile(`(?m)^[ \t\f]*@.*tool`)

// Read returns the tools of a Python file in source order, without their path, and what kept others from being one. Line is
// the line of the `def`. Of functions with one name the last counts, as in Python. A text without the word `tool` has neither.
func Read(text []byte) ([]pannier.Tool, []Fault) {
	hasClasses := bytes.Contains(text, []byte(baseTool))
	if !hasClasses && (!bytes.Contains(text, []byte("tool")) || !bytes.Contains(text, []byte("@"))) {
		return nil, nil
	}
	if len(text) > MaxFileBytes {
		return nil, []Fault{{Message: fmt.Sprintf("the file has more than %d bytes, so it is not searched for tools", MaxFileBytes)}}
	}
	if at := bytes.IndexByte(text, 0); at >= 0 {
		return nil, []Fault{{Line: 1 + bytes.Count(text[:at], []byte("\n")), Message: "there is a NUL character, which Python does not read"}}
	}
	plain := strings.TrimPrefix(string(text), "\ufeff")
	plain = strings.ReplaceAll(strings.ReplaceAll(plain, "\r\n", "\n"), "\r", "\n")
	invalid := -1
	if !utf8.ValidString(plain) {
		invalid = strings.IndexRune(plain, utf8.RuneError)
		plain = strings.ToValidUTF8(plain, "?")
	}
	m := readModule(plain)
	if invalid >= 0 {
		m.fault(invalid, "this is not UTF-8, so Python may not read the file")
	}
	if len(m.functions) == 0 && !mentionsTool.MatchString(plain) && !slices.ContainsFunc(m.classes, class.isTool) {
		return nil, nil
	}
	m.addTools()
	m.addClasses()
	slices.SortStableFunc(m.faults, func(a, b Fault) int { return cmp.Compare(a.Line, b.Line) })
	faults := slices.Compact(m.faults)
	return m.tools, faults[:min(len(faults), maxFaults)]
}

// addTools makes tools of the functions, except of those that a later one of the same name replaces.
func (m *module) addTools() {
	last := map[string]int{}
	for i, f := range m.functions {
		last[f.name] = i
	}
	for i, f := range m.functions {
		if last[f.name] != i {
			continue
		}
		if len(m.tools) == MaxTools {
			m.fault(f.at, fmt.Sprintf("there are more than %d tools; those from here on are left out", MaxTools))
			return
		}
		name, ok := m.nameOf(f)
		if !ok {
			continue
		}
		if i := slices.IndexFunc(m.tools, func(t pannier.Tool) bool { return t.Name == name }); i >= 0 {
			m.fault(f.at, fmt.Sprintf("the tool %s is there already, from line %d", name, m.tools[i].Line))
			continue
		}
		tool := pannier.Tool{
			Name: name, Kind: pannier.RuntimePython, Line: m.line(f.at), Description: m.descriptionOf(f),
			Parameters: parameters(f.params, describedParams(cleanDoc(f.doc))),
		}
		if f.name != name {
			tool.Function = f.name
		}
		m.tools = append(m.tools, tool)
	}
}

func (m *module) nameOf(f function) (string, bool) {
	given, ok := argument(f.arguments, "name", 0)
	if !ok {
		given, ok = argument(f.arguments, "name_or_callable", -1)
	}
	if !ok || isNone(given) {
		if slices.ContainsFunc(f.arguments, func(a []token) bool { return a[0].is("**") || a[0].is("*") }) {
			m.fault(f.at, "the arguments of the decorator cannot be known without running it; the tool "+f.name+" may have another name")
		}
		return f.name, true
	}
	name, ok := textOf(given)
	switch {
	case !ok:
		m.fault(f.at, "the name that the decorator gives "+f.name+" cannot be known without running it: write it as a text")
	case strings.TrimSpace(name) == "" || len(name) > maxName || strings.ContainsFunc(name, unicode.IsControl):
		m.fault(f.at, fmt.Sprintf("the name that the decorator gives %s is empty, longer than %d bytes, or has control characters", f.name, maxName))
		ok = false
	}
	return name, ok
}

// descriptionOf returns the description that a decorator gives, else the docstring.
func (m *module) descriptionOf(f function) string {
	if given, ok := argument(f.arguments, "description", -1); ok && !isNone(given) {
		text, known := textOf(given)
		if text = strings.TrimSpace(text); known && text != "" {
			return pannier.Truncate(text, maxDescription)
		}
		if !known {
			m.fault(f.at, "the description that the decorator gives "+f.name+" cannot be known without running it: write it as a text")
		}
	}
	doc := strings.TrimSpace(cleanDoc(f.doc))
	if utf8.RuneCountInString(doc) <= shortDoc {
		return doc
	}
	paragraph := blankLine.Split(doc, 2)[0]
	return pannier.Truncate(strings.TrimSpace(paragraph), maxDescription)
}

var blankLine = regexp.MustCompile(`\n\s*\n`)

// argument returns an argument of a call by its name, or by its place among those without a name.
func argument(arguments [][]token, name string, place int) ([]token, bool) {
	for i, a := range arguments {
		named := len(a) > 1 && a[0].kind == tokenName && a[1].is("=")
		switch {
		case named && a[0].text == name:
			return a[2:], true
		case !named && i == place && !a[0].is("*") && !a[0].is("**"):
			return a, true
		}
	}
	return nil, false
}

func isNone(tokens []token) bool { return len(tokens) == 1 && tokens[0].isWord("None") }

// cleanDoc removes the indentation of a docstring, as inspect.cleandoc does.
func cleanDoc(doc string) string {
	lines := strings.Split(doc, "\n")
	margin := math.MaxInt
	for i, line := range lines {
		var b strings.Builder
		for i, part := range strings.Split(line, "\t") {
			if i > 0 {
				b.WriteString("        "[b.Len()%8:])
			}
			b.WriteString(part)
		}
		lines[i] = b.String()
		if text := strings.TrimLeft(lines[i], " "); i > 0 && text != "" {
			margin = min(margin, len(lines[i])-len(text))
		}
	}
	for i, line := range lines {
		if i == 0 {
			lines[i] = strings.TrimLeft(line, " ")
		} else {
			lines[i] = line[min(margin, len(line)):]
		}
	}
	return strings.Join(lines, "\n")
}
