package config

import (
	"fmt"

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

// fault makes a fault that names the place.
func (g given) fault(message, hint string) *Fault {
	return g.placed(&Fault{Message: message, Hint: hint})
}

// placed gives a fault its place.
func (g given) placed(f *Fault) *Fault {
	f.Name, f.File, f.Line = g.name, g.file, g.line
	return f
}

// below is a part of what is given.
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
