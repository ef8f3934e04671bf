package config

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"pannier"
	"pannier/internal/yamldoc"
)

// writtenRoot is a root before the workspace is known.
type writtenRoot struct {
	given
	path     string
	kind     pannier.SourceKind // empty: what its place says
	trust    pannier.Trust      // empty: the default
	implicit *bool              // nil: what its kind says
	targets  []string           // of links
}

// readRoots reads the roots: paths alone from flags and variables, mappings from the file.
func readRoots(d *draft, g given) (faults []*Fault) {
	d.roots = nil
	for _, text := range g.texts {
		faults = append(faults, d.addRoot(writtenRoot{given: g, path: text})...)
	}
	items, fault := g.items()
	if fault != nil {
		return []*Fault{fault}
	}
	for _, item := range items {
		faults = append(faults, d.readRoot(item)...)
	}
	if len(d.roots) == 0 && len(faults) == 0 {
		faults = append(faults, g.fault("there is no root", "name a directory of skills, or leave the setting out"))
	}
	return faults
}

func (d *draft) addRoot(r writtenRoot) []*Fault {
	if _, fault := parseGivenPath(r.path); fault != nil {
		return []*Fault{r.placed(fault)}
	}
	d.roots = append(d.roots, r)
	return nil
}

// readRoot reads one root of the settings file.
func (d *draft) readRoot(g given) (faults []*Fault) {
	if g.node.Kind() != yamldoc.Map {
		return []*Fault{g.fault("this is "+g.node.Kind().String()+", not a mapping", "write - path: and the directory")}
	}
	r := writtenRoot{given: g}
	for pair := range g.node.Pairs() {
		faults = append(faults, r.readKey(g.below("."+pair.Key, pair.Value, pair.Line), pair.Key)...)
	}
	if len(faults) > 0 {
		return faults
	}
	return d.addRoot(r)
}

// rootTrust is the trust of a root's skills by default: who fills a root may run the agent too.
const rootTrust = pannier.TrustVerified

func (r *writtenRoot) readKey(g given, key string) []*Fault {
	if g.node.Kind() == yamldoc.Null {
		return nil
	}
	switch key {
	case "path":
		return scalar(func(*draft) *string { return &r.path }, parseGivenPath)(nil, g)
	case "kind":
		return scalar(func(*draft) *pannier.SourceKind { return &r.kind }, parseKind)(nil, g)
	case "trust":
		return scalar(func(*draft) *pannier.Trust { return &r.trust }, parseTrust)(nil, g)
	case "implicit":
		r.implicit = new(bool)
		return scalar(func(*draft) *bool { return r.implicit }, parseBool)(nil, g)
	case "link_targets":
		return g.each(r.addTarget)
	}
	hint := "a root has path, kind, trust, implicit and link_targets"
	if near, ok := nearest(key, []string{"path", "kind", "trust", "implicit", "link_targets"}); ok {
		hint = "did you mean " + near + "?"
	}
	return []*Fault{g.fault("there is no such setting", hint)}
}

// addTarget adds a directory that links may lead into.
func (r *writtenRoot) addTarget(g given, text string) []*Fault {
	dir, fault := parseGivenPath(text)
	if fault != nil {
		return []*Fault{g.placed(fault)}
	}
	r.targets = append(r.targets, dir)
	return nil
}

func parseKind(text string) (pannier.SourceKind, *Fault) { return oneWord(pannier.SourceKinds(), text) }

func parseTrust(text string) (pannier.Trust, *Fault) { return oneWord(pannier.TrustLevels(), text) }

// oneWord reads one of a few words.
func oneWord[T ~string](of []T, text string) (T, *Fault) {
	words := make([]string, len(of))
	for i, word := range of {
		words[i] = string(word)
	}
	word, fault := oneOf(words...)(text)
	return T(word), fault
}

// blocking are the profiles that can make a skill unusable.
var blocking = []string{"agentskills_strict", "openclaw_compat", "molecule_audit"}

