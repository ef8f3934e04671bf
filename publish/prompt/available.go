package prompt

import (
	"strings"

	"pannier"
)

const (
	// AvailableSkills is the XML of the Agent Skills reference tool, with everything escaped and folded.
	AvailableSkills = "available_skills"
	// AvailableSkillsReference is byte for byte what the reference tool writes. It is not hardened: texts keep their lines
	// and invisible characters, and locations are not escaped.
	AvailableSkillsReference = "available_skills_reference"

	opening = "<available_skills>\n"
	closing = "</available_skills>"
)

var availableSkills = format{
	name:  AvailableSkills,
	gives: "XML of the Agent Skills reference tool, escaped", empty: "empty",
	render: (*Renderer).availableSkills,
}

var availableSkillsReference = format{
	name:  AvailableSkillsReference,
	gives: "byte for byte the output of the reference tool",
	empty: "an empty element", unbounded: true,
	render: (*Renderer).availableSkillsReference,
}

var availableElement = newForm(func(r *Renderer, e *pannier.Entry) string {
	location := escape(pannier.CleanLine(Location(e.Skill, r.workspace)))
	return element(escape(displayName(e)), escape(fold(e.Description)), location)
})

var referenceElement = newForm(func(r *Renderer, e *pannier.Entry) string {
	return element(escape(pannier.TrimBlanks(e.Name)), escape(pannier.TrimBlanks(e.Description)), Location(e.Skill, r.workspace))
})

// availableSkills leaves out a skill that does not fit; smaller ones after it may still fit.
func (r *Renderer) availableSkills(_ map[string]string, into *Section) {
	r.elements(into, availableElement)
	if len(into.Parts) == 2 {
		into.Parts = into.Parts[:0]
	}
}

// availableSkillsReference writes an empty element without skills, as the reference tool does.
func (r *Renderer) availableSkillsReference(_ map[string]string, into *Section) {
	if !into.fits(len(opening) + len(closing)) {
		return
	}
	r.elements(into, referenceElement)
}

func (r *Renderer) elements(into *Section, f *form) {
	into.add(opening)
	r.list(into, f, len(opening)+len(closing))
	into.add(closing)
}

// element follows the layout of the reference tool: every text on lines of its own. more are elements of ours.
func element(name, description, location string) string {
	return "<skill>\n<name>\n" + name + "\n</name>\n<description>\n" + description + "\n</description>\n<location>\n" +
		location + "\n</location>\n</skill>\n"
}

var markup = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;")

func escape(text string) string { return markup.Replace(text) }
