package profile

import (
	"bytes"
	"unicode/utf8"

	"pannier/internal/yamldoc"
)

// layout tells how values are written where StrictYAML, which the reference validator reads with, asks for more than what
// they mean: it refuses `[a]` and `{a: b}`, and takes every scalar for a text, `~` and `null` included.
type layout struct {
	text   []byte
	starts []int // of the lines, once requested
}

// lineBreaks are what the YAML library counts lines by (YAML specification 1.1, "Line break characters"); LF is the only
// one of ASCII that the text may hold.
const lineBreaks = "\n\u0085\u2028\u2029"

// from returns the text from a place on, empty where there is none.
func (l *layout) from(at place) []byte {
	if l.starts == nil {
		l.starts = []int{0}
		for i := 0; ; {
			next := bytes.IndexAny(l.text[i:], lineBreaks)
			if next < 0 {
				break
			}
			_, size := utf8.DecodeRune(l.text[i+next:])
			i += next + size
			l.starts = append(l.starts, i)
		}
	}
	if at.line < 1 || at.line > len(l.starts) {
		return nil
	}
	rest := l.text[l.starts[at.line-1]:]
	for range at.column - 1 {
		_, size := utf8.DecodeRune(rest)
		rest = rest[size:]
	}
	return rest
}

// flow reports whether a list or mapping is written in brackets.
func (l *layout) flow(v yamldoc.Value) bool {
	rest := l.from(placeOf(v))
	switch v.Kind() {
	case yamldoc.List:
		return bytes.HasPrefix(rest, []byte("["))
	case yamldoc.Map:
		return bytes.HasPrefix(rest, []byte("{"))
	}
	return false
}

// literal returns a scalar as StrictYAML reads it: as it is written, and nothing at all as an empty text.
func (l *layout) literal(v yamldoc.Value) (text string, ok bool) {
	if v.Kind() != yamldoc.Null {
		return v.Text()
	}
	rest := l.from(placeOf(v))
	for _, word := range []string{"~", "null", "Null", "NULL"} {
		if bytes.HasPrefix(rest, []byte(word)) {
			return word, true
		}
	}
	return "", true
}
