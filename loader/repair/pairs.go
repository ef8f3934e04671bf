package repair

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// pairLength is that of a surrogate pair as JSON writes it, `\ud83d\udc3e`.
const pairLength = 12

// joinPairs returns a block with the JSON surrogate pairs of its texts in double quotes joined, and where in the block the
// first one stands, or -1. JSON writes a character beyond U+FFFF as two escapes (RFC 8259, section 7), which YAML does not
// know.
func joinPairs(source []byte) (joined []byte, first int) {
	if !bytes.Contains(source, []byte(`\u`)) {
		return source, -1
	}
	p := pairs{first: -1}
	for at := 0; at < len(source); {
		at = p.line(source, at)
	}
	return p.out, p.first
}

// pairs walks over a block just closely enough to know where texts in double quotes are.
type pairs struct {
	out   []byte
	first int
	depth int // of brackets
	// deeper is the indentation that the lines of a block text exceed, or -1 outside of one.
	deeper int
	inText bool
}

// line takes one line from an index on, or as many as a text in quotes goes over, and returns the index behind it.
func (p *pairs) line(source []byte, at int) int {
	end := lineEnd(source, at)
	text := bytes.TrimLeft(source[at:end], " ")
	indent := end - at - len(text)
	if p.inText && (indent > p.deeper || isBlank(text)) {
		p.out = append(p.out, source[at:min(end+1, len(source))]...)
		return end + 1
	}
	p.inText = false
	fresh := true // an item, a key or a value can begin here
	for i := at; i < len(source); i++ {
		switch c := source[i]; {
		case c == '\n':
			p.out = append(p.out, c)
			return i + 1
		case c == '#' && (i == at || isSpace(source[i-1])):
			p.out = append(p.out, source[i:end]...)
			i = end - 1
			continue
		case fresh && (c == '"' || c == '\''):
			i = p.quoted(source, i) - 1
			end = max(end, lineEnd(source, i+1))
			fresh = false
			continue
		case fresh && p.depth == 0 && (c == '|' || c == '>'):
			p.inText, p.deeper = true, indent
		}
		fresh = p.opens(source, i, fresh)
		p.out = append(p.out, source[i])
	}
	return len(source)
}

// opens takes a character outside of quotes and reports whether something can begin behind it. fresh says that it could
// before.
func (p *pairs) opens(source []byte, i int, fresh bool) bool {
	switch c := source[i]; {
	case (fresh || p.depth > 0) && (c == '[' || c == '{'):
		p.depth++
		return true
	case p.depth > 0 && (c == ']' || c == '}'):
		p.depth--
		return false
	case p.depth > 0 && c == ',', fresh && isSpace(c):
		return true
	case p.depth > 0 && c == ':' && i > 0 && (source[i-1] == '"' || source[i-1] == '\''):
		return true // as in JSON, without a blank
	}
	return isIndicator(source, i, fresh)
}

// isIndicator reports whether what stands at an index begins a value or an item.
func isIndicator(source []byte, i int, fresh bool) bool {
	followed := i+1 >= len(source) || isSpace(source[i+1]) || source[i+1] == '\n'
	return followed && (source[i] == ':' || fresh && (source[i] == '-' || source[i] == '?'))
}

func lineEnd(source []byte, at int) int {
	if i := bytes.IndexByte(source[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(source)
}

// quoted takes a text in quotes and returns the index behind it.
func (p *pairs) quoted(source []byte, at int) int {
	quote := source[at]
	p.out = append(p.out, quote)
	for i := at + 1; i < len(source); i++ {
		if quote == '"' && source[i] == '\\' {
			if r, ok := pairAt(source[i:]); ok {
				if p.first < 0 {
					p.first = i
				}
				p.out = utf8.AppendRune(p.out, r)
				i += pairLength - 1
				continue
			}
			p.out = append(p.out, source[i])
			i++
			if i == len(source) {
				return i
			}
			p.out = append(p.out, source[i])
			continue
		}
		p.out = append(p.out, source[i])
		if source[i] == quote {
			return i + 1
		}
	}
	return len(source)
}

// pairAt returns the character whose surrogate pair a text begins with.
func pairAt(text []byte) (rune, bool) {
	if len(text) < pairLength || text[1] != 'u' || text[6] != '\\' || text[7] != 'u' {
		return 0, false
	}
	high, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return 0, false
	}
	low, err := strconv.ParseUint(string(text[8:12]), 16, 16)
	if err != nil {
		return 0, false
	}
	r := utf16.DecodeRune(rune(high), rune(low))
	return r, r != utf8.RuneError
}

func pairRepair(b block, source []byte, at int) Repair {
	before := source[:at]
	r, _ := pairAt(source[at:])
	return Repair{
		Line: b.line + bytes.Count(before, []byte("\n")) + 1, Column: utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1,
		Field:   b.key,
		Message: fmt.Sprintf("`%s` is JSON's way to write %c, not YAML's; it is read as that character", source[at:at+pairLength], r),
		Hint:    "write the character itself in place of its escapes",
	}
}
