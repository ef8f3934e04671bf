// Package rank orders skills by how relevant they are for a text, without a model and without network: BM25F (Robertson and
// Zaragoza 2009, section 3.6) over the frontmatter of the skills, with word parts, stemming for English, folding of case and
// accents, one typing error in words of six letters or more, and a table of words that people use for the same task.
//
// It is pure over the skills of one snapshot: the same skills and the same text give the same scores, whatever index they were
// updated from. An index is immutable, and shares with the one before all but what changed.
package rank

import (
	"slices"
	"strings"

	"pannier"
)

// The fields of a skill.
const (
	inName = iota // name and slug
	inTriggers
	inTags
	inDescription
	fieldCount
)

// fields are the parameters of BM25F: what a word counts in a field, how much less it counts in a long one (0 to 1), and how often
// it counts at most, so that repeating it gains nothing.
var fields = [fieldCount]struct {
	weight, bias float64
	most         uint8
}{
	inName:        {3.2, 0.3, 1},
	inTriggers:    {1.6, 0.7, 2},
	inTags:        {1.6, 0.7, 1},
	inDescription: {1, 0.75, 2},
}

// maxFieldWords bounds the words of a field that are read, maxFieldTerms those that count: the others only make the field longer. The
// Agent Skills specification allows descriptions of 1,024 characters, so more words than that are there for the search alone.
const maxFieldWords, maxFieldTerms = 1024, 200

// counts are how often a word stands in each field.
type counts [fieldCount]uint8

type posting struct {
	doc    uint32
	counts counts
}

// Index is an index of the skills of a snapshot. It is for any number of callers.
type Index struct {
	*base
	gone    map[uint32]bool // skills of base that are not in the snapshot
	added   []*document     // skills that are not in base, in the order of the snapshot
	found   map[string]int  // how many skills fewer or more than in base have a term
	written map[string]int  // the same for words
	lengths [fieldCount]int // words of the snapshot by field
	size    int             // skills of the snapshot
}

// base is made once and shared by the indexes of several snapshots.
type base struct {
	skills   []*pannier.Skill
	numbers  map[*pannier.Skill]uint32
	sizes    [][fieldCount]uint16 // words of each skill by field
	terms    map[string]uint32
	postings [][]posting // by term, then by skill
	// words are all words as they are written, sorted, holders in how many skills each stands, byEnd their order by their last letters.
	words   []string
	holders []uint32
	byEnd   []uint32
}

// document is what is indexed of one skill.
type document struct {
	skill *pannier.Skill
	terms map[string]counts
	words []string // sorted, each once
	sizes [fieldCount]uint16
}

// forEachFieldWord calls yield with the words of a skill that count, field by field.
func forEachFieldWord(s *pannier.Skill, yield func(field int, word []byte)) {
	read := func(field int, texts ...string) {
		left := maxFieldWords
		for _, text := range texts {
			forEachWord(text, func(word []byte) bool {
				if !isStop(word) {
					yield(field, word)
					left--
				}
				return left > 0
			})
		}
	}
	if pannier.Slugify(s.Name) == s.Slug {
		read(inName, s.Name)
	} else {
		read(inName, s.Name, s.Slug)
	}
	read(inTriggers, s.Triggers...)
	read(inTags, s.Tags...)
	read(inDescription, s.Description)
}

func newDocument(s *pannier.Skill) *document {
	d := &document{skill: s, terms: map[string]counts{}}
	forEachFieldWord(s, func(field int, folded []byte) {
		word := string(folded)
		term := stem(word)
		if d.sizes[field]++; d.sizes[field] > maxFieldTerms {
			return
		}
		c := d.terms[term]
		c[field] = min(c[field]+1, fields[field].most)
		d.terms[term] = c
		d.words = append(d.words, word)
	})
	slices.Sort(d.words)
	d.words = slices.Compact(d.words)
	return d
}

