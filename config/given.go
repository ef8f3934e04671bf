package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"pannier/internal/yamldoc"
)

// given is the raw value of a setting, before it is checked: texts of flags or a variable, or a part of the
// settings file.
type given struct {
	name  string // of the setting, as the writer spelled it
	texts []string
	file  string // path of the settings file, if it stands there
	line  int
	node  yamldoc.Value
}

func (g given) fault(message, hint string) *Fault {
	return g.placed(&Fault{Message: message, Hint: hint})
}

func (g given) placed(f *Fault) *Fault {
	f.Name, f.File, f.Line = g.name, g.file, g.line
	return f
}

func (g given) below(suffix string, node yamldoc.Value, line int) given {
	return given{name: g.name + suffix, file: g.file, line: line, node: node}
}

// text returns the one value. As everywhere, the last of repeated flags counts.
func (g given) text() (string, *Fault) {
	if n := len(g.texts); n > 0 {
		return g.texts[n-1], nil
	}
	text, ok := g.node.Text()
	if !ok {
		return "", g.fault("this is "+g.node.Kind().String()+", not a single value", "write the value on the line of the key")
	}
	return text, nil
}

// items returns the items of a list in the settings file; flags and variables have none.
func (g given) items() ([]given, *Fault) {
	if g.node.Kind() == yamldoc.Missing {
		return nil, nil
	}
	if g.node.Kind() != yamldoc.List {
		return nil, g.fault("this is "+g.node.Kind().String()+", not a list", "write each item on a line that begins with a dash")
	}
	var items []given
	for node := range g.node.Items() {
		items = append(items, g.below(fmt.Sprintf("[%d]", len(items)), node, node.Line()))
	}
	return items, nil
}

// pairs hands over the entries of a mapping in the settings file; flags and variables have none.
func (g given) pairs(hint string, add func(g given, key string) []*Fault) (faults []*Fault) {
	switch kind := g.node.Kind(); kind {
	case yamldoc.Missing, yamldoc.Null:
	case yamldoc.Map:
		for pair := range g.node.Pairs() {
			faults = append(faults, add(g.below("."+pair.Key, pair.Value, pair.Line), pair.Key)...)
		}
	default:
		faults = []*Fault{g.fault("this is "+kind.String()+", not a mapping", hint)}
	}
	return faults
}

// each hands over the entries of a list of texts: in flags and variables separated by commas, in the file a list.
func (g given) each(add func(g given, text string) []*Fault) (faults []*Fault) {
	for _, text := range g.texts {
		for _, entry := range splitCommas(text) {
			faults = append(faults, add(g, entry)...)
		}
	}
	items, fault := g.items()
	if fault != nil {
		return []*Fault{fault}
	}
	for _, item := range items {
		if text, fault := item.text(); fault != nil {
			faults = append(faults, fault)
		} else {
			faults = append(faults, add(item, text)...)
		}
	}
	return faults
}

// Fault is one thing wrong with the settings. The error of [Load] joins them; errors.As finds the first, and its
// Unwrap() []error lists them all.
type Fault struct {
	// Name is the setting in the spelling of its source: --delete-grace, PANNIER_DELETE_GRACE or delete_grace.
	Name string
	// File and Line, counted from 1, are where it stands, if in the settings file.
	File string
	Line int
	// Message says what is wrong, Hint what to do. Neither holds a secret.
	Message, Hint string
}

// Error returns the fault on one line: place, name, what is wrong, and the hint in brackets.
func (f *Fault) Error() string {
	var b strings.Builder
	if f.File != "" {
		b.WriteString(f.File)
		if f.Line > 0 {
			b.WriteString(":" + strconv.Itoa(f.Line))
		}
		b.WriteString(": ")
	}
	if f.Name != "" {
		b.WriteString(onOneLine(f.Name) + ": ")
	}
	b.WriteString(onOneLine(f.Message))
	if f.Hint != "" {
		b.WriteString(" (" + onOneLine(f.Hint) + ")")
	}
	return b.String()
}

