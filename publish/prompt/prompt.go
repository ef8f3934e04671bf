// Package prompt renders the skills section of a system prompt. It is pure.
//
// Everything that comes from a skill is untrusted: it is escaped for the format, folded to one line, and stripped of
// what a terminal, a bidirectional layout or a chat template would take for more than text. Bodies are never part of a
// catalog; an agent reads them when it uses the skill.
package prompt

import (
	"cmp"
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"pannier"
)

// AvailableSkills is the XML of the Agent Skills reference tool, with everything escaped and folded. Without a skill it
// is empty.
const AvailableSkills = "available_skills"

// Formats lists the formats that there are, the default first.
func Formats() []string { return []string{AvailableSkills} }

// DefaultMaxChars is how many code points a prompt has at most where nobody says otherwise.
const DefaultMaxChars = 24000

// Options are what rendering needs beside the skills.
type Options struct {
	// MaxChars bounds the text in code points; 0 is no bound.
	MaxChars int
	// Workspace is the workspace as the agent sees it, for locations.
	Workspace string
}

const (
	opening = "<available_skills>\n"
	closing = "</available_skills>"
)

// Render returns the section for the active skills of a resolution, in its order, in the format [AvailableSkills]. A
// skill that does not fit is omitted and named; smaller ones behind it may still fit.
func Render(s *pannier.Snapshot, r pannier.Resolution, o Options) pannier.Prompt {
	p := pannier.Prompt{Format: AvailableSkills, Omitted: []string{}}
	var text strings.Builder
	used := len(opening) + len(closing)
	for _, a := range r.Active {
		e, ok := s.Lookup(a.Slug)
		if !ok {
			continue
		}
		block := skillBlock(e, o.Workspace)
		size := utf8.RuneCountInString(block)
		if o.MaxChars > 0 && used+size > o.MaxChars {
			p.Omitted = append(p.Omitted, a.Slug)
			continue
		}
		used += size
		text.WriteString(block)
	}
	if text.Len() > 0 {
		p.Text = opening + text.String() + closing
	}
	p.Truncated = len(p.Omitted) > 0
	return p
}

// skillBlock follows the layout of the reference tool: every text on a line of its own.
func skillBlock(e *pannier.Entry, workspace string) string {
	var b strings.Builder
	b.WriteString("<skill>\n")
	for _, field := range [...]struct{ tag, text string }{
		{"name", cmp.Or(fold(e.Name), e.Slug)}, {"description", fold(e.Description)}, {"location", neutral(Location(e.Skill, workspace))},
	} {
		b.WriteString("<" + field.tag + ">\n" + escape(field.text) + "\n</" + field.tag + ">\n")
	}
	b.WriteString("</skill>\n")
	return b.String()
}

// Location returns where the SKILL.md of a skill is for an agent that sees the workspace at that path.
func Location(s *pannier.Skill, workspace string) string {
	if path.IsAbs(s.Path) {
		return s.FilePath()
	}
	return path.Join(workspace, s.FilePath())
}

var markup = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;")

func escape(text string) string { return markup.Replace(text) }

// templates are marks of chat templates that have no angle bracket for the escaping to break.
var templates = regexp.MustCompile(`\[(/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT))\]`)

// fold neutralises a text and drops blanks that repeat or stand at an end. Those of a path are kept: they are part of it.
func fold(text string) string { return strings.Join(strings.Fields(neutral(text)), " ") }

// neutral makes a text one line and drops what is not meant to be seen: control, format and bidirectional characters,
// fillers and selectors that show as nothing, and what is no character at all.
func neutral(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.Map(func(r rune) rune {
		switch {
		case ' ' <= r && r <= '~':
			return r
		case unicode.IsSpace(r):
			return ' '
		case r == '\u200d' || r == '\ufe0e' || r == '\ufe0f': // join emoji, and choose how they look
			return r
		case unicode.In(r, hidden...):
			return -1
		}
		return r
	}, text)
	return templates.ReplaceAllString(text, "($1)")
}

var hidden = []*unicode.RangeTable{
	unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs,
	unicode.Noncharacter_Code_Point, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector,
}
