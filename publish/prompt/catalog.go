package prompt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pannier"
)

// maxActivationFiles bounds the files that an activation lists.
const maxActivationFiles = 100

// Catalog lists skills of a snapshot for a model that has no turn, in the order of config.yaml, then by slug: a line that begins with
// heading and names them, more, then a line for each with its description. Where they do not fit in maxBytes, descriptions are cut as
// evenly as those of a prompt, and the first line says how many skills it does not name. The result is empty where no name fits.
func Catalog(s *pannier.Snapshot, entries []*pannier.Entry, maxBytes int, heading, more string) string {
	entries = slices.SortedStableFunc(slices.Values(entries), func(a, b *pannier.Entry) int { return cmp.Compare(a.Rank, b.Rank) })
	active := make([]pannier.ActiveSkill, len(entries))
	named, names, others := 0, "", ""
	for i, e := range entries {
		active[i] = pannier.ActiveSkill{Slug: e.Slug, Reason: pannier.ViaImplicit}
		if named < i {
			continue // one before it did not fit
		}
		longer := strings.TrimPrefix(names+", "+e.Slug, ", ")
		if len(heading+longer+" and 10000 more\n"+more) <= maxBytes*namesPercent/100 {
			named, names = i+1, longer
		}
	}
	if named == 0 {
		return ""
	}
	if named < len(entries) {
		others = fmt.Sprintf(" and %d more", len(entries)-named)
	}
	head := heading + names + others + "\n" + more
	r := NewRenderer(s, "")
	described := func(e item, description string) string {
		return strings.TrimSuffix("- "+e.Slug+": "+description, ": ") + "\n"
	}
	room := maxBytes - len(head)
	for maxChars := room; maxChars > 0; {
		into := &Section{budget: Budget{MaxChars: maxChars}, items: r.items(active, nil), shown: make([]level, len(active))}
		for i := range into.items {
			into.items[i].place = int32(i)
		}
		r.shorten(into, layout{
			full:      func(e item) *block { return newBlock(described(e, r.block(aboutSkill, e).text)) },
			described: described, group: noGroup, name: slugName,
			names: func(string) string { return "" },
		})
		text := strings.Join(into.Parts, "")
		if len(text) <= room {
			return head + text
		}
		maxChars = maxChars * room / len(text) // a budget counts code points, of which some take more than one byte
	}
	return head
}

// Activation returns the text that hands a skill to a model, as the guide for clients of the Agent Skills specification recommends.
func Activation(c pannier.Content) string {
	c.Body = strings.ReplaceAll(strings.TrimSpace(pannier.CleanLines(c.Body)), "</skill_content", `<\/skill_content`)
	c.ResourcesTruncated = c.ResourcesTruncated || len(c.Resources) > maxActivationFiles
	c.Resources = slices.Clone(c.Resources[:min(len(c.Resources), maxActivationFiles)])
	for i, file := range c.Resources {
		c.Resources[i] = pannier.CleanLine(file)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "<skill_content name=\"%s\">\n%s\n\nSkill directory: %s\n", escape(c.Slug), c.Body, pannier.CleanLine(c.Directory))
	text.WriteString("Relative paths in this skill are relative to the skill directory; read_skill_file returns its files.\n")
	if len(c.Resources) > 0 {
		text.WriteString("<skill_resources>\n")
		for _, file := range c.Resources {
			text.WriteString("<file>" + escape(file) + "</file>\n")
		}
		if c.ResourcesTruncated {
			text.WriteString("There are more files than are listed here.\n")
		}
		text.WriteString("</skill_resources>\n")
	}
	text.WriteString("</skill_content>")
	return text.String()
}