// New returns an index of some skills.
func New(entries []*pannier.Entry) *Index {
	b := &base{numbers: make(map[*pannier.Skill]uint32, len(entries)), terms: map[string]uint32{}}
	x := &Index{base: b, size: len(entries)}
	type known struct{ term, holders, last uint32 } // last is the skill that was counted last, and 1
	words := map[string]*known{}
	var tokens []uint64 // of one skill: term, then field
	for i, e := range entries {
		tokens = tokens[:0]
		var sizes [fieldCount]uint16
		forEachFieldWord(e.Skill, func(field int, word []byte) {
			w := words[string(word)]
			if w == nil {
				w = &known{}
				written := string(word)
				words[written] = w
				term := stem(written)
				id, ok := b.terms[term]
				if !ok {
					id = uint32(len(b.postings))
					b.terms[term] = id
					b.postings = append(b.postings, nil)
				}
				w.term = id
			}
			if sizes[field]++; sizes[field] > maxFieldTerms {
				return
			}
			if w.last != uint32(i)+1 {
				w.last = uint32(i) + 1
				w.holders++
			}
			tokens = append(tokens, uint64(w.term)<<8|uint64(field))
		})
		slices.Sort(tokens)
		for at := 0; at < len(tokens); {
			p := posting{doc: uint32(i)}
			term := tokens[at] >> 8
			for ; at < len(tokens) && tokens[at]>>8 == term; at++ {
				f := tokens[at] & 0xff
				p.counts[f] = min(p.counts[f]+1, fields[f].most)
			}
			b.postings[term] = append(b.postings[term], p)
		}
		b.skills, b.sizes = append(b.skills, e.Skill), append(b.sizes, sizes)
		b.numbers[e.Skill] = uint32(i)
		for f, n := range sizes {
			x.lengths[f] += int(n)
		}
	}
	for id := range b.postings {
		b.postings[id] = slices.Clip(b.postings[id])
	}
	for word := range words {
		if len(word) >= fuzzyLetters-1 {
			b.words = append(b.words, word)
		}
	}
	slices.Sort(b.words)
	for i, word := range b.words {
		b.holders, b.byEnd = append(b.holders, words[word].holders), append(b.byEnd, uint32(i))
	}
	slices.SortFunc(b.byEnd, func(i, j uint32) int { return strings.Compare(lastLetters(b.words[i]), lastLetters(b.words[j])) })
	return x
}

// rebuildAt is how many skills may differ from base before it is made anew.
const rebuildAt = 128

// Update returns the index of a later snapshot. The skills that are the same pointers are not read again.
func (x *Index) Update(entries []*pannier.Entry) *Index {
	made := &Index{base: x.base, gone: map[uint32]bool{}, found: map[string]int{}, written: map[string]int{}, size: len(entries)}
	before := map[*pannier.Skill]*document{}
	for _, d := range x.added {
		before[d.skill] = d
	}
	stays := make([]bool, len(x.skills))
	for _, e := range entries {
		if i, ok := x.numbers[e.Skill]; ok {
			stays[i] = true
			continue
		}
		d := before[e.Skill]
		if d == nil {
			d = newDocument(e.Skill)
		}
		made.added = append(made.added, d)
		made.count(d, 1)
	}
	for i, stay := range stays {
		if !stay {
			made.gone[uint32(i)] = true
		}
	}
	if len(made.gone)+len(made.added) > rebuildAt {
		return New(entries)
	}
	for i := range made.gone {
		made.count(newDocument(x.skills[i]), -1)
	}
	for i, stay := range stays {
		if stay {
			for f, n := range x.sizes[i] {
				made.lengths[f] += int(n)
			}
		}
	}
	for _, d := range made.added {
		for f, n := range d.sizes {
			made.lengths[f] += int(n)
		}
	}
	return made
}

// count adds a skill that base does not have, or takes one away.
func (x *Index) count(d *document, by int) {
	for term := range d.terms {
		x.found[term] += by
	}
	for _, word := range d.words {
		x.written[word] += by
	}
}
