package prompt

import (
	"strings"

	"pannier"
)

const (
	// Molecule is the section "## Your Skills" of a Molecule workspace.
	Molecule = "molecule"
	// MoleculeSystem is the whole system prompt of a Molecule workspace as far as a sidecar knows it.
	MoleculeSystem = "molecule_system"

	// moleculeHead begins and each skill ends with a line feed, so that the section joins those around it with one between.
	moleculeHead     = "\n## Your Skills\n"
	moleculeExamples = "\nExamples of requests that this skill is for:\n\n"
)

var molecule = format{
	name:  Molecule,
	gives: "section `## Your Skills` of a Molecule workspace, with bodies",
	empty: "empty", needsBodies: allBodies,
	render: (*Renderer).molecule,
}

var moleculeSystem = format{
	name:  MoleculeSystem,
	gives: "whole system prompt of a Molecule workspace",
	empty: "the prompt files", needsBodies: allBodies,
	render: (*Renderer).moleculeSystem,
}

// molecule shows every skill in the order of config.yaml, with the requests that its author gives as
// examples, its links and the files of its examples/, and the peers behind them. Over a limit the names of all skills come first, then
// peers, then the bodies and descriptions of those that the turn is about.
func (r *Renderer) molecule(texts Texts, into *Section) {
	ours := headings{}
	for _, e := range into.items {
		ours.add(r.block(moleculeName, e).text, e.Slug)
	}
	head := func(e item, description string) string {
		text := "\n### " + r.block(moleculeName, e).text + "\n"
		if description != "" {
			text += ours.escape(description, e.Slug) + "\n"
		}
		return text
	}
	described := func(e item, description string) string {
		if e.toolsOnly {
			return head(e, description) + "Tools: " + toolNames(e.Entry) + "\n"
		}
		return head(e, description) + "The instructions are not shown here. Read them with `GET /v1/skills/" + e.Slug + "/content`.\n"
	}
	l := r.withBodies(texts, into, described, func(e item, resources string) *block {
		body := ours.escape(strings.TrimSpace(pannier.CleanLines(texts.Bodies[e.Slug])), e.Slug)
		return newBlock(head(e, r.block(aboutSkill, e).text) + body + "\n" + moleculeRequests(e.Entry, ours) + resources)
	}, moleculeResources(ours))
	l.begin = moleculeHead
	l.name = slugName
	l.names = func(lines string) string { return "\n" + lines + namesByRequest }
	room := into.budget.room(size{})
	if len(into.items) > 0 && room < 1<<30 {
		room /= 4
	}
	if text, _ := peersSection(r.peers, room); text != "" && into.budget.allows(sizeOf(text)) {
		l.end = text
	}
	l.least = moleculeHead + "\n" + noneFits + " with find_skills (`POST /v1/find`).\n" + l.end
	before := len(into.Parts)
	if r.write(into, l); len(into.Parts) == before && l.end != "" {
		into.add(l.end)
	}
}

// moleculeSystem puts the files of the prompt before the section, each part a line feed behind the one before it; a file
// without a text is left out. The files are the owner's: they are neither cut nor escaped, and the limit is for the
// section alone.
//
// Of a workspace's prompt these parts are not known to a sidecar, and so left out: the platform's instructions, the parent's
// context, the platform's rules and guidelines, and what to do where delegation fails.
func (r *Renderer) moleculeSystem(texts Texts, into *Section) {
	for _, f := range r.snapshot.Workspace.Prompts {
		if f.Text != "" {
			into.add(f.Text)
			into.add("\n")
		}
	}
	before := len(into.Parts)
	r.molecule(texts, into)
	if len(into.Parts) == before {
		into.Parts = into.Parts[:max(0, before-1)] // no line feed behind the last file
	}
}

// moleculeName is what a skill's heading says: its name, unless that reads like another section of the prompt, else its
// slug, which has no blanks and so never does.
var moleculeName = newForm(func(_ *Renderer, e *pannier.Entry) string {
	if name := displayName(e); !promptTitle(title(name)) {
		return name
	}
	return e.Slug
})

func moleculeRequests(e *pannier.Entry, ours headings) string {
	var b strings.Builder
	for _, example := range e.Examples {
		if text := ours.escape(fold(example), e.Slug); text != "" {
			b.WriteString("- " + text + "\n")
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return moleculeExamples + b.String()
}
