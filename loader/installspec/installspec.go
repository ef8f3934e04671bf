// Package installspec reads how a skill says that what it needs is installed: `metadata.<dialect>.install` as OpenClaw has
// it, and `install` as Aleph has it.
//
// What it reads is untrusted, and clients may run what it returns. So each spec is held against an allowlist: of kinds, of
// the keys of each kind, of the characters of a package name, and of the grammar that the installer gives such names, in
// which a word can also be a path, an address, an option or the order to remove something. What passes becomes argument
// vectors, which no shell has to see. What does not is listed with the reason, so that it is not taken for absent.
// Nothing is run here.
package installspec

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"pannier"
	"pannier/internal/yamldoc"
)

// MaxSpecs bounds the specs of one list.
const MaxSpecs = 64

// Read returns the install specs of a list, all of them, and the problems of those whose shape is wrong. field is the dotted
// key of the list. Line and Column of a problem count in the text that the value was parsed from, and its Path is left to
// the caller, who knows the file.
func Read(v yamldoc.Value, field string) ([]pannier.InstallSpec, []pannier.Problem) {
	l := &list{field: field}
	switch v.Kind() {
	case yamldoc.Missing, yamldoc.Null:
	case yamldoc.List:
		i := 0
		for item := range v.Items() {
			if i == MaxSpecs {
				l.warn("skill.install.many", field, item, fmt.Sprintf("there are more than %d install specs; those from here on are left out", MaxSpecs), "name fewer ways to install")
				break
			}
			l.read(item, fmt.Sprintf("%s[%d]", field, i))
			i++
		}
	case yamldoc.Map:
		l.warn("skill.type", field, v, "this is a mapping where a list belongs, and counts as a list of one", "write the specs as a list")
		l.read(v, field)
	case yamldoc.Text:
		l.read(v, field)
	}
	return l.specs, l.problems
}

type list struct {
	field    string
	specs    []pannier.InstallSpec
	problems []pannier.Problem
}

func (l *list) warn(code, field string, v yamldoc.Value, message, hint string) {
	l.problems = append(l.problems, pannier.Problem{
		Code: code, Severity: pannier.SeverityWarning, Line: v.Line(), Column: v.Column(), Field: field, Message: message, Hint: hint,
	})
}

func (l *list) read(v yamldoc.Value, field string) {
	if v.Kind() != yamldoc.Map {
		message := "this is " + v.Kind().String() + " where a mapping belongs"
		l.warn("skill.type", field, v, message, "write a mapping with `kind:` and the package")
		l.specs = append(l.specs, pannier.InstallSpec{Refused: message, Field: l.field})
		return
	}
	s := &spec{list: l, v: v, field: field, kind: strings.ToLower(l.text(v, field, "kind"))}
	if s.kind == "" {
		s.kind = strings.ToLower(l.text(v, field, "type"))
	}
	names := l.texts(v.Get("os"), field+".os")
	for i, name := range names {
		names[i] = pannier.NormalizeOS(strings.ToLower(name))
	}
	out := pannier.InstallSpec{
		ID: l.text(v, field, "id"), Kind: s.kind, Label: l.text(v, field, "label"),
		Bins: l.bins(v, field), OS: names, Field: l.field,
	}
	out.Commands, out.Refused = s.commands()
	l.specs = append(l.specs, out)
}

func (l *list) text(v yamldoc.Value, field, key string) string {
	return l.textOf(v.Get(key), field+"."+key)
}

func (l *list) textOf(v yamldoc.Value, field string) string {
	text, ok := v.Text()
	if !ok && v.Kind() != yamldoc.Missing && v.Kind() != yamldoc.Null {
		l.warn("skill.type", field, v, "this is "+v.Kind().String()+" where a text belongs, and counts as absent", "write one text")
	}
	return strings.TrimSpace(text)
}

func (l *list) texts(v yamldoc.Value, field string) []string {
	var all []string
	switch v.Kind() {
	case yamldoc.Text:
		text, _ := v.Text()
		all = strings.Split(text, ",")
	case yamldoc.List:
		for item := range v.Items() {
			all = append(all, l.textOf(item, field))
		}
	case yamldoc.Map:
		l.warn("skill.type", field, v, "this is a mapping where a list of texts belongs, and counts as absent", "write the items as a list")
	}
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return slices.DeleteFunc(all, func(text string) bool { return text == "" })
}

// bins returns the names of what a spec brings. A path is not the name of a binary.
func (l *list) bins(v yamldoc.Value, field string) []string {
	v, field = v.Get("bins"), field+".bins"
	return slices.DeleteFunc(l.texts(v, field), func(name string) bool {
		bad := checkWord(name) != "" || strings.Contains(name, "/")
		if bad {
			l.warn("skill.install.bins", field, v, fmt.Sprintf("%.80q is not the name of a binary, and counts as absent", name), "write the name alone, such as jq")
		}
		return bad
	})
}

// allowed are the characters of a package name besides letters and digits (Aleph, "InstallExecutor").
const allowed = "-_./:@+=~"

// maxWord bounds a package name.
const maxWord = 256

// checkWord returns why a word cannot be an argument, whatever installs it; "" where it can.
func checkWord(word string) string {
	switch {
	case word == "":
		return "it is empty"
	case len(word) > maxWord:
		return fmt.Sprintf("it is longer than %d bytes", maxWord)
	case word[0] == '-':
		return "it begins with a hyphen, so it would be an option"
	}
	for _, c := range word {
		if c > unicode.MaxASCII || (!isAlnum(byte(c)) && !strings.ContainsRune(allowed, c)) {
			return fmt.Sprintf("it has the character %q, and only letters of ASCII, digits and %s are allowed", c, allowed)
		}
	}
	return ""
}

func isAlnum(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}
