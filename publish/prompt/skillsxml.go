package prompt

import (
	"strings"

	"pannier"
)

const (
	// SkillsXML is the element "skills" of Aleph.
	SkillsXML = "skills_xml"

	skillsOpening = "<skills>\n"
	skillsClosing = "</skills>"
	skillEnd      = "</skill>\n"
)

var skillsXML = format{
	name:  SkillsXML,
	gives: "element `<skills>` of Aleph, with bodies",
	empty: "empty", needsBodies: allBodies,
	render: (*Renderer).skillsXML,
}

// skillsXML shows every skill, ordered by slug, with its links and the files of its examples/. Over a
// limit the names of all come first, then the bodies and descriptions of those that the turn is about.
//
// Aleph leaves a skill out that is disabled or of a scope that the turn has no use for. What is disabled is not active here
// in the first place, and scopes are not known.
func (r *Renderer) skillsXML(texts Texts, into *Section) {
	text := func(e item, resources string) *block {
		body := "<instructions>\n" + escape(strings.TrimSpace(pannier.CleanLines(texts.Bodies[e.Slug]))) + "\n</instructions>\n"
		return newBlock(skillsOpen(e.Entry) + triggers(e.Entry) + body + resources + skillEnd)
	}
	described := func(e item, description string) string {
		if e.toolsOnly {
			return skillsText(e.Entry, description, "<tools>\n"+escape(toolNames(e.Entry))+"\n</tools>\n"+skillEnd)
		}
		return skillsText(e.Entry, description, "<instructions>\nThe instructions are not shown here. Read them with `GET /v1/skills/"+e.Slug+
			"/content`.\n</instructions>\n"+skillEnd)
	}
	l := r.withBodies(texts, into, described, text, skillsResources)
	l.begin, l.end = skillsOpening, skillsClosing
	l.order = r.kept.slugs
	l.name = slugName
	l.least = skillsOpening + namesOpening + noneFits + " with find_skills (`POST /v1/find`).\n</skill_names>\n" + skillsClosing
	l.names = func(lines string) string { return namesOpening + lines + namesByRequest + "</skill_names>\n" }
	r.write(into, l)
}

// namesByRequest says what to do with the names of skills that are not described, where the agent asks the sidecar.
const namesByRequest = "Not all are described here. Find the one for a task with find_skills (`POST /v1/find`), read one with `GET /v1/skills/NAME/content`.\n"

func skillsText(e *pannier.Entry, description, rest string) string {
	text := skillsOpen(e)
	if description = escape(description); description != "" {
		text += "<description>\n" + description + "\n</description>\n"
	}
	return text + rest
}

func skillsOpen(e *pannier.Entry) string {
	return `<skill id="` + e.Slug + `" name="` + escape(displayName(e)) + "\">\n"
}

func triggers(e *pannier.Entry) string {
	var b strings.Builder
	for _, trigger := range e.Triggers {
		if text := escape(fold(trigger)); text != "" {
			b.WriteString("<trigger>" + text + "</trigger>\n")
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "<triggers>\n" + b.String() + "</triggers>\n"
}
