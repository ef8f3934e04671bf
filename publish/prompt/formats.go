package prompt

import "pannier"

// formats lists every format, the default first. API, completion and docs/PROMPTS.md follow from it. Settings follow from
// [pannier.PromptFormats], which has the same names; TestFormats compares both.
var formats = []*format{&compact, &availableSkills, &availableSkillsReference, &openClaw, &skillsXML, &molecule, &moleculeSystem}

// format is one format of the section, declared in the file that renders it.
type format struct {
	name string
	// gives and empty describe the text, with skills and without, in docs/PROMPTS.md.
	gives, empty string
	// needsBodies says whose bodies the format shows.
	needsBodies bodyNeed
	// unbounded formats have no limit if the turn sets none.
	unbounded bool
	render    func(r *Renderer, texts Texts, into *Section)
}

type bodyNeed int

const (
	noBodies   bodyNeed = iota
	pathBodies          // of skills that match a path of the turn
	allBodies
)

// formatNamed returns a format. The default one stands for an empty or unknown name.
func formatNamed(name string) *format {
	for _, f := range formats {
		if f.name == name {
			return f
		}
	}
	return formats[0]
}

// Formats returns the names of all formats, the default first.
func Formats() []string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = f.name
	}
	return names
}

// NeedsBodies reports whether a format shows the body of every skill.
func NeedsBodies(format string) bool { return formatNamed(format).needsBodies == allBodies }

// Bounded reports whether a format has a limit if the turn sets none.
func Bounded(format string) bool { return !formatNamed(format).unbounded }

// Bodies returns the slugs of the skills whose bodies a format can show in a turn, in the order of the resolution.
func Bodies(format string, a Active) []string {
	need := formatNamed(format).needsBodies
	if need == noBodies {
		return nil
	}
	var slugs []string
	for i := range a.Named {
		if s := &a.Named[i]; need == allBodies || s.Reason == pannier.ViaPath {
			slugs = append(slugs, s.Slug)
		}
	}
	for _, span := range a.Spans {
		for _, e := range a.Rest.items[span.From:span.To] {
			if need == allBodies || e.byPath {
				slugs = append(slugs, e.slug)
			}
		}
	}
	return slugs
}