func joined(faults []*Fault) error {
	errs := make([]error, len(faults))
	for i, f := range faults {
		errs[i] = f
	}
	return errors.Join(errs...)
}

// onOneLine returns text as it is, unless it holds something that would break the line or the terminal.
func onOneLine(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}

// shown returns a faulty value for a message, in quotes and of a length that leaves the message readable.
func shown(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return fmt.Sprintf("%q", text)
}

const variablePrefix = "PANNIER_"

// variables are the variables of the process that are not empty. An empty one counts as not set: manifests and compose
// files pass on what they do not have as nothing.
type variables map[string]string

// variablesOf reads the form of [os.Environ]; of repeated ones the first counts, as with [os.Getenv].
func variablesOf(environ []string) variables {
	v := make(variables, len(environ))
	for _, entry := range environ {
		name, text, _ := strings.Cut(entry, "=")
		if _, repeated := v[name]; !repeated {
			v[name] = text
		}
	}
	return v
}

func (v variables) given(name string, split func(string) []string) (given, bool) {
	text := v[name]
	if name == "" || text == "" {
		return given{}, false
	}
	if split == nil {
		return given{name: name, texts: []string{text}}, true
	}
	return given{name: name, texts: split(text)}, true
}

// serviceLink matches the variables that Kubernetes gives every pod for a service that is called pannier, or
// pannier-something (Kubernetes documentation, "Environment variables" of services; Docker's legacy links).
var serviceLink = regexp.MustCompile(`^PANNIER_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)

// unknown returns a fault for each PANNIER_* variable that is not a setting.
func (v variables) unknown() (faults []*Fault) {
	known := []string{configFile.variable()[len(variablePrefix):]} // without what would make everything look near
	for i := range table {
		known = append(known, table[i].variable()[len(variablePrefix):])
	}
	for name := range v {
		bare, ours := strings.CutPrefix(name, variablePrefix)
		if ours && !serviceLink.MatchString(name) && !slices.Contains(known, bare) {
			faults = append(faults, &Fault{Name: name, Message: "there is no such setting", Hint: suggest(bare, known, variablePrefix, listHint)})
		}
	}
	slices.SortFunc(faults, func(a, b *Fault) int { return strings.Compare(a.Name, b.Name) })
	return faults
}

const listHint = "pannier help settings lists every setting"

// suggestKey returns the hint for an unknown key of the settings file. In a section that exists only its keys are compared,
// without the name of the section: that would make everything in it look near.
func suggestKey(key string) string {
	section, rest, nested := strings.Cut(key, ".")
	if _, known := settingOf(key); known {
		return "write " + rest + " on a line of its own, indented below " + section + ":"
	}
	if !nested {
		section, rest = "", key
	}
	prefix := ""
	if isSection(section) {
		prefix = section + "."
	}
	var candidates []string
	for i := range table {
		if candidate, ok := strings.CutPrefix(table[i].key, prefix); ok {
			candidates = append(candidates, candidate)
		}
	}
	return suggest(rest, candidates, prefix, listHint)
}

// suggest returns a hint that names what text most likely means, after a prefix: the name that text is the end of, else the one
// with the fewest typing errors. If these are many, it returns another hint.
func suggest(text string, names []string, prefix, otherwise string) string {
	best, least := "", max(1, len(text)/3)+1
	for _, name := range names {
		if strings.HasSuffix(name, "."+text) || strings.HasSuffix(name, "_"+text) {
			best = name
			break
		}
		if d := typingErrors(text, name); d < least {
			best, least = name, d
		}
	}
	if best == "" {
		return otherwise
	}
	return "did you mean " + prefix + best + "?"
}

// typingErrors counts the letters that were left out, added, mistaken or swapped with the next between a and b (optimal
// string alignment distance).
func typingErrors(a, b string) int {
	const farApart = 1 << 10
	if max(len(a), len(b)) > farApart {
		return farApart
	}
	var before []int // the row before the last
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			mistaken := 1
			if a[i-1] == b[j-1] {
				mistaken = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+mistaken)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
