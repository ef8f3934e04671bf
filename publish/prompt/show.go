package prompt

import (
	"strings"

	"pannier"
)

// Show says what a prompt shows of each skill besides its name and its description. Both are off by default, to keep catalogs
// short. [AvailableSkillsReference] never shows them.
type Show struct {
	// Compatibility shows the author's words on what the skill needs.
	Compatibility bool
	// AllowedTools shows the tools that the author expects it to use. They are a hint: they permit nothing.
	AllowedTools bool
}

// extra is something that is shown of a skill: its key in the frontmatter, what people call it, its value on one line.
type extra struct{ key, label, value string }

// of returns what is shown of a skill, neutralised, but escaped for no format.
func (s Show) of(e *pannier.Entry) (extras []extra) {
	add := func(shown bool, x extra) {
		if shown && x.value != "" {
			extras = append(extras, x)
		}
	}
	add(s.Compatibility, extra{"compatibility", "Compatibility", fold(e.Compatibility)})
	add(s.AllowedTools, extra{"allowed-tools", "Allowed tools", foldList(e.AllowedTools)})
	return extras
}

func foldList(texts []string) string {
	var said []string
	for _, text := range texts {
		if text = fold(text); text != "" {
			said = append(said, text)
		}
	}
	return strings.Join(said, ", ")
}

func (s Show) elements(e *pannier.Entry) string {
	var b strings.Builder
	for _, x := range s.of(e) {
		b.WriteString("<" + x.key + ">\n" + escape(x.value) + "\n</" + x.key + ">\n")
	}
	return b.String()
}

func (s Show) lines(e *pannier.Entry, indent string) string {
	var b strings.Builder
	for _, x := range s.of(e) {
		b.WriteString(indent + x.label + ": " + x.value + "\n")
	}
	return b.String()
}
