package rank

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"pannier"
)

// Hit is a skill that has words of a text.
type Hit struct {
	Skill *pannier.Skill
	// Score grows with relevance: a word that only this skill has counts about 1, and more in its name.
	Score float64
	// Matched are the words of the text that the skill has, folded, those that count most first. Only the first [maxExplained] hits
	// have them.
	Matched []string
	// Trigger says that one of its triggers of several words stands in the text as a whole.
	Trigger bool
	whole   bool // its whole name, or a trigger, stands in the text
	doc     int  // the number of the skill in the index
}

// Likely reports whether the text is likely to be about the skill. Below that the order is little better than a guess: one rare word
// that both have is most often chance ("canary islands"), unless it is all that the skill is called ("pdf").
// Among similar skills every word is common, so more words count too.
func (h *Hit) Likely() bool {
	return h.Trigger || h.whole || h.Score >= likelyOfTwo && len(h.Matched) > 1 || h.Score >= likelyOfMore && len(h.Matched) > 2
}

// These were chosen on the even lines of testdata/turns, for texts about nothing.
const likelyOfTwo, likelyOfMore = 1.9, 1.2

const (
	// maxRequestBytes bounds the beginning and the end of a text that count whole, maxTextBytes what is read next to each of them.
	maxRequestBytes, maxTextBytes = 768, 8 << 10
	// maxWords bounds the different words of a turn that count.
	maxWords = 512
	// maxFuzzy bounds the words of a turn that are searched with a typing error, maxSpellings the words that one may stand for.
	maxFuzzy, maxSpellings = 24, 3
	// fuzzyWeight is what a word counts that has a typing error, relatedWeight what a related one does, earlierWeight what a word of
	// an earlier text does; each text before that counts half of the one after it.
	fuzzyWeight, relatedWeight, earlierWeight = 0.85, 0.65, 0.3
	// saturation is k1 of BM25F: how soon more of the same word says no more.
	saturation = 1.2
	// maxExplained bounds the hits that say which words matched.
	maxExplained = 64
)

// queryWord is a word of a text with the terms that it stands for, of which the best counts.
type queryWord struct {
	word   string
	weight float64
	stands []alternative
}

type alternative struct {
	term   string
	weight float64
}

// Rank returns the skills that have words of a text: those that have a trigger in it, then those that it is likely to be about, then
// the others; the most relevant first, equal ones by slug, then by path. earlier are the texts before it, the newest first. Of more
// than most skills the least relevant ones are left out; 0 means all.
func (x *Index) Rank(text string, earlier []string, most int) []Hit {
	words, phrase := x.query(text, earlier)
	if x.size == 0 || len(words) == 0 {
		return nil
	}
	scores := make([]float64, len(x.skills)+len(x.added))
	best := make([]float64, len(scores)) // of the alternatives of one word
	var reached []int
	scale := x.scale()
	for _, w := range words {
		for _, a := range w.stands {
			x.each(a.term, &scale, func(doc int, gain float64) {
				if best[doc] == 0 {
					reached = append(reached, doc)
				}
				best[doc] = max(best[doc], gain*a.weight)
			})
		}
		for _, doc := range reached {
			scores[doc] += best[doc] * w.weight
			best[doc] = 0
		}
		reached = reached[:0]
	}
	var hits []Hit
	for i, score := range scores {
		if score = math.Round(score*1000) / 1000; score > 0 {
			hits = append(hits, Hit{Skill: x.skill(i), Score: score, doc: i})
		}
		if most > 0 && len(hits) == 4*most {
			slices.SortFunc(hits, compareHits)
			hits = hits[:most]
		}
	}
	slices.SortFunc(hits, compareHits)
	if most > 0 {
		hits = hits[:min(len(hits), most)]
	}
	says := func(phrases ...string) bool {
		return slices.ContainsFunc(phrases, func(p string) bool {
			return minPhraseBytes <= len(p) && len(p) <= maxPhraseBytes && !isStop([]byte(strings.ToLower(p))) && strings.Contains(phrase, phraseOf(p))
		})
	}
	for i := range hits[:min(len(hits), maxExplained)] {
		h := &hits[i]
		h.Matched = x.matched(h.doc, words, &scale)
		h.whole = says(h.Skill.Name, h.Skill.Slug) || says(h.Skill.Triggers...)
		// A trigger of one word says no more than a name does, so that a skill with many of them does not come first.
		h.Trigger = says(slices.DeleteFunc(slices.Clone(h.Skill.Triggers), func(t string) bool { return len(strings.Fields(t)) < 2 })...)
	}
	class := func(h Hit) int {
		switch {
		case h.Trigger:
			return 0
		case h.Likely():
			return 1
		}
		return 2
	}
	slices.SortStableFunc(hits, func(a, b Hit) int { return cmp.Compare(class(a), class(b)) })
	for i := range hits {
		hits[i].doc = 0 // it is of this index alone
	}
	return hits
}

