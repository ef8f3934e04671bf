// Package fields is the table of the frontmatter fields that pannier reads. The loader, the profiles, repair, lint and the table
// in docs/SKILLS.md follow from it.
package fields

import (
	"slices"

	"pannier"
)

// Field is one field of a frontmatter.
type Field struct {
	// Name is the key at the top of the frontmatter; empty for a field that stands below `metadata` only.
	Name string
	// OpenClaw is the key below `metadata.openclaw` and its aliases; empty for none.
	OpenClaw string
	// Text, List and Flag return where a skill holds the value. At most one is set, and it is the type of the field.
	Text func(*pannier.Skill) *string
	List func(*pannier.Skill) *[]string
	Flag func(*pannier.Skill) *bool
	// Split says how one text in place of a list is split.
	Split Split
	// Default is the value of an absent flag.
	Default bool
	// Custom fields are read by a function of the loader. It fills what Text, List or Flag returns.
	Custom bool
	// Profiles are those with a rule on the field at the top of the frontmatter.
	Profiles Profile
	// Prose is how much free text the field holds. A text that is not YAML is repaired in these fields only.
	Prose Prose
	// Required fields are never dropped, because they identify the skill.
	Required bool
	// Restricts is set on fields that limit what a skill may do. These are never dropped.
	Restricts bool
	// Shape and Meaning are the cells of the field in docs/SKILLS.md. An empty shape follows from the type.
	Shape, Meaning string
}

// Profile is a set of validation profiles.
type Profile uint8

const (
	// AgentSkills allows the field.
	AgentSkills Profile = 1 << iota
	// Pioneer checks the type of the field.
	Pioneer
	// Molecule, ClawHub and OpenClaw read the field at the top only, so that a skill cannot move it below `metadata`.
	Molecule
	ClawHub
	OpenClaw
)

// Prose is how much free text a field holds.
type Prose uint8

const (
	NotProse Prose = iota
	OneLine
	ManyLines
)

// Readers names the profiles whose platforms read a field at the top only, in the order of reports.
func (f *Field) Readers() []string {
	var names []string
	for _, p := range []struct {
		profile Profile
		name    string
	}{{Molecule, "molecule"}, {ClawHub, "clawhub"}, {OpenClaw, "openclaw"}} {
		if f.Profiles&p.profile != 0 {
			names = append(names, p.name)
		}
	}
	return names
}

// Named returns the field of a name, or nil.
func Named(name string) *Field {
	if i := slices.IndexFunc(Table, func(f Field) bool { return f.Name == name }); i >= 0 {
		return &Table[i]
	}
	return nil
}

// Names returns the names of the fields that match, in the order of the table.
func Names(match func(*Field) bool) []string {
	var names []string
	for i := range Table {
		if f := &Table[i]; f.Name != "" && match(f) {
			names = append(names, f.Name)
		}
	}
	return names
}

// ProseOf returns how much free text a field of any name holds.
func ProseOf(name string) Prose {
	if f := Named(name); f != nil {
		return f.Prose
	}
	return otherProse[name]
}

// otherProse are fields of free text that pannier does not read, and other spellings.
var otherProse = map[string]Prose{
	"title": OneLine, "displayName": OneLine, "display_name": OneLine, "display-name": OneLine, "argument-hint": OneLine,
	"author": OneLine, "short_description": ManyLines, "short-description": ManyLines, "summary": ManyLines,
	"read_when": ManyLines, "read-when": ManyLines, "when_to_use": ManyLines,
}
