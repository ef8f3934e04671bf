package prompt

import (
	"path"
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

	namesOpening = "<skill_names>\n"
	// namesClosing says what to do with the names of skills that are not described.
	namesClosing = "Not all are described here. Find the one for a task with find_skills, or read its file.\n</skill_names>\n"

	// noneFits and the tool begin a section that has no room for a single name.
	noneFits = "There are skills that do not fit here. Find the one for a task"
	leastXML = opening + namesOpening + noneFits + " with find_skills.\n</skill_names>\n" + closing
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
	return r.availableText(e, aboutEntry(e))
})

func (r *Renderer) availableText(e *pannier.Entry, description string) string {
	location := escape(pannier.CleanLine(Location(e.Skill, r.workspace)))
	return element(escape(displayName(e)), escape(description), location)
}

var referenceElement = newForm(func(r *Renderer, e *pannier.Entry) string {
	return element(escape(pannier.TrimBlanks(e.Name)), escape(pannier.TrimBlanks(e.Description)), Location(e.Skill, r.workspace))
})

func (r *Renderer) availableSkills(_ Texts, into *Section) {
	r.write(into, layout{
		begin: opening, end: closing, least: leastXML,
		full:      func(e item) *block { return r.block(availableElement, e) },
		described: func(e item, description string) string { return r.availableText(e.Entry, description) },
		group:     availableGroup, name: availableName,
		names: func(lines string) string { return namesOpening + lines + namesClosing },
	})
}

// locationForms are the label of skills whose files lie alike, which is the directory that holds their folders, and their folders as
// names.
func locationForms(escape func(string) string) (group, name *form) {
	group = newForm(func(r *Renderer, e *pannier.Entry) string {
		at := pannier.CleanLine(Location(e.Skill, r.workspace))
		if e.File == "" {
			return escape(path.Dir(at)+"/NAME") + ": "
		}
		return escape(path.Dir(path.Dir(at))+"/NAME/"+path.Base(at)) + ": "
	})
	return group, newForm(func(_ *Renderer, e *pannier.Entry) string { return escape(pannier.CleanLine(path.Base(e.Path))) })
}

var availableGroup, availableName = locationForms(escape)

// availableSkillsReference writes an empty element without skills, as the reference tool does. A skill that does not fit is left out;
// smaller ones after it may still fit. The order is that of the resolution.
func (r *Renderer) availableSkillsReference(_ Texts, into *Section) {
	used := sizeOf(opening).plus(sizeOf(closing))
	if !into.budget.allows(used) {
		return
	}
	into.add(opening)
	for _, e := range into.items {
		if b := r.block(referenceElement, e); into.budget.allows(used.plus(b.size)) {
			used = used.plus(b.size)
			into.add(b.text)
			into.show(e, whole)
		}
	}
	into.add(closing)
}

// element follows the layout of the reference tool: every text on lines of its own.
func element(name, description, location string) string {
	return "<skill>\n<name>\n" + name + "\n</name>\n<description>\n" + description + "\n</description>\n<location>\n" +
		location + "\n</location>\n</skill>\n"
}

var markup = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;")

func escape(text string) string { return markup.Replace(text) }
