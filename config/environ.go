package config

import (
	"regexp"
	"slices"
	"strings"
)

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

// given returns what a variable gives for a setting.
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
