package prompt

import (
	"cmp"
	"slices"
	"strings"

	"pannier"
)

const (
	skillsOpening = "<skills>\n"
	skillsClosing = "</skills>"
	skillEnd      = "</skill>\n"
)

// skillsXML shows every skill that has a body or tools only, ordered by slug, with its links and the files of its examples/. Over a limit a skill keeps its triggers, and gets its
// description, which else nothing tells.
//
// Aleph leaves a skill out that is disabled or of a scope that the turn has no use for. What is disabled is not active here
// in the first place, and scopes are not known.
func (r *Renderer) skillsXML(bodies map[string]string, into *Section) {
	whole := func(t *tier) string {
		return r.skillsHead(t.item).text + instructions(escape(strings.TrimSpace(pannier.CleanLines(bodies[t.Slug]))))
	}
	skills := tiers(bodies, into, func(e item) string { return r.skillsShort(e).text }, whole)
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

// skillsHead returns the element of a skill up to its instructions.
func (r *Renderer) skillsHead(e item) *block {
	return r.block(formSkillsHead, e, func(e *pannier.Entry) string {
		return `<skill id="` + e.Slug + `" name="` + escape(displayName(e)) + "\">\n" + triggers(e) + r.show.elements(e)
	})
}

// skillsShort returns the element of a skill without its body.
func (r *Renderer) skillsShort(e item) *block {
	return r.block(formSkillsShort, e, func(e *pannier.Entry) string {
		text := `<skill id="` + e.Slug + `" name="` + escape(displayName(e)) + "\">\n"
		if description := escape(fold(e.Description)); description != "" {
			text += "<description>\n" + description + "\n</description>\n"
		}
		if e.ToolsOnly {
			return text + triggers(e) + r.show.elements(e) + "<tools>\n" + escape(toolNames(e)) + "\n</tools>\n" + skillEnd
		}
		return text + triggers(e) + r.show.elements(e) +
			instructions("The instructions are not shown here. Read them with `GET /v1/skills/"+e.Slug+"/content`.")
	})
}

// triggers returns the element with the texts that call for a skill, nothing where there are none.
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

// instructions ends the element of a skill.
func instructions(text string) string {
	return "<instructions>\n" + text + "\n</instructions>\n" + skillEnd
}
