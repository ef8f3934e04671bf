package prompt

import (
	"regexp"
	"strings"
	"unicode"
)

// templates are marks of chat templates that have no angle bracket for escaping to break.
var templates = regexp.MustCompile(`\[(/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT))\]`)

// brackets are those that have some, for formats that escape nothing. Round brackets within are none, so that breaking
// one mark never makes another.
var brackets = regexp.MustCompile(`<([|｜][^<>()\s]*[|｜]|</?SYS>|/?(?i:s|bos|eos|pad|unk|system|system-reminder|start_of_turn|end_of_turn|tool_call|tool_response))>`)

// fold neutralises a text and drops blanks that repeat or stand at an end. Those of a path are kept: they are part of it.
func fold(text string) string { return strings.Join(strings.Fields(neutral(text)), " ") }

// neutral makes a text one line and drops what is not meant to be seen: control, format and bidirectional characters,
// fillers and selectors that show as nothing, and what is no character at all.
func neutral(text string) string {
	return clean(text, func(rune) rune { return ' ' })
}

// lines neutralises a text and keeps its lines, tabs and blanks. Whatever breaks a line is a line feed.
func lines(text string) string {
	if plain(text) {
		return breakTemplates(text)
	}
	return clean(strings.ReplaceAll(text, "\r\n", "\n"), func(r rune) rune {
		switch r {
		case '\r', '\v', '\f', '\u0085', '\u2028', '\u2029':
			return '\n'
		}
		return r
	})
}

// clean drops what is hidden; of blanks, what they become is decided by space.
func clean(text string, space func(rune) rune) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.Map(func(r rune) rune {
		switch {
		case ' ' <= r && r <= '~':
			return r
		case unicode.IsSpace(r):
			return space(r)
		case r == '\u200d' || r == '\ufe0e' || r == '\ufe0f': // join emoji, and choose how they look
			return r
		case unicode.In(r, hidden...):
			return -1
		}
		return r
	}, text)
	return breakTemplates(text)
}

// plain reports whether all of a text is ASCII that shows, or blanks and line feeds: most texts are, and have nothing to
// clean.
func plain(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < ' ' || c > '~') && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// breakTemplates spares a text the expression, which looks at each square bracket, where it has no mark that ends like one.
func breakTemplates(text string) string {
	for _, end := range []string{"INST]", "PROMPT]", "TOOLS]", "CALLS]", "RESULTS]", "CONTENT]"} {
		if strings.Contains(text, end) {
			return templates.ReplaceAllString(text, "($1)")
		}
	}
	return text
}

// disarm breaks the marks of chat templates where angle brackets stay as they are.
func disarm(text string) string { return brackets.ReplaceAllString(text, "($1)") }

var hidden = []*unicode.RangeTable{
	unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs,
	unicode.Noncharacter_Code_Point, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector,
}
