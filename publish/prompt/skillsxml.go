package prompt

import (
	"cmp"
	"slices"
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

// skillsXML shows every skill that has a body or tools only, ordered by slug, with its links and the files of its examples/. Over a limit a skill keeps its triggers, and gets its
// description, which else nothing tells.
//
// Aleph leaves a skill out that is disabled or of a scope that the turn has no use for. What is disabled is not active here
// in the first place, and scopes are not known.
func (r *Renderer) skillsXML(bodies map[string]string, into *Section) {
	whole := func(t *tier) string {
		return r.block(skillsHead, t.item).text + instructions(escape(strings.TrimSpace(pannier.CleanLines(bodies[t.Slug]))))
	}
	skills := tiers(bodies, into, func(e item) string { return r.block(skillsShort, e).text }, whole)
	empty := len(skillsOpening) + len(skillsClosing)
	used := keepShort(skills, empty, into)
	used = showWhole(skills, used, bodies, into, whole)
	if r.showResources(skills, used, skillsResources, into) == empty {
		return
	}
	slices.SortFunc(skills, func(a, b *tier) int { return cmp.Compare(a.Slug, b.Slug) })
	into.add(skillsOpening)
	for _, t := range skills {
		into.add(t.text)
	}
	into.add(skillsClosing)
}

var skillsHead = newForm(func(r *Renderer, e *pannier.Entry) string {
	return skillsOpen(e) + triggers(e)
})

var skillsShort = newForm(func(r *Renderer, e *pannier.Entry) string {
	text := skillsOpen(e)
	if description := escape(fold(e.Description)); description != "" {
		text += "<description>\n" + description + "\n</description>\n"
	}
	text += triggers(e)
	if e.ToolsOnly {
		return text + "<tools>\n" + escape(toolNames(e)) + "\n</tools>\n" + skillEnd
	}
	return text + instructions("The instructions are not shown here. Read them with `GET /v1/skills/"+e.Slug+"/content`.")
})

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

func instructions(text string) string {
	return "<instructions>\n" + text + "\n</instructions>\n" + skillEnd
}
