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
	// Omitted are the slugs of the skills that the text does not show at all, Shortened are those that it shows in part; both in the
	// order of the resolution.
	Omitted   []string
	Shortened []pannier.Shortened
	// Bodies are the slugs of the skills whose whole bodies the text shows, in no order. One that is shown without a link or an
	// example is among the omitted ones too.
	Bodies []string

	budget         Budget
	items, ordered []item
	shown          []level // by the place of an item
}

// level is how much of a skill a section shows.
type level uint8

const (
	absent level = iota
	nameOnly
	cutShort         // its name and the beginning of its description
	described        // all but a body that belongs in the format
	withoutResources // all but some links or examples
	whole
)

// show records that an item is shown. What is shown twice counts as the more that is.
func (s *Section) show(e item, as level) { s.shown[e.place] = max(s.shown[e.place], as) }

type item struct {
	*pannier.Entry
	slug      string // its own, so that loops over thousands of items do not load each entry
	index     int32  // among the entries of the snapshot
	place     int32  // among the items, in the order of the resolution
	likely    bool   // the turn names it, or is likely to be about it
	byPath    bool   // a file of the turn named it
	explicit  bool   // a person named it
	toolsOnly bool   // it has no body to show, and nothing is omitted without one
}

// Truncated reports whether anything is omitted or shortened.
func (s *Section) Truncated() bool { return len(s.Omitted)+len(s.Shortened) > 0 }

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
	var all size
	for _, part := range s.Parts {
		all = all.plus(sizeOf(part))
	}
	return all.chars, all.tokens()
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
	clear(s.Shortened)
	clear(s.items)
	clear(s.ordered)
	*s = Section{Parts: s.Parts[:0], Omitted: s.Omitted[:0], Shortened: s.Shortened[:0], Bodies: s.Bodies[:0], items: s.items[:0], ordered: s.ordered[:0], shown: s.shown[:0]}
}

func (s *Section) add(part string) { s.Parts = append(s.Parts, part) }
