package prompt

import (
	"strings"

	"pannier"
)

const (
	// OpenClaw is the indented XML of OpenClaw.
	OpenClaw = "openclaw"

	// openClawSkills is how many skills OpenClaw shows at most, whatever the limit is.
	openClawSkills = 150
	openClawHead   = "\n\nThe following skills provide specialized instructions for specific tasks.\n" +
		"Use the read tool to load a skill's file when the task matches its description.\n" +
		"When a skill file references a relative path, resolve it against the skill directory (parent of SKILL.md / dirname of the path)" +
		" and use that absolute path in tool commands.\n\n<available_skills>\n"
)

var openClaw = format{
	name:  OpenClaw,
	gives: "indented XML of OpenClaw after three lines of instructions", empty: "empty",
	render: (*Renderer).openClaw,
}

// openClaw shows at most [openClawSkills] skills, as OpenClaw does, by name. Where there are more, or no room for their descriptions, the
// names of all come first.
func (r *Renderer) openClaw(_ Texts, into *Section) {
	r.write(into, layout{
		begin: openClawHead, end: closing, most: openClawSkills, order: r.kept.names, least: leastXML,
		full:      func(e item) *block { return r.block(openClawElement, e) },
		described: func(e item, description string) string { return r.openClawText(e.Entry, description) },
		group:     openClawGroup, name: openClawName,
		names: func(lines string) string { return namesOpening + lines + namesClosing },
	})
}

var openClawGroup, openClawName = locationForms(openClawMarkup.Replace)

var openClawElement = newForm(func(r *Renderer, e *pannier.Entry) string { return r.openClawText(e, aboutEntry(e)) })

func (r *Renderer) openClawText(e *pannier.Entry, description string) string {
	return "  <skill>\n    <name>" + openClawMarkup.Replace(displayName(e)) + "</name>\n    <description>" + openClawMarkup.Replace(description) +
		"</description>\n    <location>" + openClawMarkup.Replace(pannier.CleanLine(Location(e.Skill, r.workspace))) +
		"</location>\n  </skill>\n"
}

var openClawMarkup = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;")
