package output

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
)

// minSecret is the length of the shortest value that is masked: shorter ones are found in any text.
const minSecret = 4

// Masked stands in the place of a value.
const Masked = "***"

// Mask replaces values in texts: as they are, with some or all characters escaped as in URLs, JSON or HTML, in hexadecimal, and in
// Base64 wherever they begin in it. The zero value replaces nothing.
type Mask struct {
	values   [][]byte
	literals []literal
	first    [256]bool // the bytes with which a value can begin
}

// literal is an encoded value. Blanks and line ends in a text do not interrupt it.
type literal struct {
	text []byte
	fold bool // upper and lower case are the same
}

// NewMask returns a mask for values. Those shorter than four bytes are left out.
func NewMask(values ...string) *Mask {
	m := &Mask{}
	for _, value := range values {
		if value = strings.TrimSpace(value); len(value) >= minSecret {
			m.add([]byte(Clean([]byte(value))))
			for line := range strings.Lines(value) { // of a key of several lines, each is a secret
				if line = strings.TrimSpace(line); line != value && len(line) >= 4*minSecret {
					m.add([]byte(line))
				}
			}
		}
	}
	return m
}

func (m *Mask) add(value []byte) {
	if len(value) < minSecret {
		return
	}
	m.values = append(m.values, value)
	m.first[value[0]] = true
	for _, c := range []byte(`%\&`) {
		m.first[c] = true
	}
	if value[0] == ' ' {
		m.first['+'] = true
	}
	m.addLiteral(literal{[]byte(hex.EncodeToString(value)), true})
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			m.addLiteral(literal{base64Core(encoding, value, before), false})
		}
	}
}

func (m *Mask) addLiteral(l literal) {
	if len(l.text) < minSecret {
		return
	}
	m.literals = append(m.literals, l)
	m.first[l.text[0]] = true
	if l.fold {
		m.first[bytes.ToUpper(l.text[:1])[0]] = true
	}
}

// base64Core returns the characters in which a value is encoded, and nothing of the bytes beside it, if so many bytes come before it.
func base64Core(encoding *base64.Encoding, value []byte, before int) []byte {
	text := []byte(encoding.EncodeToString(append(make([]byte, before), value...)))
	return text[(before*8+5)/6 : (before+len(value))*8/6]
}

// String returns a text with all values replaced.
func (m *Mask) String(text string) string {
	if len(m.values) == 0 {
		return text
	}
	masked, _ := m.append(nil, []byte(text), true)
	return string(masked)
}

// append appends a text with the values replaced, and returns the rest of it: the beginning of what may be a value, of which more may
// come. At the end there is no rest.
func (m *Mask) append(dst, text []byte, end bool) (masked, rest []byte) {
	for at := 0; at < len(text); {
		if !m.first[text[at]] {
			dst = append(dst, text[at])
			at++
			continue
		}
		size, more := m.match(text[at:])
		switch {
		case more && !end:
			return dst, text[at:]
		case size > 0:
			dst = append(dst, Masked...)
			at += size
		default:
			dst = append(dst, text[at])
			at++
		}
	}
	return dst, nil
}

// match returns the length of the value at the start of a text. more is set if the text ends within what may be one.
func (m *Mask) match(text []byte) (size int, more bool) {
	for _, value := range m.values {
		n, cut := matchValue(value, text)
		size, more = max(size, n), more || cut
	}
	for _, l := range m.literals {
		n, cut := l.match(text)
		size, more = max(size, n), more || cut
	}
	return size, more
}

// matchValue follows every way to read the text: a backslash can be a character or begin one that is escaped.
func matchValue(value, text []byte) (size int, more bool) {
	at, next := append(make([]int, 0, 8), 0), make([]int, 0, 8)
	for _, c := range value {
		next = next[:0]
		for _, from := range at {
			if from == len(text) {
				more = true
				continue
			}
			n, cut := escaped(c, text[from:])
			more = more || cut
			if n > 0 && !slices.Contains(next, from+n) {
				next = append(next, from+n)
			}
			if text[from] == c && !slices.Contains(next, from+1) {
				next = append(next, from+1)
			}
		}
		if at, next = next, at; len(at) == 0 {
			return 0, more
		}
	}
	return slices.Max(at), more
}

// maxEscape is the length of the longest escape.
const maxEscape = 8

// escapes are the names of characters in HTML and the short escapes of JSON.
var escapes = map[string]byte{
	"&amp;": '&', "&lt;": '<', "&gt;": '>', "&quot;": '"', "&apos;": '\'',
	`\"`: '"', `\\`: '\\', `\/`: '/', `\n`: '\n', `\t`: '\t', `\'`: '\'',
}

// escaped returns the length of an escape of c at the start of a text, 0 if there is none. cut is set if the text ends within one.
func escaped(c byte, text []byte) (size int, cut bool) {
	switch {
	case text[0] == '+' && c == ' ':
		return 1, false
	case text[0] != '%' && text[0] != '\\' && text[0] != '&':
		return 0, false
	}
	head := text[:min(len(text), maxEscape)]
	switch {
	case head[0] == '%':
		return escapedHex(c, head, 1, 2)
	case len(head) > 1 && head[0] == '\\' && (head[1] == 'u' || head[1] == 'U'):
		return escapedHex(c, head, 2, 4)
	case len(head) > 1 && head[0] == '\\' && head[1] == 'x':
		return escapedHex(c, head, 2, 2)
	case len(head) > 1 && head[0] == '&' && head[1] == '#':
		return escapedEntity(c, head)
	}
	for name, is := range escapes {
		if is == c && bytes.HasPrefix(head, []byte(name)) {
			return len(name), false
		}
		cut = cut || is == c && strings.HasPrefix(name, string(head))
	}
	return 0, cut || len(head) == 1 // more than a backslash may come
}

func escapedHex(c byte, head []byte, from, digits int) (size int, cut bool) {
	if len(head) < from+digits {
		return 0, true
	}
	n, err := strconv.ParseUint(string(head[from:from+digits]), 16, 32)
	if err != nil || n != uint64(c) {
		return 0, false
	}
	return from + digits, false
}

// escapedEntity reads &#39; and &#x27;.
func escapedEntity(c byte, head []byte) (size int, cut bool) {
	end := bytes.IndexByte(head, ';')
	if end < 0 {
		return 0, len(head) < maxEscape
	}
	digits, base := string(head[2:end]), 10
	if x, ok := strings.CutPrefix(strings.ToLower(digits), "x"); ok {
		digits, base = x, 16
	}
	if n, err := strconv.ParseUint(digits, base, 32); err != nil || n != uint64(c) {
		return 0, false
	}
	return end + 1, false
}

func (l *literal) match(text []byte) (size int, more bool) {
	at := 0
	for i := 0; i < len(l.text); {
		if at == len(text) {
			return 0, true
		}
		c := text[at]
		if l.fold && c >= 'A' && c <= 'F' {
			c += 'a' - 'A'
		}
		switch {
		case c == l.text[i]:
			i++
		case i > 0 && (c == '\n' || c == ' ' || l.fold && c == ':'):
		default:
			return 0, false
		}
		at++
	}
	return at, false
}
