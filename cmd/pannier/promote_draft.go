package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pannier"
	"pannier/internal/plain"
)

// The bounds of a draft: of its slug and its description, as the Agent Skills specification has them, and of one note.
const (
	maxDraftSlug        = 64
	maxDraftDescription = 1024
	maxDraftNote        = 4000
)

// draftSteps are the fields of a packet that may say how the workflow goes. They are sections of their own, in this order.
var draftSteps = []struct{ key, title string }{
	{"when", "When to use it"},
	{"preconditions", "Before you begin"},
	{"steps", "Steps"},
	{"procedure", "Steps"},
	{"workflow", "Steps"},
	{"what changed", "What changed"},
	{"verification", "How to tell that it worked"},
	{"pitfalls", "What to watch for"},
}

// draftOf returns the SKILL.md that a packet leads to, for people to review, and the slug of its folder. It says no more than
// the packet does: what the packet has no words for is left to the reviewer.
func draftOf(p pannier.Promotion) (slug, text string) {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(p.Packet, &fields) // a packet is an object: ParsePromotion has seen to it
	slug = draftSlug(p.Summary)
	description, _ := json.Marshal(plain.Shorten(p.Summary, maxDraftDescription))
	var b strings.Builder
	fmt.Fprintf(&b, "---\nname: %s\ndescription: %s\nversion: \"0.1.0\"\ndisable-model-invocation: true\n---\n\n# %s\n\n", slug, description, oneLine(p.Summary))
	b.WriteString("This is a draft that was made of a memory packet. Review it, write down when it is to be used, and take out\n`disable-model-invocation` before it is used without being asked for.\n")
	used := map[string]bool{"promote_to_skill": true, "repetition_signal": true, "summary": true, "title": true}
	for _, section := range draftSteps {
		if note := noteOf(fields[section.key]); note != "" {
			fmt.Fprintf(&b, "\n## %s\n\n%s\n", section.title, note)
			used[section.key] = true
		}
	}
	fmt.Fprintf(&b, "\n## Why this is a skill\n\n%s\n", noteOf(p.Repetition))
	heading := "\n## Notes from the packet\n\n"
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if note := noteOf(fields[key]); !used[key] && note != "" { // no section has it
			fmt.Fprintf(&b, "%s- %s: %s\n", heading, oneLine(key), strings.ReplaceAll(note, "\n", "\n  "))
			heading = ""
		}
	}
	return slug, b.String()
}

// draftSlug returns the slug of a summary, cut where a word ends.
func draftSlug(summary string) string {
	slug := pannier.Slugify(summary)
	if slug == "" {
		return "drafted-skill"
	}
	if len(slug) <= maxDraftSlug {
		return slug
	}
	if at := strings.LastIndexByte(slug[:maxDraftSlug+1], '-'); at > 0 {
		return slug[:at]
	}
	return slug[:maxDraftSlug]
}

// noteOf returns a value of a packet as Markdown: a text as it is, a list of texts as its items, anything else as JSON.
func noteOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return pannier.Truncate(strings.TrimSpace(plain.Lines(text)), maxDraftNote)
	}
	var items []string
	if json.Unmarshal(raw, &items) == nil {
		var b strings.Builder
		for i, item := range items {
			fmt.Fprintf(&b, "%d. %s\n", i+1, oneLine(item))
		}
		return pannier.Truncate(strings.TrimSpace(b.String()), maxDraftNote)
	}
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	return "`" + pannier.Truncate(strings.ReplaceAll(string(raw), "`", "'"), maxDraftNote) + "`"
}

func oneLine(text string) string { return strings.Join(strings.Fields(plain.Lines(text)), " ") }
