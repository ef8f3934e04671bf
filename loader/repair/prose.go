package repair

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"pannier/loader/fields"
)

// prose is the text that a block of free text was meant to hold.
type prose struct {
	text string
	// first is the index of the line, and at the index in it, where the text begins.
	first, at int
	why       reason
}

// reason is what keeps a text from being YAML.
type reason int

const (
	otherReason reason = iota
	atColumn0
	behindBlockSign
	quoteWithin
	atStart
	colonWithin
	controlWithin
)

// blockSign is what begins a block text, with what stands behind it, and nestedKey what begins a nested mapping.
var (
	blockSign = regexp.MustCompile(`^([|>])(?:[1-9][+-]?|[+-][1-9]?)?(?:[ \t]+(.*))?$`)
	nestedKey = regexp.MustCompile(`^(?:[\w.-]+|"[^"]*"|'[^']*')[ \t]*:(?:[ \t]|$)`)
)

// prose reads a block as the text that its author meant. It returns false where that cannot be told, or where it was
// meant to be something else.
func (s *sheet) prose(b block) (prose, bool) {
	if b.torn || fields.ProseOf(b.key) == fields.OneLine && b.end > b.line+1 {
		return prose{}, false
	}
	more := s.further(b)
	if b.loose > 0 {
		for i, line := range more {
			more[i] = strings.TrimLeft(line, " \t") // the indentation means nothing where it comes and goes
		}
	}
	p, ok := s.intended(b, more)
	if b.loose > 0 {
		p.why = atColumn0
	}
	if line, _ := s.control(b); line >= 0 {
		p.why = controlWithin
	}
	return p, ok && p.text != ""
}

// intended reads a block whose further lines are given.
func (s *sheet) intended(b block, more []string) (prose, bool) {
	p := prose{first: b.line, at: b.value}
	inline := string(bytes.TrimRight(s.lines[b.line][b.value:], " \t"))
	if sign := blockSign.FindStringSubmatch(inline); sign != nil {
		p.text = blockText(sign, more)
		if sign[2] != "" && sign[2][0] != '#' {
			p.why = behindBlockSign
		}
		return p, true
	}
	if inline == "" || inline[0] == '#' {
		if isStructure(more) {
			return prose{}, false
		}
		inline = ""
		p.first, p.at = s.textStart(b)
	}
	raw := fold(append([]string{inline}, more...))
	if raw == "" || raw[0] == '&' || raw[0] == '!' {
		return prose{}, false // an anchor or a tag, well-formed or not, is not read as text
	}
	p.text = unquote(raw)
	p.why = whyNot(raw)
	return p, true
}

func (s *sheet) textStart(b block) (line, at int) {
	for i := b.line + 1; i < b.end; i++ {
		text := bytes.TrimLeft(s.lines[i], " \t")
		if len(text) > 0 && s.lines[i][0] != '#' {
			return i, len(s.lines[i]) - len(text)
		}
	}
	return b.line, b.value
}

// further returns the lines of a block behind its first, without comments at column 0.
func (s *sheet) further(b block) []string {
	var more []string
	for _, line := range s.lines[b.line+1 : b.end] {
		if len(line) > 0 && line[0] == '#' {
			continue
		}
		more = append(more, string(bytes.TrimRight(line, " \t")))
	}
	return more
}

// isStructure reports whether lines below a key alone are a list or a mapping.
func isStructure(lines []string) bool {
	for _, line := range lines {
		line = strings.TrimLeft(line, " \t")
		if line != "" {
			return line == "-" || strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "? ") || nestedKey.MatchString(line)
		}
	}
	return true
}

// fold joins lines as YAML does in a plain text: a line end is a blank, an empty line is a line end.
func fold(lines []string) string {
	var b strings.Builder
	empty := 0
	for _, line := range lines {
		line = strings.Trim(line, " \t")
		switch {
		case line == "":
			empty++
			continue
		case b.Len() == 0:
		case empty > 0:
			b.WriteString(strings.Repeat("\n", empty))
		default:
			b.WriteByte(' ')
		}
		empty = 0
		b.WriteString(line)
	}
	return b.String()
}

func blockText(sign []string, more []string) string {
	if behind := sign[2]; behind != "" && behind[0] != '#' {
		more = append([]string{behind}, dedent(more)...)
	} else {
		more = dedent(more)
	}
	if sign[1] == ">" {
		return fold(more)
	}
	return strings.Trim(strings.Join(more, "\n"), "\n")
}

func dedent(lines []string) []string {
	shared := -1
	for _, line := range lines {
		if indent := len(line) - len(strings.TrimLeft(line, " \t")); line != "" && (shared < 0 || indent < shared) {
			shared = indent
		}
	}
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = line[min(max(shared, 0), len(line)):]
	}
	return out
}

// unquote takes away the quotes around a text that was meant to be quoted. What stands between them is not a valid quoted
// text, so only the escapes that quotes themselves need are undone; all else stays as it is written.
func unquote(text string) string {
	quote := text[:min(1, len(text))]
	if quote != `"` && quote != `'` {
		return text
	}
	if quote == `"` && strings.Count(text, quote) == 1 {
		return strings.TrimLeft(text[1:], " ") // never closed; texts do not begin with it
	}
	if len(text) < 2 || !strings.HasSuffix(text, quote) || !surrounds(text) {
		return text
	}
	within := text[1 : len(text)-1]
	if quote == `'` {
		return strings.ReplaceAll(within, `''`, `'`)
	}
	return unescape(within)
}

func unescape(text string) string {
	var b []byte
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			if r, ok := pairAt([]byte(text[i:min(i+pairLength, len(text))])); ok {
				b = utf8.AppendRune(b, r)
				i += pairLength - 1
				continue
			}
			if text[i+1] == '\\' || text[i+1] == '"' {
				i++
			}
		}
		b = append(b, text[i])
	}
	return string(b)
}

// surrounds reports whether the quotes that a text begins and ends with belong together: in `"a" or "b"` they do not. The
// first quote in between that stands at one end of a word decides; one alone is astray.
func surrounds(text string) bool {
	if strings.Count(text, text[:1]) <= 3 {
		return true
	}
	for i := 1; i < len(text)-1; i++ {
		switch {
		case text[i] == '\\':
			i++
		case text[i] != text[0]:
		case strings.IndexByte(" \t\n([{", text[i-1]) >= 0:
			return true
		case strings.IndexByte(" \t\n.,;:!?)]}", text[i+1]) >= 0:
			return false
		}
	}
	return true
}

func whyNot(text string) reason {
	switch {
	case text == "":
		return otherReason
	case text[0] == '"' || text[0] == '\'':
		return quoteWithin
	case strings.IndexByte("*@`%,[]{}|>", text[0]) >= 0, strings.HasPrefix(text, "- "), strings.HasPrefix(text, "? "):
		return atStart
	case strings.Contains(text, ": "), strings.HasSuffix(text, ":"):
		return colonWithin
	}
	return otherReason
}

// appendQuoted appends a text in double quotes, with an escape for everything that YAML does not take as it is.
func appendQuoted(b []byte, text string) []byte {
	b = append(b, '"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r < ' ', r >= 0x7f && r <= 0xa0, r == '\u2028', r == '\u2029', r == '\ufeff', r == '\ufffe', r == '\uffff':
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}
