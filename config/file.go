package config

import (
	"errors"
	"io/fs"
	"strings"

	"pannier/internal/yamldoc"
)

type settingsFile struct {
	path   string
	values map[string]given // nil where the file could not be read or parsed
	// further are the platforms behind the first, each as values is, with where it stands under platformSection.
	further []map[string]given
	faults  []*Fault
}

func openSettings(path string) *settingsFile {
	f := &settingsFile{path: path}
	text, _, err := readFile(path)
	if err != nil {
		r := refusalOf(err)
		if errors.Is(err, fs.ErrNotExist) {
			r = &refusal{
				message: "the settings file does not exist", hint: "correct --config or PANNIER_CONFIG, or leave it out",
			}
		}
		f.add(&Fault{File: path, Line: r.line, Message: r.message, Hint: r.hint})
		return f
	}
	doc, repeated, err := yamldoc.Parse(text)
	for i := range repeated {
		f.add(f.syntax(&repeated[i]))
	}
	if fault, ok := errors.AsType[*yamldoc.Fault](err); ok {
		f.add(f.syntax(fault))
		return f
	}
	f.values = map[string]given{}
	f.walk("", "", doc, f.values)
	return f
}

func (f *settingsFile) add(fault *Fault) { f.faults = append(f.faults, fault) }

// syntax takes over a fault of the YAML itself.
func (f *settingsFile) syntax(fault *yamldoc.Fault) *Fault {
	return &Fault{File: f.path, Line: fault.Line, Message: strings.TrimSuffix(fault.Message, "; this one counts"), Hint: fault.Hint}
}

// walk takes the settings of a mapping into values: the whole file, or a section of it. called is what faults call the
// section.
func (f *settingsFile) walk(section, called string, m yamldoc.Value, values map[string]given) {
	for pair := range m.Pairs() {
		g := given{name: called + pair.Key, file: f.path, line: pair.Line, node: pair.Value}
		key := section + pair.Key
		_, known := settingOf(key)
		dotted := strings.Contains(pair.Key, ".")
		switch {
		case known && !dotted:
			values[key] = g
		case section == "" && !dotted && isSection(g.name):
			switch kind := g.node.Kind(); {
			case kind == yamldoc.Null:
			case kind == yamldoc.Map:
				f.walk(g.name+".", g.name+".", g.node, f.values)
			case kind == yamldoc.List && g.name == platformSection:
				f.enterPlatforms(g)
			default:
				f.add(g.fault("this is "+kind.String()+", not a mapping", "write its settings on lines of their own, indented"))
			}
		default:
			f.add(g.fault("there is no such setting", suggestKey(key)))
		}
	}
}

// given returns what the file gives for a setting. A key without a value gives nothing.
func (f *settingsFile) given(key string) (given, bool) {
	if f == nil {
		return given{}, false
	}
	g, ok := f.values[key]
	return g, ok && g.node.Kind() != yamldoc.Null
}
