package prompt

import (
	"strings"

	"pannier"
)

// has reports whether there is a body to show.
func (t Texts) has(e item) bool {
	_, ok := t.Bodies[e.Slug]
	return ok && !e.toolsOnly
}

// part is what is shown of a skill behind its body: items between a begin and an end, neither of which is shown without an item.
type part struct {
	begin, end string
	items      []string
}

// resourceFormat is how a format that shows bodies shows resources.
type resourceFormat struct {
	links    func(item, []pannier.Link) part
	examples func(item, []pannier.ExampleFile) part
}

// withBodies returns the layout of a format that shows bodies. described writes a skill without its body, text one with its body and
// the text of its links and examples.
func (r *Renderer) withBodies(
	texts Texts, into *Section, described func(e item, description string) string, text func(e item, resources string) *block, format resourceFormat,
) layout {
	kept := func(write func(e item) *block) func(item) *block {
		made := make([]*block, len(into.items)) // by place
		return func(e item) *block {
			if made[e.place] == nil {
				if texts.has(e) {
					made[e.place] = write(e)
				} else {
					made[e.place] = newBlock(described(e, r.block(aboutSkill, e).text))
				}
			}
			return made[e.place]
		}
	}
	return layout{
		described: described,
		full:      kept(func(e item) *block { return text(e, format.write(e, texts.Resources[e.Slug])) }),
		lean:      kept(func(e item) *block { return text(e, "") }),
	}
}

// write writes links, then examples.
func (f resourceFormat) write(e item, found pannier.Resources) string {
	var b strings.Builder
	for _, p := range []part{f.links(e, found.Links), f.examples(e, found.Examples)} {
		if len(p.items) > 0 {
			b.WriteString(p.begin + strings.Join(p.items, "") + p.end)
		}
	}
	return b.String()
}

func about(l pannier.Link) string {
	title, description := fold(l.Title), fold(l.Description)
	if title != "" && description != "" {
		return title + ": " + description
	}
	return title + description
}

// moleculeResources shows links as a list, and each example below a line with its path. ours are the headings that the text of a
// skill must not have.
func moleculeResources(ours headings) resourceFormat {
	return resourceFormat{
		links: func(e item, links []pannier.Link) part {
			p := part{begin: "\nReference links:\n\n"}
			for _, l := range links {
				line := "- " + l.URL
				if text := about(l); text != "" {
					line += " (" + text + ")"
				}
				p.items = append(p.items, ours.escape(line, e.Slug)+"\n")
			}
			return p
		},
		examples: func(e item, examples []pannier.ExampleFile) part {
			var p part
			for _, x := range examples {
				text := ours.escape(strings.TrimSpace(pannier.CleanLines(x.Text)), e.Slug)
				p.items = append(p.items, "\nExample `"+strings.ReplaceAll(fold(x.Path), "`", "'")+"`:\n\n"+text+"\n")
			}
			return p
		},
	}
}

// skillsResources shows links and examples as elements behind the instructions.
var skillsResources = resourceFormat{
	links: func(_ item, links []pannier.Link) part {
		p := part{begin: "<links>\n", end: "</links>\n"}
		for _, l := range links {
			p.items = append(p.items, `<link href="`+escape(l.URL)+`">`+escape(about(l))+"</link>\n")
		}
		return p
	},
	examples: func(_ item, examples []pannier.ExampleFile) part {
		p := part{begin: "<examples>\n", end: "</examples>\n"}
		for _, e := range examples {
			text := escape(strings.TrimSpace(pannier.CleanLines(e.Text)))
			p.items = append(p.items, `<example file="`+escape(fold(e.Path))+"\">\n"+text+"\n</example>\n")
		}
		return p
	},
}
