package prompt

import (
	"fmt"
	"slices"
	"strings"

	"pannier"
)

const (
	// catalogCut stands where skills are left out of a catalog.
	catalogCut = "This list is cut: it has no room for %d of the skills.\n"
	// maxActivationFiles bounds the files that an activation lists.
	maxActivationFiles = 100
)

// Catalog lists skills for the instructions of a server: one line each, as many as fit in so many code points; 0 means no limit.
func Catalog(entries []*pannier.Entry, maxChars int) string {
	lines := make([]string, len(entries))
	all := 0
	for i, e := range entries {
		lines[i] = "- `" + e.Slug + "`: " + fold(e.Description) + "\n"
		all += runes(lines[i])
	}
	if maxChars <= 0 || all <= maxChars {
		return strings.Join(lines, "")
	}
	var text strings.Builder
	left, room := 0, maxChars-len(fmt.Sprintf(catalogCut, len(entries)))
	for _, line := range lines {
		if size := runes(line); size <= room {
			room -= size
			text.WriteString(line)
		} else {
			left++
		}
	}
	if room >= 0 {
		fmt.Fprintf(&text, catalogCut, left)
	}
	return text.String()
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
