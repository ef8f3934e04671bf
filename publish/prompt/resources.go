package prompt

import (
	"strings"

	"pannier"
)

// part is what is shown of a skill behind its body: items between a begin and an end, neither of which is shown without an item.
type part struct {
	begin, end string
	items      []string
}

// resourceFormat is how a format that shows bodies shows resources.
type resourceFormat struct {
	// end ends the text of a skill; resources go before it.
	end      string
	links    func(*tier, []pannier.Link) part
	examples func(*tier, []pannier.ExampleFile) part
}

// showResources adds to the skills whose body is shown first links, then examples, in the order of the resolution, as far as
// there is room, and returns what is used with them. An item is shown whole or left out; a skill that lacks one counts as
// omitted.
func (r *Renderer) showResources(skills []*tier, used int, format resourceFormat, into *Section) int {
	var whole []*tier
	for _, t := range skills {
		if found, ok := r.resources[t.Slug]; ok && into.shown[t.place] {
			into.shown[t.place] = !found.Incomplete
			whole = append(whole, t)
		}
	}
	for _, t := range whole {
		if links := r.resources[t.Slug].Links; len(links) > 0 {
			used = t.append(format.links(t, links), format.end, used, into)
		}
	}
	for _, t := range whole {
		if examples := r.resources[t.Slug].Examples; len(examples) > 0 {
			used = t.append(format.examples(t, examples), format.end, used, into)
		}
	}
	return used
}

// append adds the items of a part that fit before the end of a skill, and returns what is used then.
func (t *tier) append(p part, end string, used int, into *Section) int {
	var b strings.Builder
	size := runes(p.begin) + runes(p.end)
	for _, item := range p.items {
		if n := runes(item); into.fits(used + size + n) {
			b.WriteString(item)
			size += n
		} else {
			into.shown[t.place] = false
		}
	}
	if b.Len() == 0 {
		return used
	}
	t.text = strings.TrimSuffix(t.text, end) + p.begin + b.String() + p.end + end
	return used + size
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
		links: func(t *tier, links []pannier.Link) part {
			p := part{begin: "\nReference links:\n\n"}
			for _, l := range links {
				line := "- " + l.URL
				if text := about(l); text != "" {
					line += " (" + text + ")"
				}
				p.items = append(p.items, ours.escape(line, t.Slug)+"\n")
			}
			return p
		},
		examples: func(t *tier, examples []pannier.ExampleFile) part {
			var p part
			for _, e := range examples {
				text := ours.escape(strings.TrimSpace(pannier.CleanLines(e.Text)), t.Slug)
				p.items = append(p.items, "\nExample `"+strings.ReplaceAll(fold(e.Path), "`", "'")+"`:\n\n"+text+"\n")
			}
			return p
		},
	}
}

// skillsResources shows links and examples as elements behind the instructions.
var skillsResources = resourceFormat{
	end: skillEnd,
	links: func(_ *tier, links []pannier.Link) part {
		p := part{begin: "<links>\n", end: "</links>\n"}
		for _, l := range links {
			p.items = append(p.items, `<link href="`+escape(l.URL)+`">`+escape(about(l))+"</link>\n")
		}
		return p
	},
	examples: func(_ *tier, examples []pannier.ExampleFile) part {
		p := part{begin: "<examples>\n", end: "</examples>\n"}
		for _, e := range examples {
			text := escape(strings.TrimSpace(pannier.CleanLines(e.Text)))
			p.items = append(p.items, `<example file="`+escape(fold(e.Path))+"\">\n"+text+"\n</example>\n")
		}
		return p
	},
}
