package prompt

import (
	"cmp"
	"slices"
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
	empty: "empty", needsBodies: allBodies, unbounded: true,
	render: (*Renderer).molecule,
}

var moleculeSystem = format{
	name:  MoleculeSystem,
	gives: "whole system prompt of a Molecule workspace",
	empty: "the prompt files", needsBodies: allBodies, unbounded: true,
	render: (*Renderer).moleculeSystem,
}

// molecule shows every skill that has a body or tools only, in the order of config.yaml, with the requests that its author gives as
// examples, its links and the files of its examples/, and the peers behind them. Over a limit, skills keep their names and
// descriptions first, then peers are put in, then bodies, links and files.
func (r *Renderer) molecule(bodies map[string]string, into *Section) {
	ours := r.moleculeHeadings(bodies, into)
	skills, write := r.moleculeTiers(bodies, ours, into)
	used := keepShort(skills, len(moleculeHead), into)
	if used == len(moleculeHead) {
		used = 0
	}
	peers, size := peersSection(r.peers, into.room(used))
	used = showWhole(skills, used+size, bodies, into, write)
	if used = r.showResources(skills, used, moleculeResources(ours), into); used > size {
		slices.SortStableFunc(skills, func(a, b *tier) int { return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Slug, b.Slug)) })
		into.add(moleculeHead)
		for _, s := range skills {
			into.add(s.text)
		}
	}
	if peers != "" {
		into.add(peers)
	}
}

// moleculeSystem puts the files of the prompt before the section, each part a line feed behind the one before it; a file
// without a text is left out. The files are the owner's: they are neither cut nor escaped, and the limit is for the
// section alone.
//
// Of a workspace's prompt these parts are not known to a sidecar, and so left out: the platform's instructions, the parent's
// context, the platform's rules and guidelines, and what to do where delegation fails.
func (r *Renderer) moleculeSystem(bodies map[string]string, into *Section) {
	for _, f := range r.snapshot.Workspace.Prompts {
		if f.Text != "" {
			into.add(f.Text)
			into.add("\n")
		}
	}
	before := len(into.Parts)
	r.molecule(bodies, into)
	if len(into.Parts) == before {
		into.Parts = into.Parts[:max(0, before-1)] // no line feed behind the last file
	}
}

func (r *Renderer) moleculeHeadings(bodies map[string]string, into *Section) headings {
	ours := headings{}
	for _, e := range into.items {
		if _, ok := bodies[e.Slug]; ok || e.toolsOnly {
			ours.add(r.block(moleculeName, e).text, e.Slug)
		}
	}
	return ours
}

// moleculeTiers returns the skills that have a body, and what writes one whole.
func (r *Renderer) moleculeTiers(bodies map[string]string, ours headings, into *Section) ([]*tier, func(*tier) string) {
	heads := make([]string, len(into.items)) // by the place of an item
	write := func(t *tier) string {
		body := ours.escape(strings.TrimSpace(pannier.CleanLines(bodies[t.Slug])), t.Slug)
		return heads[t.place] + body + "\n" + moleculeRequests(t.Entry, ours)
	}
	return tiers(bodies, into, func(e item) string {
		heads[e.place] = "\n### " + r.block(moleculeName, e).text + "\n" + ours.escape(r.block(moleculeDescription, e).text, e.Slug)
		if e.toolsOnly {
			return heads[e.place] + "Tools: " + toolNames(e.Entry) + "\n"
		}
		return heads[e.place] + "The instructions are not shown here. Read them with `GET /v1/skills/" + e.Slug + "/content`.\n"
	}, write), write
}

// moleculeName is what a skill's heading says: its name, unless that reads like another section of the prompt, else its
// slug, which has no blanks and so never does.
var moleculeName = newForm(func(_ *Renderer, e *pannier.Entry) string {
	if name := displayName(e); !promptTitle(title(name)) {
		return name
	}
	return e.Slug
})

var moleculeDescription = newForm(func(r *Renderer, e *pannier.Entry) string {
	text := fold(e.Description)
	if text != "" {
		text += "\n"
	}
	return text
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
