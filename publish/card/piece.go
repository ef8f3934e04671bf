package card

import (
	"cmp"
	"encoding/json"

	"pannier"
)

// level says how much of a skill a card leaves out. Each leaves out what those before it do.
type level int

// The levels, in the order in which a card is trimmed.
const (
	whole level = iota
	noExamples
	noTags
	cutTo200
	cutTo80
	levels
)

// piece is one skill of cards. It keeps the size at each level, since trimming compares them, and the text of the level that
// was used last.
type piece struct {
	entry *pannier.Entry
	sizes [levels]int // of the JSON; 0 where it was not computed yet
	text  []byte
	at    level // of text
}

// id returns the id on the card.
func (p *piece) id() string { return cmp.Or(line(p.entry.ID), p.entry.Slug) }

// size returns the size of the JSON at a level.
func (p *piece) size(l level) int {
	if p.sizes[l] == 0 {
		p.text, p.at = p.encode(l), l // most often the card gets it
	}
	return p.sizes[l]
}

// appendTo appends the JSON of a level.
func (p *piece) appendTo(dst []byte, l level) []byte {
	if p.text == nil || p.at != l {
		p.text, p.at = p.encode(l), l
	}
	return append(dst, p.text...)
}

// encode returns the JSON of a level. A cut that saves nothing is not made.
func (p *piece) encode(l level) []byte {
	e, id := p.entry, p.id()
	s := skill{
		ID: id, Name: cmp.Or(line(e.Name), id), Description: lines(e.Description),
		Tags: cleanAll(e.Tags, line), Examples: cleanAll(e.Examples, lines),
	}
	if l >= noExamples {
		s.Examples = []string{}
	}
	if l >= noTags {
		s.Tags = []string{}
	}
	text := encoded(s)
	for _, cut := range []level{cutTo200, cutTo80} {
		if l < cut {
			break
		}
		s.Description = pannier.Truncate(s.Description, descriptionLengths[cut])
		if short := encoded(s); len(short) < len(text) {
			text = short
		}
	}
	p.sizes[l] = len(text)
	return text
}

// encoded returns the JSON of a value made of texts and lists of them, which always has one.
func encoded(v any) []byte {
	text, _ := json.Marshal(v)
	return text
}

// descriptionLengths are the lengths in characters that descriptions are cut to.
var descriptionLengths = map[level]int{cutTo200: 200, cutTo80: 80}

// dropText lets go of the texts of pieces that are on no card.
func dropText(pieces []*piece) {
	for _, p := range pieces {
		p.text = nil
	}
}
