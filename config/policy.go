package config

import (
	"strings"

	"pannier"
	"pannier/internal/yamldoc"
)

// The switches of a skill, as people write them.
const (
	switchEnabled   = "enabled"
	switchImplicit  = "allow_implicit_invocation"
	switchTools     = "tools"
	switchOverrides = "overrides"
)

var switches = []string{switchEnabled, switchImplicit, switchTools, switchOverrides}

// readPolicySkills reads the switches of skills: SLUG:SWITCH=BOOL from flags and variables, mappings from the file.
func readPolicySkills(d *draft, g given) (faults []*Fault) {
	d.Policy.Skills = map[string]pannier.Switches{}
	for _, text := range withoutBlanks(g.texts) {
		faults = append(faults, d.readSwitchText(g, text)...)
	}
	hint := "write lines of the form `slug: {enabled: false}`, indented"
	return append(faults, g.pairs(hint, func(g given, slug string) []*Fault {
		if fault := checkSlug(g, slug); fault != nil {
			return []*Fault{fault}
		}
		return g.pairs("write {enabled: false}, for example", func(g given, name string) []*Fault {
			return d.setSwitch(g, slug, name)
		})
	})...)
}

func (d *draft) readSwitchText(g given, text string) []*Fault {
	slug, rest, colon := strings.Cut(text, ":")
	name, value, equals := strings.Cut(rest, "=")
	if !colon || !equals {
		return []*Fault{g.fault(shown(text)+" is not of the form SLUG:SWITCH=BOOL", "write an entry such as pdf:enabled=false")}
	}
	if fault := checkSlug(g, slug); fault != nil {
		return []*Fault{fault}
	}
	value, said := strings.TrimSpace(value), d.Policy.Skills[slug]
	if field := switchField(&said, name); field != nil && *field != nil {
		return []*Fault{g.fault(shown(slug+":"+name)+" is there already", "remove one of the two")}
	}
	return d.setSwitch(given{name: g.name, texts: []string{value}}, slug, name)
}

// setSwitch sets one switch to what g gives. A key without a value leaves it open.
func (d *draft) setSwitch(g given, slug, name string) []*Fault {
	said := d.Policy.Skills[slug]
	field := switchField(&said, name)
	if field == nil {
		return []*Fault{g.fault(shown(name)+" is not a switch of a skill", suggest(name, switches, "", "a skill has enabled, allow_implicit_invocation, tools and overrides"))}
	}
	if g.node.Kind() == yamldoc.Null {
		return nil
	}
	*field = new(bool)
	if faults := scalar(func(*draft) *bool { return *field }, parseBool)(nil, g); len(faults) > 0 {
		return faults
	}
	d.Policy.Skills[slug] = said
	return nil
}

func switchField(s *pannier.Switches, name string) **bool {
	switch name {
	case switchEnabled:
		return &s.Enabled
	case switchImplicit:
		return &s.AllowImplicit
	case switchTools:
		return &s.Tools
	case switchOverrides:
		return &s.Overrides
	}
	return nil
}

// checkSlug refuses what no skill can be called.
func checkSlug(g given, slug string) *Fault {
	right := pannier.Slugify(slug)
	switch {
	case right == "":
		return g.fault(shown(slug)+" is not a slug", "use lower-case letters, digits and single hyphens, as `pannier list` shows them")
	case right != slug:
		return g.fault(shown(slug)+" is not a slug", "write "+right)
	}
	return nil
}
