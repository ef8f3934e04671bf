package prompt

import (
	"strings"
	"unicode"

	"pannier"
)

const (
	opening = "<available_skills>\n"
	closing = "</available_skills>"
)

// availableSkills leaves out a skill that does not fit; smaller ones behind it may still fit.
func availableSkills(items []item, o Options) (string, map[string]bool) {
	text, shown := elements(items, o, func(e *pannier.Entry) string {
		return element(escape(displayName(e)), escape(fold(e.Description)), escape(neutral(Location(e.Skill, o.Workspace))))
	})
	if text == "" {
		return "", shown
	}
	return opening + text + closing, shown
}

// availableSkillsReference writes the empty element where there is no skill, as the tool does.
func availableSkillsReference(items []item, o Options) (string, map[string]bool) {
	if !o.fits(len(opening) + len(closing)) {
		return "", nil
	}
	text, shown := elements(items, o, func(e *pannier.Entry) string {
		return element(escape(strip(e.Name)), escape(strip(e.Description)), Location(e.Skill, o.Workspace))
	})
	return opening + text + closing, shown
}

// elements returns those that fit between the opening and the closing.
func elements(items []item, o Options, write func(*pannier.Entry) string) (string, map[string]bool) {
	var text strings.Builder
	shown := make(map[string]bool, len(items))
	used := len(opening) + len(closing)
	for _, e := range items {
		block := write(e.Entry)
		if size := runes(block); o.fits(used + size) {
			used += size
			shown[e.Slug] = true
			text.WriteString(block)
		}
	}
	return text.String(), shown
}

// element follows the layout of the reference tool: every text on lines of its own.
func element(name, description, location string) string {
	return "<skill>\n<name>\n" + name + "\n</name>\n<description>\n" + description + "\n</description>\n<location>\n" +
		location + "\n</location>\n</skill>\n"
}

// strip drops the blanks at both ends that Python takes for some, which the reference tool is written in.
func strip(text string) string {
	return strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || '\x1c' <= r && r <= '\x1f' })
}

var markup = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;")

func escape(text string) string { return markup.Replace(text) }
