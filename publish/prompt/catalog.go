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

// Catalog lists skills of a snapshot for the instructions of a server, in the order of config.yaml, then by slug: a line for each.
// Where they do not fit in so many code points, the first line names all of them, then more says how to find the others, and their
// descriptions are cut as those of a prompt.
func Catalog(s *pannier.Snapshot, entries []*pannier.Entry, maxChars int, more string) string {
	active := make([]pannier.ActiveSkill, len(entries))
	for i, e := range slices.SortedStableFunc(slices.Values(entries), func(a, b *pannier.Entry) int { return cmp.Compare(a.Rank, b.Rank) }) {
		active[i] = pannier.ActiveSkill{Slug: e.Slug, Reason: pannier.ViaImplicit}
	}
	r := NewRenderer(s, "")
	into := &Section{budget: Budget{MaxChars: maxChars}, items: r.items(active, nil), shown: make([]level, len(active))}
	for i := range into.items {
		into.items[i].place = int32(i)
	}
	described := func(e item, description string) string {
		return strings.TrimSuffix("- `"+e.Slug+"`: "+description, ": ") + "\n"
	}
	r.write(into, layout{
		full:      func(e item) *block { return newBlock(described(e, r.block(aboutSkill, e).text)) },
		described: described,
		name:      slugName,
		names:     func(lines string) string { return "Skills of this workspace: " + lines + more },
	})
	return strings.Join(into.Parts, "")
}

// Activation returns the text that hands a skill to a model, as the guide for clients of the Agent Skills specification recommends,
// and the content with the same cleaned texts.
func Activation(c pannier.Content) (string, pannier.Content) {
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
	return text.String(), c
}