// A trigger is a phrase that people say. A longer one describes when to use the skill, and its words count one by one.
const minPhraseBytes, maxPhraseBytes = 3, 64

// phraseOf returns the words of a phrase, folded, with one blank around each.
func phraseOf(text string) string {
	var b strings.Builder
	b.WriteByte(' ')
	forEachWord(text, func(word []byte) bool {
		b.Write(word)
		b.WriteByte(' ')
		return true
	})
	return b.String()
}

func compareHits(a, b Hit) int {
	if a.Score != b.Score {
		return cmp.Compare(b.Score, a.Score)
	}
	return cmp.Or(cmp.Compare(a.Skill.Slug, b.Skill.Slug), cmp.Compare(a.Skill.Path, b.Skill.Path))
}

// skill returns a skill by its number: those of base, then the added ones.
func (x *Index) skill(i int) *pannier.Skill {
	if i < len(x.skills) {
		return x.skills[i]
	}
	return x.added[i-len(x.skills)].skill
}

// each calls yield with the skills of the snapshot that have a term, and what it counts there.
func (x *Index) each(term string, scale *scale, yield func(doc int, gain float64)) {
	id, known := x.terms[term]
	rarity := x.rarity(term)
	if rarity <= 0 {
		return
	}
	if known {
		for _, p := range x.postings[id] {
			if len(x.gone) == 0 || !x.gone[p.doc] {
				yield(int(p.doc), rarity*scale.weigh(p.counts, &x.sizes[p.doc]))
			}
		}
	}
	for i, d := range x.added {
		if c, ok := d.terms[term]; ok {
			yield(len(x.skills)+i, rarity*scale.weigh(c, &d.sizes))
		}
	}
}

// rarity is how much a term tells about a skill, from 0 to 1: its inverse document frequency as a share of that of a term that one
// skill has, so that scores compare between snapshots of any size.
func (x *Index) rarity(term string) float64 {
	n := float64(x.have(term))
	if n <= 0 {
		return 0
	}
	size := float64(x.size)
	return math.Log(1+(size-n+0.5)/(n+0.5)) / math.Log(1+(size-0.5)/1.5)
}

// gain returns what a term counts in one skill.
func (x *Index) gain(term string, doc int, scale *scale) float64 {
	if doc >= len(x.skills) {
		d := x.added[doc-len(x.skills)]
		if c, ok := d.terms[term]; ok {
			return x.rarity(term) * scale.weigh(c, &d.sizes)
		}
		return 0
	}
	if id, ok := x.terms[term]; ok {
		list := x.postings[id]
		if i, ok := slices.BinarySearchFunc(list, uint32(doc), func(p posting, doc uint32) int { return cmp.Compare(p.doc, doc) }); ok {
			return x.rarity(term) * scale.weigh(list[i].counts, &x.sizes[doc])
		}
	}
	return 0
}

// scale has for each field what a word of a text of average length is divided by, in two parts: the part that is the same for each
// skill, and that of each word of the field.
type scale [fieldCount]struct{ base, perWord float64 }

func (x *Index) scale() (s scale) {
	for f := range fields {
		average := max(1, float64(x.lengths[f])/float64(x.size))
		s[f].base, s[f].perWord = 1-fields[f].bias, fields[f].bias/average
	}
	return s
}

