package molecule

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
)

// boundedDecoder reads JSON of any size from a stream and keeps little of it: a value that is too large is skipped. It
// protects from a peer that publishes a card of many megabytes, or one that is nested so deeply that encoding/json
// refuses the whole list: such a card costs neither the memory of the sidecar nor the other peers their place. It does
// not validate what is between brackets and commas.
type boundedDecoder struct{ r *bufio.Reader }

func newBoundedDecoder(r io.Reader) boundedDecoder {
	return boundedDecoder{bufio.NewReaderSize(r, 32<<10)}
}

// enter reads the bracket that begins a list or an object. Anything else is not read.
func (d boundedDecoder) enter(bracket byte) (ok bool, err error) {
	for {
		c, err := d.r.ReadByte()
		switch {
		case err != nil:
			return false, err
		case c == bracket:
			return true, nil
		case c != ' ' && c != '\t' && c != '\r' && c != '\n':
			return false, d.r.UnreadByte()
		}
	}
}

// part reads up to one of the stops, or to the closing bracket, and returns which it was. The text before it is nil if
// it has more bytes than keep.
func (d boundedDecoder) part(stops string, keep int) (text []byte, stop byte, err error) {
	depth, quoted, escaped := 0, false, false
	for {
		if _, err := d.r.Peek(1); err != nil { // fills the buffer where it is empty
			return nil, 0, err
		}
		chunk, _ := d.r.Peek(d.r.Buffered())
		n := 0
		for done := false; n < len(chunk) && !done; n++ {
			switch c := chunk[n]; {
			case escaped:
				escaped = false
			case quoted && c == '\\':
				escaped = true
			case c == '"':
				quoted = !quoted
			case quoted:
			case depth == 0 && (c == ']' || c == '}' || strings.IndexByte(stops, c) >= 0):
				stop, done = c, true
				n--
			case c == '[', c == '{':
				depth++
			case c == ']', c == '}':
				depth--
			}
		}
		if part := chunk[:min(n, max(0, keep+1-len(text)))]; len(part) > 0 {
			if len(text)+len(part) > cap(text) {
				text = slices.Grow(text, len(text)+len(part)) // twice as much each time
			}
			text = append(text, part...)
		}
		if stop != 0 {
			_, err = d.r.Discard(n + 1)
			if len(text) > keep {
				text = nil
			}
			return bytes.TrimSpace(text), stop, err
		}
		_, _ = d.r.Discard(n) // it is buffered
	}
}

// members reads the rest of an object and returns the encoded values of the keys for which keep is not 0; those of more
// bytes than that are nil. Of members with the same key the last counts.
func (d boundedDecoder) members(keep func(key string) int) (members map[string]json.RawMessage, err error) {
	members = map[string]json.RawMessage{}
	for stop := byte(','); stop == ','; {
		var text, value []byte
		if text, stop, err = d.part(",:", maxKeyBytes); err != nil {
			return nil, err
		}
		if stop != ':' {
			continue
		}
		var key string
		_ = json.Unmarshal(text, &key) // an invalid key is empty, which keep does not list
		if value, stop, err = d.part(",", keep(key)); err != nil {
			return nil, err
		}
		if keep(key) > 0 {
			members[key] = value
		}
	}
	return members, nil
}

// maxKeyBytes is far more than any key that is looked up, even if all of it is escaped.
const maxKeyBytes = 256
