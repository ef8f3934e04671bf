package repair

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"pannier"
	"pannier/internal/yamldoc"
)

func (s *sheet) describe(b block, p prose) Repair {
	r := Repair{Field: b.key, Hint: "put the text in double quotes"}
	line, at := p.first, p.at
	switch p.why {
	case atColumn0:
		line, at = b.loose, 0
		r.Message = fmt.Sprintf("this line is neither indented nor a key; it is read as more of the text of %s", b.key)
		r.Hint = "indent the further lines of a long text"
	case behindBlockSign:
		sign := s.lines[line][at]
		r.Message = fmt.Sprintf("text follows the `%c` of %s; it is read as the first line of the text", sign, b.key)
		r.Hint = fmt.Sprintf("begin the text in the next line, indented, or remove the `%c`", sign)
	case quoteWithin:
		r.Message = fmt.Sprintf("the quotes of %s do not enclose one text; it is read as text as it stands", b.key)
		r.Hint = "put the whole text in one pair of double quotes, and write \\\" for those in it"
	case atStart:
		r.Message = fmt.Sprintf("%s begins with %q, which has a meaning in YAML; it is read as text", b.key, runeAt(s.lines[line], at))
	case controlWithin:
		line, at = s.control(b)
		r.Message = fmt.Sprintf("%s holds the control character %U, which YAML refuses; it is read as text", b.key, runeAt(s.lines[line], at))
		r.Hint = "remove it"
	case colonWithin:
		line, at = s.colon(b, p)
		r.Message = fmt.Sprintf("a colon and a blank in %s would begin a new key; all of it is read as text", b.key)
	default:
		r.Message = b.key + " is not YAML; it is read as text"
		r.Hint = "put the text in double quotes; indent all of its lines by the same number of blanks"
	}
	r.Line, r.Column = line+1, utf8.RuneCount(s.lines[line][:at])+1
	return r
}

// colon returns where the first colon in a text is that YAML takes for the end of a key.
func (s *sheet) colon(b block, p prose) (line, at int) {
	for i := p.first; i < b.end; i++ {
		from := 0
		if i == p.first {
			from = p.at
		}
		if at := colonAt(s.lines[i], from); at >= 0 {
			return i, at
		}
	}
	return p.first, p.at
}

// control returns where the first character in a block is that YAML takes nowhere, or -1.
func (s *sheet) control(b block) (line, at int) {
	for i := b.line; i < b.end; i++ {
		if at := bytes.IndexFunc(s.lines[i], isRefused); at >= 0 {
			return i, at
		}
	}
	return -1, -1
}

// isRefused reports whether YAML takes a character nowhere as it is (YAML 1.2.2, section 5.1).
func isRefused(r rune) bool {
	switch {
	case r == '\t', r == '\n', r == '\r', r == 0x85:
		return false
	}
	return r < ' ' || r >= 0x7f && r < 0xa0 || r == '\ufeff' || r == '\ufffe' || r == '\uffff'
}

func runeAt(line []byte, at int) rune {
	r, _ := utf8.DecodeRune(line[at:])
	return r
}

// Guess is what can still be told of a frontmatter that cannot be read, for people to see. Nothing is decided by it.
type Guess struct {
	Name, Description string
}

// maxGuess bounds a guess, in characters, with the ellipsis of one that is cut.
const maxGuess = 201

// Look returns what can be told of a frontmatter that is not closed. text may go on behind it, with LF as line ends.
func Look(text []byte) Guess {
	if !utf8.Valid(text) {
		return Guess{}
	}
	return newSheet(text).guess()
}

func (s *sheet) guess() (g Guess) {
	for _, b := range s.blocks {
		switch {
		case b.key == "name" && g.Name == "":
			g.Name = s.guessText(b)
		case b.key == "description" && g.Description == "":
			g.Description = s.guessText(b)
		}
	}
	return g
}

// guessText returns the text that a block seems to hold.
func (s *sheet) guessText(b block) string {
	if v, _, err := yamldoc.Parse(s.source(b)); err == nil {
		text, _ := v.Get(b.key).Text()
		return oneLine(text)
	}
	if b.torn || b.loose > 0 || b.key == "name" {
		b.end, b.loose, b.torn = b.line+1, 0, false // the first line, whatever follows
	}
	p, _ := s.prose(b)
	return oneLine(p.text)
}

// oneLine returns a text on one line and within the bound.
func oneLine(text string) string {
	return pannier.Truncate(strings.Join(strings.Fields(text), " "), maxGuess)
}
