package rank

import (
	"slices"
	"sort"
	"strings"
)

// spellings returns the words of the skills that differ from a word by one typing error: a letter too many, too few, another one, or
// two exchanged. One error leaves the first two or the last two letters of a word of six as they are, so only words that begin or
// end alike are compared, and those of [related]. The first maxSpellings in the order of the alphabet are returned.
func (x *Index) spellings(word string) []string {
	var found []string
	try := func(other string, holders int) {
		if holders > 0 && (OneEdit(word, other) || OneEdit(word, strings.TrimSuffix(other, "s"))) && !slices.Contains(found, other) {
			found = append(found, other)
		}
	}
	for _, other := range relatedLong {
		try(other, 1)
	}
	at := func(i int) { try(x.words[i], int(x.holders[i])+x.written[x.words[i]]) }
	begin := word[:2]
	for i := sort.SearchStrings(x.words, begin); i < len(x.words) && strings.HasPrefix(x.words[i], begin); i++ {
		at(i)
	}
	end := lastLetters(word)
	from, _ := slices.BinarySearchFunc(x.byEnd, end, func(i uint32, end string) int { return strings.Compare(lastLetters(x.words[i]), end) })
	for ; from < len(x.byEnd) && lastLetters(x.words[x.byEnd[from]]) == end; from++ {
		at(int(x.byEnd[from]))
	}
	for _, d := range x.added {
		for _, other := range d.words {
			try(other, 1)
		}
	}
	slices.Sort(found)
	return found[:min(len(found), maxSpellings)]
}

// lastLetters returns the last two bytes of a word.
func lastLetters(word string) string { return word[max(0, len(word)-2):] }

// OneEdit reports whether one typing error makes one word of another one: a byte too many, too few, another one, or two exchanged.
func OneEdit(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 || a == b {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:]
	}
	return a[i+1:] == b[i+1:] || i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}
