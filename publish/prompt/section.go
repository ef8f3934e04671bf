package prompt

import (
	"math/bits"
	"unicode/utf8"

	"pannier"
)

// Section is a prompt in the parts that it is put together of. A section that is rendered into again reuses its
// memory, so that answering many turns with a thousand skills allocates little. Its zero value is empty.
type Section struct {
	Format string
	// Parts are the text, one behind the other. No character spans two of them.
	Parts []string
	// Omitted are the slugs of the skills that the text does not show in full: they are not in it, or in it without the body,
	// the description, a link or an example that the format has.
	Omitted []string
	// Bodies are the slugs of the skills whose whole bodies the text shows, in no order. One that is shown without a link or an
	// example is among the omitted ones too.
	Bodies []string

	maxChars       int
	items, ordered []item
	shown          []bool // by the place of an item, whether it is shown in full
}

type item struct {
	*pannier.Entry
	slug      string // its own, so that loops over thousands of items do not load each entry
	index     int32  // among the entries of the snapshot
	place     int32  // among the items, in the order of the resolution
	implicit  bool   // the turn does not name it
	byPath    bool   // a file of the turn did
	toolsOnly bool   // it has no body to show, and nothing is omitted without one
}

func (e item) missing() bool { return e.Entry == nil }

// Truncated reports whether anything is omitted.
func (s *Section) Truncated() bool { return len(s.Omitted) > 0 }

// Size returns the bytes of the text.
func (s *Section) Size() int {
	size := 0
	for _, part := range s.Parts {
		size += len(part)
	}
	return size
}

// Length returns the code points of the text, and about how many tokens a model reads it as: one for each four ASCII
// characters, and one for each other code point.
func (s *Section) Length() (chars, tokens int) {
	wide := 0
	for _, part := range s.Parts {
		code, beyond := count(part)
		chars, wide = chars+code, wide+beyond
	}
	return chars, (chars-wide+3)/4 + wide
}

// count returns the code points of a text, and how many of them are not ASCII. It looks at eight bytes at a time, because
// each turn has a prompt.
func count(text string) (chars, beyond int) {
	const high = 0x8080808080808080
	chars = len(text)
	ascii := len(text)
	for ; len(text) >= 8; text = text[8:] {
		eight := uint64(text[0]) | uint64(text[1])<<8 | uint64(text[2])<<16 | uint64(text[3])<<24 |
			uint64(text[4])<<32 | uint64(text[5])<<40 | uint64(text[6])<<48 | uint64(text[7])<<56
		if eight&high == 0 {
			continue
		}
		chars -= bits.OnesCount64(eight & ^(eight << 1) & high) // bytes 10xxxxxx continue a character
		ascii -= bits.OnesCount64(eight & high)
	}
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			ascii--
			if !utf8.RuneStart(text[i]) {
				chars--
			}
		}
	}
	return chars, chars - ascii
}

// Empty drops what the section says and keeps its memory.
func (s *Section) Empty() {
	clear(s.Parts)
	clear(s.Omitted)
	clear(s.Bodies)
	clear(s.items)
	clear(s.ordered)
	*s = Section{Parts: s.Parts[:0], Omitted: s.Omitted[:0], Bodies: s.Bodies[:0], items: s.items[:0], ordered: s.ordered[:0], shown: s.shown[:0]}
}

func (s *Section) fits(size int) bool { return s.maxChars <= 0 || size <= s.maxChars }

func (s *Section) add(part string) { s.Parts = append(s.Parts, part) }
