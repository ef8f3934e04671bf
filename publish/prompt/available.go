package prompt

import (
	"strings"
	"unicode"

	"pannier"
)

const (
	opening = "<available_skills>\n"
	closing = "</available_skills>"
)

// availableSkills leaves out a skill that does not fit; smaller ones behind it may still fit.
func (r *Renderer) availableSkills(into *Section) {
	r.elements(into, formAvailable, func(e *pannier.Entry) string {
		return element(escape(displayName(e)), escape(fold(e.Description)), r.show.elements(e), escape(pannier.CleanLine(Location(e.Skill, r.workspace))))
	})
	if len(into.Parts) == 2 {
		into.Parts = into.Parts[:0]
	}
}

// availableSkillsReference writes the empty element where there is no skill, as the tool does.
func (r *Renderer) availableSkillsReference(into *Section) {
	if !into.fits(len(opening) + len(closing)) {
		return
	}
	r.elements(into, formReference, func(e *pannier.Entry) string {
		return element(escape(strip(e.Name)), escape(strip(e.Description)), "", Location(e.Skill, r.workspace))
	})
}

// elements adds the element with those skills that fit.
func (r *Renderer) elements(into *Section, f form, write func(*pannier.Entry) string) {
	into.add(opening)
	used := len(opening) + len(closing)
	for i, e := range into.items {
		if b := r.block(f, e, write); into.fits(used + b.size) {
			used += b.size
			into.shown[i] = true
			into.add(b.text)
		}
	}
	into.add(closing)
}

// element follows the layout of the reference tool: every text on lines of its own. more are elements of ours.
func element(name, description, more, location string) string {
	return "<skill>\n<name>\n" + name + "\n</name>\n<description>\n" + description + "\n</description>\n" + more + "<location>\n" +
		location + "\n</location>\n</skill>\n"
}

// strip drops the blanks at both ends that Python takes for some, which the reference tool is written in.
func strip(text string) string {
	return strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || '\x1c' <= r && r <= '\x1f' })
}

var markup = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;")

func escape(text string) string { return markup.Replace(text) }
