package repair

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// pairLength is that of a surrogate pair as JSON writes it, `\ud83d\udc3e`.
const pairLength = 12

// maxPairGroups bounds the groups of pairs in a block, each of which is tried alone.
const maxPairGroups = 64

// surrogates finds pairs, and backslashes that escape another one.
var surrogates = regexp.MustCompile(`\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}`)

// joinPairs returns a block with the JSON surrogate pairs of its texts in double quotes joined, and the place of the first one in
// the block; -1 if that does not help. JSON writes a character beyond U+FFFF as two escapes (RFC 8259, section 7), which YAML
// does not know. Elsewhere than in double quotes a pair is text, and YAML accepts it.
func joinPairs(source []byte) (joined []byte, first int) {
	plain := slices.Clone(source)
	var groups [][][]int // pairs with neither a quote nor a line end between them are in the same text
	last := 0
	for _, m := range surrogates.FindAllIndex(source, -1) {
		if m[1]-m[0] < pairLength {
			continue
		}
		copy(plain[m[0]:], strings.Repeat("x", pairLength))
		if len(groups) == 0 || bytes.ContainsAny(source[last:m[0]], "\"'\n") {
			groups = append(groups, nil)
		}
		last = m[1]
		groups[len(groups)-1] = append(groups[len(groups)-1], m)
	}
	first = -1
	if len(groups) == 0 || len(groups) > maxPairGroups || isFaulty(plain) {
		return source, first
	}
	end := 0
	for _, group := range groups {
		alone := slices.Clone(plain)
		copy(alone[group[0][0]:], source[group[0][0]:group[0][1]])
		if !isFaulty(alone) {
			continue
		}
		for _, m := range group {
			r, _ := pairAt(source[m[0]:])
			joined = utf8.AppendRune(append(joined, source[end:m[0]]...), r)
			end = m[1]
		}
		if first < 0 {
			first = group[0][0]
		}
	}
	return append(joined, source[end:]...), first
}

// pairAt returns the character whose surrogate pair a text begins with.
func pairAt(text []byte) (rune, bool) {
	if len(text) < pairLength || text[1] != 'u' || text[6] != '\\' || text[7] != 'u' {
		return 0, false
	}
	high, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return 0, false
	}
	low, err := strconv.ParseUint(string(text[8:12]), 16, 16)
	if err != nil {
		return 0, false
	}
	r := utf16.DecodeRune(rune(high), rune(low))
	return r, r != utf8.RuneError
}
