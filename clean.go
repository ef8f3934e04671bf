package pannier

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// CleanLine makes a text one line and drops what is not meant to be seen: control, format and bidirectional characters,
// fillers and selectors that show as nothing, and what is not a character at all. Marks of chat templates and tool calls, and turns
// of a conversation, are broken. It is for every text of a skill that reaches a model or a peer. Done again, it changes nothing.
func CleanLine(text string) string {
	return breakMarks(cleanRunes(text, func(rune) rune { return ' ' }))
}

// CleanLines is as [CleanLine] and keeps lines, tabs and blanks. Whatever breaks a line becomes a line feed.
func CleanLines(text string) string {
	if !showsAsIs(text) {
		text = cleanRunes(strings.ReplaceAll(text, "\r\n", "\n"), func(r rune) rune {
			switch r {
			case '\r', '\v', '\f', '\u0085', '\u2028', '\u2029':
				return '\n'
			}
			return r
		})
	}
	return breakMarks(text)
}

// IsHidden reports whether a character shows as nothing or changes how others are shown. The characters that join emoji and
// choose how they look do so too, and are kept by [CleanLine].
func IsHidden(r rune) bool { return unicode.In(r, hidden...) }

var hidden = []*unicode.RangeTable{
	unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp,
	unicode.Noncharacter_Code_Point, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector,
}

// Truncate returns a text of at most length characters. One that is cut ends in an ellipsis, with no blank before it.
func Truncate(text string, length int) string {
	if len(text) <= length {
		return text
	}
	end, count := 0, 0
	for i := range text {
		if count == length-1 {
			end = i
		}
		if count++; count > length {
			return strings.TrimRightFunc(text[:end], unicode.IsSpace) + "…"
		}
	}
	return text
}

// TrimBlanks removes the blanks at both ends that str.strip of Python removes, as the reference tools of the Agent Skills
// specification do: white space, and the separators of ASCII.
func TrimBlanks(text string) string {
	return strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || '\x1c' <= r && r <= '\x1f' })
}

// cleanRunes drops hidden characters; space says what becomes of a blank.
func cleanRunes(text string, space func(rune) rune) string {
	return strings.Map(func(r rune) rune {
		switch {
		case ' ' <= r && r <= '~':
			return r
		case unicode.IsSpace(r):
			return space(r)
		case r == '\u200d' || r == '\ufe0e' || r == '\ufe0f': // join emoji, and choose how they look
			return r
		case IsHidden(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// showsAsIs reports whether all of a text is printable ASCII, tabs and line feeds: most texts are, and have nothing to drop.
func showsAsIs(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < ' ' || c > '~') && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// breakMarks breaks what a model could take for the end of a text. Round brackets and backslashes are part of no mark, so that
// breaking one never makes another.
func breakMarks(text string) string { return breakTurns(breakSquare(breakAngle(text))) }

// squareMarks are marks of chat templates in square brackets, squareEnds how they end.
var (
	squareMarks = regexp.MustCompile(`\[(/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT))\]`)
	squareEnds  = []string{"INST]", "PROMPT]", "TOOLS]", "CALLS]", "RESULTS]", "CONTENT]"}
)

// breakSquare spares most texts the expression, which looks at each square bracket.
func breakSquare(text string) string {
	if strings.IndexByte(text, ']') < 0 || !slices.ContainsFunc(squareEnds, func(end string) bool { return strings.Contains(text, end) }) {
		return text
	}
	return squareMarks.ReplaceAllString(text, "($1)")
}

// elementMarks are the names of elements that are marks, in lower case. Those with true are marks with attributes too; the
// others are short or common words, and marks only as a bare element.
var elementMarks = map[string]bool{
	"s": false, "bos": false, "eos": false, "pad": false, "unk": false, "system": false,
	"system-reminder": true, "system_reminder": true, "start_of_turn": true, "end_of_turn": true,
	"function_calls": true, "function_call": true, "function_results": true, "function_result": true, "invoke": true,
	"tool_use": true, "tool_result": true, "tool_results": true,
	"tool_call": true, "tool_calls": true, "tool_response": true, "tool_responses": true,
	"tool_code": false, "think": false,
}

// maxElementName bounds how much of a text is compared with the names of [elementMarks], with a prefix and a colon.
const maxElementName = 48

// breakAngle breaks the marks in angle brackets.
func breakAngle(text string) string {
	at := strings.IndexByte(text, '<')
	if at < 0 {
		return text
	}
	var b strings.Builder
	copied := 0
	for at >= 0 {
		rest := text[at:]
		next := at + 1
		if mark, closed := angleMark(rest); mark > 0 {
			b.WriteString(text[copied:at])
			b.WriteByte('(')
			b.WriteString(rest[1:mark])
			next = at + mark
			if closed {
				b.WriteByte(')')
				next++
			}
			copied = next
		}
		if at = strings.IndexByte(text[next:], '<'); at >= 0 {
			at += next
		}
	}
	if copied == 0 {
		return text
	}
	b.WriteString(text[copied:])
	return b.String()
}

// angleMark returns how many bytes the mark at the start of a text has before the bracket that closes it, 0 where there is none.
// A mark with attributes is not closed: its name is enough.
func angleMark(text string) (size int, closed bool) {
	for _, mark := range []string{"<<SYS>", "<</SYS>"} {
		if strings.HasPrefix(text, mark) && strings.HasPrefix(text[len(mark):], ">") {
			return len(mark), true
		}
	}
	if bar := strings.HasPrefix(text[1:], "|") || strings.HasPrefix(text[1:], "｜"); bar {
		end := strings.IndexAny(text[1:], "<>() \t\n\f\r") + 1
		inner := text[1:max(1, end)]
		if end > 0 && text[end] == '>' && len(inner) > 1 && inner != "｜" && (strings.HasSuffix(inner, "|") || strings.HasSuffix(inner, "｜")) {
			return end, true
		}
		return 0, false
	}
	name := strings.TrimPrefix(text[1:], "/")
	from := len(text) - len(name)
	end := strings.IndexFunc(name[:min(len(name), maxElementName)], func(r rune) bool {
		return r != '_' && r != '-' && r != ':' && (r > 'z' || !unicode.IsLetter(r) && !unicode.IsDigit(r))
	})
	if end < 0 {
		if len(name) >= maxElementName {
			return 0, false
		}
		end = len(name)
	}
	word := strings.ToLower(name[:end])
	word = word[strings.LastIndexByte(word, ':')+1:]
	if end < len(name) && name[end] == '=' && (word == "function" || word == "parameter") { // <function=NAME>
		return from + end, false
	}
	attributes, known := elementMarks[word]
	closed = end < len(name) && name[end] == '>'
	switch {
	case !known || !closed && !attributes:
		return 0, false
	case end < len(name) && !closed && !strings.ContainsRune(" \t\n/", rune(name[end])):
		return 0, false
	}
	return from + end, closed
}

// turns begin what a person or a model says in a conversation that is one text.
var turns = []string{"Human:", "Assistant:"}

// breakTurns puts a backslash before a turn at the start of a text or after an empty line.
func breakTurns(text string) string {
	if !slices.ContainsFunc(turns, func(turn string) bool { return strings.Contains(text, turn) }) {
		return text
	}
	var b strings.Builder
	empty := true
	for line := range strings.Lines(text) {
		bare := strings.TrimLeftFunc(line, unicode.IsSpace)
		if empty && slices.ContainsFunc(turns, func(turn string) bool { return strings.HasPrefix(bare, turn) }) {
			line = line[:len(line)-len(bare)] + `\` + bare
		}
		b.WriteString(line)
		empty = bare == ""
	}
	return b.String()
}
