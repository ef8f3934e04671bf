package output

import (
	"unicode/utf8"

	"pannier/internal/plain"
)

// The bounds of a sequence that a terminal would act on. One that does not end is not followed further, so that it cannot
// hide all that comes after it.
const (
	maxControl = 64
	maxString  = 4096
)

// cleaner turns bytes that a program writes, in pieces of any size, into text: valid UTF-8 without sequences and characters that
// a terminal acts on. Ends of lines become line feeds.
type cleaner struct {
	in     state
	length int    // of the sequence so far
	split  []byte // the beginning of a character whose end has not come
	cr     bool   // the last character was a carriage return
}

type state int

const (
	ground   state = iota
	escape         // after ESC
	control        // in a control sequence: ESC [ … a final byte (ECMA-48, 5.4)
	text           // in a control string: ESC ] … BEL or ESC \ (ECMA-48, 5.6)
	textStop       // after ESC in a control string
)

// append appends the text of a piece.
func (c *cleaner) append(dst, piece []byte) []byte {
	if len(c.split) > 0 {
		piece = append(c.split, piece...)
		c.split = nil
	}
	for len(piece) > 0 {
		r, size := utf8.DecodeRune(piece)
		if r == utf8.RuneError && size == 1 && !utf8.FullRune(piece) {
			c.split = append([]byte(nil), piece...)
			return dst
		}
		dst = c.appendRune(dst, r)
		piece = piece[size:]
	}
	return dst
}

// end appends what is left of a character that was cut off.
func (c *cleaner) end(dst []byte) []byte {
	if len(c.split) > 0 && c.in == ground {
		dst = utf8.AppendRune(dst, utf8.RuneError)
	}
	c.split = nil
	return dst
}

func (c *cleaner) appendRune(dst []byte, r rune) []byte {
	switch c.in {
	case escape:
		c.afterEscape(r)
		return dst
	case control:
		if c.length++; r >= '@' && r <= '~' || r < ' ' || c.length > maxControl {
			c.in = ground
		}
		return dst
	case textStop:
		c.in = text
		if r == '\\' {
			c.in = ground
			return dst
		}
		fallthrough
	case text:
		if c.length++; r == '\a' || r == '\u009c' || r == '\n' || c.length > maxString {
			c.in = ground
		} else if r == '\x1b' {
			c.in = textStop
		}
		return dst
	}
	return c.appendGround(dst, r)
}

func (c *cleaner) appendGround(dst []byte, r rune) []byte {
	wasCR := c.cr
	c.cr = r == '\r'
	switch r {
	case '\n':
		if wasCR {
			return dst // the line feed was written for the carriage return
		}
		return append(dst, '\n')
	case '\r':
		return append(dst, '\n')
	case '\t':
		return append(dst, '\t')
	case '\x1b':
		c.enter(escape)
		return dst
	case '\u009b':
		c.enter(control)
		return dst
	case '\u0090', '\u0098', '\u009d', '\u009e', '\u009f':
		c.enter(text)
		return dst
	}
	if plain.IsControl(r) {
		return dst
	}
	return utf8.AppendRune(dst, r)
}

func (c *cleaner) afterEscape(r rune) {
	switch r {
	case '[':
		c.enter(control)
	case ']', 'P', 'X', '^', '_':
		c.enter(text)
	case '\x1b':
	default:
		if r < ' ' || r > '/' { // not an intermediate byte, after which more comes
			c.in = ground
		}
	}
}

func (c *cleaner) enter(s state) { c.in, c.length = s, 0 }

// Clean returns the text of bytes that came at once; see [Sink].
func Clean(b []byte) string {
	var c cleaner
	return string(c.end(c.append(make([]byte, 0, len(b)), b)))
}
