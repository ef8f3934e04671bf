package molecule

import (
	"bytes"
	"encoding/json"
)

// parsedCard is a card with its members, so that a long card is parsed once for all that is done with it.
type parsedCard struct {
	text    json.RawMessage
	members map[string]json.RawMessage // parts of text; nil where that is not an object
}

func parseCard(text json.RawMessage) parsedCard { return parsedCard{text, objectOf(text)} }

// objectOf returns the members of an object, as parts of the text; nil for anything else. Of members with the same key the last
// counts, as in a database.
func objectOf(text json.RawMessage) map[string]json.RawMessage {
	if !json.Valid(text) {
		return nil
	}
	rest := trimSpace(text)
	if rest[0] != '{' {
		return nil
	}
	members := map[string]json.RawMessage{}
	for rest = trimSpace(rest[1:]); rest[0] != '}'; {
		if rest[0] == ',' {
			rest = trimSpace(rest[1:])
		}
		var key string
		end := valueEnd(rest)
		_ = json.Unmarshal(rest[:end], &key) // it is valid
		rest = trimSpace(trimSpace(rest[end:])[len(":"):])
		end = valueEnd(rest)
		members[key] = json.RawMessage(rest[:end:end])
		rest = trimSpace(rest[end:])
	}
	return members
}

func trimSpace(text []byte) []byte { return bytes.TrimLeft(text, " \t\r\n") }

// valueEnd returns the length of the value that a valid text begins with.
func valueEnd(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i += stringEnd(text[i:]) - 1
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		default:
			if depth == 0 { // a number or a word
				if n := bytes.IndexAny(text, ",]} \t\r\n"); n >= 0 {
					return n
				}
				return len(text)
			}
			continue
		}
		if depth == 0 {
			return i + 1
		}
	}
	return len(text)
}

// stringEnd returns the length of the string, with its quotes, that a valid text begins with.
func stringEnd(text []byte) int {
	for i := 1; i < len(text); i++ {
		quote := bytes.IndexByte(text[i:], '"')
		if quote < 0 {
			break
		}
		i += quote
		escapes := 0
		for text[i-1-escapes] == '\\' { // ends at the first quote
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
	return len(text)
}
