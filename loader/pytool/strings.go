package pytool

import (
	"cmp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// quoteAt returns where the quote stands of a string that begins at at, behind its prefix if it has one; -1 where no string
// begins.
func quoteAt(text string, at int) int {
	end := at
	for end < len(text) && end-at < 3 && strings.IndexByte("rRbBuUfFtT", text[end]) >= 0 {
		end++
	}
	if end == len(text) || (text[end] != '"' && text[end] != '\'') || !isPrefix(text[at:end]) {
		return -1
	}
	return end
}

func isPrefix(prefix string) bool {
	switch strings.ToLower(prefix) {
	case "", "r", "b", "u", "f", "t", "rb", "br", "rf", "fr", "rt", "tr":
		return true
	}
	return false
}

// quotesAt returns the one or three quotes at a place.
func quotesAt(text string, at int) string {
	if q := text[at : at+1]; strings.HasPrefix(text[at:], q+q+q) {
		return text[at : at+3]
	}
	return text[at : at+1]
}

// isFormatted reports whether a prefix makes `{x}` in the string an expression.
func isFormatted(prefix string) bool { return strings.ContainsAny(prefix, "fFtT") }

func isRaw(prefix string) bool { return strings.ContainsAny(prefix, "rR") }

// string takes a string whose quote is known. One without an end goes to the end of its line, or of the file. An f-string ends at
// its quotes too: quotes within its braces come in pairs, so the line is read to the same end.
func (l *lexer) string(quote int) {
	quotes := quotesAt(l.text, quote)
	begin := quote + len(quotes)
	end := stringEnd(l.text, begin, quotes)
	if end < 0 {
		l.fault(l.at, "a string begins here and never ends")
		end = len(l.text)
		if len(quotes) == 1 {
			end = lineEnd(l.text, begin)
		}
	}
	l.add(tokenString, end)
}

// stringEnd returns where a string ends, behind its quotes, or -1. at is behind the opening quotes.
func stringEnd(text string, at int, quotes string) int {
	for at < len(text) {
		switch c := text[at]; {
		case c == '\\':
			at += 2
		case c == quotes[0] && strings.HasPrefix(text[at:], quotes):
			return at + len(quotes)
		case c == '\n' && len(quotes) == 1:
			return -1
		default:
			at++
		}
	}
	return -1
}

// decodeString returns the text that a string stands for. It is not known of bytes, of f-strings, and of characters by name.
func decodeString(literal string) (string, bool) {
	quote := quoteAt(literal, 0)
	if quote < 0 || strings.ContainsAny(literal[:quote], "bB") || isFormatted(literal[:quote]) {
		return "", false
	}
	quotes := quotesAt(literal, quote)
	inner := literal[quote:]
	if len(inner) < 2*len(quotes) || !strings.HasSuffix(inner, quotes) {
		return "", false
	}
	inner = inner[len(quotes) : len(inner)-len(quotes)]
	if isRaw(literal[:quote]) || !strings.Contains(inner, `\`) {
		return inner, true
	}
	return unescape(inner)
}

// simpleEscapes are the escapes of one character.
var simpleEscapes = map[byte]string{
	'\n': "", '\\': `\`, '\'': "'", '"': `"`, 'a': "\a", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v",
}

// unescape returns the text that a literal stands for, and whether all of its escapes are known; others stay as they are written.
func unescape(text string) (string, bool) {
	var b strings.Builder
	known := true
	for {
		before, rest, found := strings.Cut(text, `\`)
		b.WriteString(before)
		if !found {
			return b.String(), known
		}
		if rest == "" {
			return "", false
		}
		n := escapedSize(rest)
		if simple, ok := simpleEscapes[rest[0]]; ok {
			b.WriteString(simple)
		} else if n == 0 { // no escape: the backslash stays
			b.WriteByte('\\')
		} else if r, ok := escapedRune(rest, n); ok {
			b.WriteRune(r)
		} else {
			known, n = false, min(n, len(rest))
			b.WriteString(`\` + rest[:n])
		}
		text = rest[max(n, 0):]
	}
}

// escapedSize returns how long an escape is behind its backslash, 0 where there is none.
func escapedSize(rest string) int {
	switch c := rest[0]; {
	case c == 'x':
		return 3
	case c == 'u':
		return 5
	case c == 'U':
		return 9
	case c == 'N':
		return cmp.Or(strings.IndexByte(rest, '}')+1, len(rest))
	case '0' <= c && c <= '7':
		n := 1
		for n < 3 && n < len(rest) && '0' <= rest[n] && rest[n] <= '7' {
			n++
		}
		return n
	}
	if _, ok := simpleEscapes[rest[0]]; ok {
		return 1
	}
	return 0
}

func escapedRune(rest string, n int) (rune, bool) {
	if n > len(rest) || rest[0] == 'N' {
		return 0, false
	}
	digits, base := rest[1:n], 16
	if isDigit(rest[0]) {
		digits, base = rest[:n], 8
	}
	code, err := strconv.ParseUint(digits, base, 32)
	return rune(code), err == nil && code <= utf8.MaxRune && utf8.ValidRune(rune(code))
}