// readBlocking reads names of profiles.
func readBlocking(d *draft, g given) []*Fault {
	d.Blocking = nil
	return g.each(d.addBlocking)
}

func (d *draft) addBlocking(g given, name string) []*Fault {
	if _, fault := oneOf(blocking...)(name); fault != nil {
		return []*Fault{g.placed(fault)}
	}
	if !slices.Contains(d.Blocking, name) {
		d.Blocking = append(d.Blocking, name)
	}
	return nil
}

// readSkip reads names of directories.
func readSkip(d *draft, g given) []*Fault {
	d.Skip = nil
	return g.each(d.addSkip)
}

func (d *draft) addSkip(g given, name string) []*Fault {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, `/\`) {
		return []*Fault{g.fault(shown(name)+" is not the name of a directory", "write names alone: they count at every depth")}
	}
	d.Skip = append(d.Skip, name)
	return nil
}

// readUIDs reads the numbers of users.
func readUIDs(d *draft, g given) []*Fault {
	d.WriteUIDs = nil
	return g.each(d.addUID)
}

func (d *draft) addUID(g given, text string) []*Fault {
	const none = math.MaxUint32 // the (uid_t) -1 of the kernel names no user
	uid, err := strconv.ParseUint(text, 10, 32)
	if err != nil || uid == none {
		return []*Fault{g.fault(shown(text)+" is not the number of a user", "write what `id -u` says, such as 1000")}
	}
	d.WriteUIDs = append(d.WriteUIDs, uint32(uid))
	return nil
}

// readHeaders reads headers. No fault shows any part of what was given: where the parts are in the wrong place, a name
// is as secret as a value.
func readHeaders(d *draft, g given) (faults []*Fault) {
	d.platform.Headers = map[string]string{}
	for i, text := range withoutBlanks(g.texts) {
		name, value, ok := strings.Cut(text, "=")
		entry := fmt.Sprintf("entry %d ", i+1)
		if !ok {
			faults = append(faults, g.fault(entry+"is not of the form NAME=VALUE", "to write a value with a comma in a variable, end each entry with a line end"))
			continue
		}
		faults = append(faults, d.addHeader(g, entry, strings.TrimSpace(name), strings.TrimSpace(value))...)
	}
	return append(faults, d.readHeaderLines(g)...)
}

// readHeaderLines reads the headers of the settings file. Faults tell their lines in place of their names.
func (d *draft) readHeaderLines(g given) (faults []*Fault) {
	switch kind := g.node.Kind(); kind {
	case yamldoc.Missing:
	case yamldoc.Map:
		for pair := range g.node.Pairs() {
			faults = append(faults, d.readHeader(g.below("", pair.Value, pair.Line), pair.Key)...)
		}
	default:
		faults = append(faults, g.fault("this is "+kind.String()+", not a mapping", "write lines of the form `Name: value`, indented"))
	}
	return faults
}

func (d *draft) readHeader(g given, name string) []*Fault {
	value, fault := g.text()
	if fault != nil {
		return []*Fault{fault}
	}
	return d.addHeader(g, "the header ", name, value)
}

func (d *draft) addHeader(g given, entry, name, value string) []*Fault {
	canonical := http.CanonicalHeaderKey(name)
	_, twice := d.platform.Headers[canonical]
	switch {
	case !isToken(name):
		return []*Fault{g.fault(entry+"has a name that no header can have", "use letters, digits and dashes")}
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
		return []*Fault{g.fault(entry+"has a value with a control character", "look for a line end in it")}
	case twice:
		return []*Fault{g.fault(entry+"has the name of an earlier one", "remove one of the two")}
	}
	d.platform.Headers[canonical] = value
	return nil
}

// isToken reports whether a header can be called name (RFC 9110, section 5.6.2).
func isToken(name string) bool {
	const others = "!#$%&'*+-.^_`|~"
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		return !letter && !('0' <= r && r <= '9') && !strings.ContainsRune(others, r)
	})
}