// weigh returns what the occurrences of a term in a skill count together.
func (s *scale) weigh(c counts, sizes *[fieldCount]uint16) float64 {
	sum := 0.0
	for f, n := range c {
		if n > 0 {
			sum += fields[f].weight * float64(n) / (s[f].base + s[f].perWord*float64(sizes[f]))
		}
	}
	return sum * (saturation + 1) / (sum + saturation)
}

// matched returns the words that a skill has, by what they count.
func (x *Index) matched(doc int, words []queryWord, scale *scale) []string {
	type match struct {
		word string
		gain float64
	}
	var found []match
	for _, w := range words {
		gain := 0.0
		for _, a := range w.stands {
			gain = max(gain, x.gain(a.term, doc, scale)*a.weight*w.weight)
		}
		if gain > 0 {
			found = append(found, match{w.word, gain})
		}
	}
	slices.SortStableFunc(found, func(a, b match) int { return cmp.Or(cmp.Compare(b.gain, a.gain), cmp.Compare(a.word, b.word)) })
	list := make([]string, len(found))
	for i, m := range found {
		list[i] = m.word
	}
	return list
}

// query reads the words of the texts of a turn. phrase has all of the text that are read, in their order, with one blank around each.
func (x *Index) query(text string, earlier []string) (words []queryWord, phrase string) {
	var said [len(readOrder)][]byte
	seen := map[string]bool{}
	fuzzy := 0
	weight := 1.0
	for i, text := range append([]string{text}, earlier...) {
		if i == 1 {
			weight = earlierWeight
		} else if i > 1 {
			weight /= 2
		}
		for at, part := range partsOf(text) {
			forEachWord(part.text, func(folded []byte) bool {
				if i == 0 {
					said[at] = append(append(said[at], folded...), ' ')
				}
				if len(words) == maxWords {
					return i == 0
				}
				if seen[string(folded)] || isStop(folded) {
					return true
				}
				word := string(folded)
				seen[word] = true
				w := queryWord{word: word, weight: weight * part.weight, stands: []alternative{{stem(word), 1}}}
				for _, term := range related[word] {
					w.stands = append(w.stands, alternative{term, relatedWeight})
				}
				if len(w.stands) == 1 && x.have(w.stands[0].term) == 0 && len(word) >= fuzzyLetters && fuzzy < maxFuzzy {
					fuzzy++
					for _, other := range x.spellings(word) {
						w.stands = append(w.stands, alternative{stem(other), fuzzyWeight})
						for _, term := range related[other] {
							w.stands = append(w.stands, alternative{term, fuzzyWeight * relatedWeight})
						}
					}
				}
				words = append(words, w)
				return true
			})
		}
	}
	phrase = " "
	for _, at := range readOrder {
		phrase += string(said[at])
	}
	return words, phrase
}

// part is a part of a text with what its words count.
type part struct {
	text   string
	weight float64
}

// partsOf returns what is read of a text: a short one whole; of a longer one its beginning and its end, where people say what they want,
// then what lies next to these and counts less, such as a log that was pasted.
func partsOf(text string) [len(readOrder)]part {
	head, rest := cutNear(text, maxRequestBytes, false)
	rest, tail := cutNear(rest, len(rest)-maxRequestBytes, true)
	begin, rest := cutNear(rest, maxTextBytes, false)
	_, end := cutNear(rest, len(rest)-maxTextBytes, true)
	return [...]part{{head, 1}, {tail, 1}, {begin, earlierWeight}, {end, earlierWeight}}
}

// readOrder is the order of those parts in the text.
var readOrder = [...]int{0, 2, 3, 1}

// cutNear cuts a text at a blank before a place, or after it; a shorter text stays whole, in the first part or in the last.
func cutNear(text string, at int, after bool) (string, string) {
	switch {
	case at >= len(text):
		return text, ""
	case at <= 0:
		return "", text
	}
	if i := strings.LastIndexAny(text[:at], " \n\t"); !after && i > 0 {
		at = i
	} else if i := strings.IndexAny(text[at:], " \n\t"); after && i >= 0 {
		at += i
	}
	return text[:at], text[at:]
}

// have returns how many skills of the snapshot have a term.
func (x *Index) have(term string) int {
	n := x.found[term]
	if id, ok := x.terms[term]; ok {
		n += len(x.postings[id])
	}
	return n
}
