package config

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
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

// readRoots reads the roots: paths from flags and variables, paths or mappings from the file.
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

// readRoot reads one root of the settings file: a path or a mapping.
func (d *draft) readRoot(g given) (faults []*Fault) {
	r := writtenRoot{given: g}
	if path, ok := g.node.Text(); ok {
		r.path = path
		return d.addRoot(r)
	}
	if g.node.Kind() != yamldoc.Map {
		return []*Fault{g.fault("this is "+g.node.Kind().String()+", not a path or a mapping", "write - and the directory")}
	}
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
		return scalar(func(*draft) *pannier.SourceKind { return &r.kind }, func(s string) (pannier.SourceKind, *Fault) { return oneOf(pannier.SourceKinds(), s) })(nil, g)
	case "trust":
		return scalar(func(*draft) *pannier.Trust { return &r.trust }, func(s string) (pannier.Trust, *Fault) { return oneOf(pannier.TrustLevels(), s) })(nil, g)
	case "implicit":
		r.implicit = new(bool)
		return scalar(func(*draft) *bool { return r.implicit }, parseBool)(nil, g)
	case "link_targets":
		return texts(func(*draft) *[]string { return &r.targets }, parseGivenPath)(nil, g)
	}
	hint := suggest(key, []string{"path", "kind", "trust", "implicit", "link_targets"}, "", "a root has path, kind, trust, implicit and link_targets")
	return []*Fault{g.fault("there is no such setting", hint)}
}

// blocking are the profiles that can make a skill unusable, by the names that a catalog has for them.
var blocking = []string{"agentskills_strict", "openclaw_compat", "molecule_audit"}

// parseBlocking takes the name of a profile, in full or short, and returns it in full.
func parseBlocking(text string) (string, *Fault) {
	for _, name := range blocking {
		if text == name || text == pannier.ShortProfile(name) {
			return name, nil
		}
	}
	return oneOf([]string{"agentskills", "openclaw", "molecule"}, text)
}

// texts returns the reader of a list of texts. A repeated one counts once.
func texts[T comparable](field func(*draft) *[]T, parse func(text string) (T, *Fault)) reader {
	return func(d *draft, g given) []*Fault {
		all := field(d)
		*all = nil
		return g.each(func(g given, text string) []*Fault {
			value, fault := parse(text)
			if fault != nil {
				return []*Fault{g.placed(fault)}
			}
			if !slices.Contains(*all, value) {
				*all = append(*all, value)
			}
			return nil
		})
	}
}

func parseSkip(name string) (string, *Fault) {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, `/\`) {
		return "", &Fault{Message: shown(name) + " is not the name of a directory", Hint: "write names alone: they count at every depth"}
	}
	return name, nil
}

// parseOrigin takes an origin as a browser sends it (RFC 6454, section 6.2): a scheme, a host in small letters, and a port unless it
// is that of the scheme.
func parseOrigin(text string) (string, *Fault) {
	u, err := url.Parse(text)
	wrong := err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || text != u.Scheme+"://"+u.Host
	never := func(r rune) bool { // in the host of an origin, which is written into headers
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("-._:[]", r)
	}
	if wrong || strings.ContainsFunc(u.Host, never) || strings.HasSuffix(u.Host, ":") {
		return "", &Fault{Message: shown(text) + " is not an origin", Hint: "write a scheme and a host in small ASCII letters (xn--… for others), such as https://canvas.example, without a path and without *"}
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
			return "", &Fault{Message: shown(text) + " has no port that a browser sends", Hint: "write a number from 1 to 65535, without zeros before it"}
		}
	}
	if usual := map[string]string{"http": "80", "https": "443"}[u.Scheme]; u.Port() == usual {
		return "", &Fault{Message: shown(text) + " has the usual port of its scheme, which browsers leave out", Hint: "leave :" + usual + " out"}
	}
	return text, nil
}

func parseUID(text string) (uint32, *Fault) {
	const none = math.MaxUint32 // the (uid_t) -1 of the kernel names no user
	uid, err := strconv.ParseUint(text, 10, 32)
	if err != nil || uid == none {
		return 0, &Fault{Message: shown(text) + " is not the number of a user", Hint: "write what `id -u` says, such as 1000"}
	}
	return uint32(uid), nil
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
	return append(faults, g.pairs("write lines of the form `Name: value`, indented", func(at given, name string) []*Fault {
		at.name = g.name
		value, fault := at.text()
		if fault != nil {
			return []*Fault{fault}
		}
		return d.addHeader(at, "the header ", name, value)
	})...)
}

func (d *draft) addHeader(g given, entry, name, value string) []*Fault {
	canonical := http.CanonicalHeaderKey(name)
	_, twice := d.platform.Headers[canonical]
	switch {
	case !isToken(name):
		return []*Fault{g.fault(entry+"has a name that no header can have", "use letters, digits and dashes")}
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
		return []*Fault{g.fault(entry+"has a value with a control character", "remove the line end in it")}
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
