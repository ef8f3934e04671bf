package yamldoc

import (
	"encoding/binary"
	"strings"
)

// AppendMeaning appends bytes that are equal only for values that mean the same to every reader. Comments, indentation,
// the style of lists and quotes that change nothing do not count. The order of keys does, and so does how a number is
// written: there are readers that take it for a text.
func (v Value) AppendMeaning(b []byte) []byte {
	switch v.Kind() {
	case Missing:
		return append(b, '-')
	case Null:
		return append(b, '~')
	case List:
		b = append(b, '[')
		for item := range v.Items() {
			b = item.AppendMeaning(b)
		}
		return append(b, ']')
	case Map:
		b = append(b, '{')
		for pair := range v.Pairs() {
			b = pair.Value.AppendMeaning(appendText(b, pair.Key))
		}
		return append(b, '}')
	}
	if v.plain() && maybeTyped(v.node.Value) {
		b = append(b, '!')
	}
	return appendText(b, v.node.Value)
}

// appendText appends a text with its length before it, so that no text can look like what follows it.
func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(append(b, '"'), uint64(len(text))), text...)
}

// maybeTyped reports whether a plain scalar can be anything else than a text to some reader: a number, a date or a word of
// YAML 1.1 or 1.2 ("Language-Independent Types for YAML 1.1"). Every number and date begins with one of a few characters.
func maybeTyped(text string) bool {
	switch strings.ToLower(text) {
	case "y", "n", "yes", "no", "on", "off", "true", "false":
		return true
	}
	return text != "" && strings.IndexByte("0123456789+-.=", text[0]) >= 0
}
