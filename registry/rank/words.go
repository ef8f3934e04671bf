package rank

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
	"golang.org/x/text/unicode/norm"
)

const (
	// maxWordBytes bounds a word. A longer one, such as a key or a line of base64, means nothing to a reader.
	maxWordBytes = 48
	// fuzzyLetters is the length from which a word may have one typing error.
	fuzzyLetters = 6
)

// forEachWord calls yield with the words of a text, folded: lower case, without accents, compounds in their parts. pdf-forms and
// pdfForms are pdf and forms. Texts without blanks between words (Chinese, Japanese, Thai) give pairs of characters.
// The words are valid until yield returns.
func forEachWord(text string, yield func(word []byte) bool) {
	var word []byte
	var wide [2]rune // the last character of a text without blanks, and this one
	upper, lower := false, false
	flush := func() bool {
		upper, lower = false, false
		if len(word) == 0 {
			return true
		}
		w := word
		word = word[:0]
		return len(w) > maxWordBytes || yield(w)
	}
	for i, r := range text {
		if r >= utf8.RuneSelf {
			if isUnspaced(r) {
				if !flush() {
					return
				}
				wide[0], wide[1] = wide[1], r
				if wide[0] != 0 && !yield([]byte(string(wide[:]))) {
					return
				}
				continue
			}
			if unicode.Is(unicode.Mn, r) {
				continue
			}
		}
		wide = [2]rune{}
		switch {
		case 'a' <= r && r <= 'z':
			word, lower = append(word, byte(r)), true
		case 'A' <= r && r <= 'Z':
			// pdfForms, PDFForms: a word begins at the last capital before a small letter.
			next := byte(0)
			if i+1 < len(text) {
				next = text[i+1]
			}
			if (lower || upper && len(word) > 1 && 'a' <= next && next <= 'z' && next != 's') && !flush() {
				return
			}
			word, upper = append(word, byte(r)+'a'-'A'), true
		case '0' <= r && r <= '9':
			word = append(word, byte(r))
		case r == '\'' || r == '’':
			// It's and don't are its and dont.
		case r < utf8.RuneSelf || !unicode.IsLetter(r):
			if !flush() {
				return
			}
		default:
			if unicode.IsUpper(r) {
				if lower && !flush() {
					return
				}
				upper = true
			} else {
				lower = true
			}
			word = appendFolded(word, r)
		}
	}
	flush()
}

// appendFolded appends a letter without its accents, in lower case.
func appendFolded(word []byte, r rune) []byte {
	switch r {
	case 'ß':
		return append(word, "ss"...)
	case 'æ', 'Æ':
		return append(word, "ae"...)
	case 'ø', 'Ø':
		return append(word, 'o')
	case 'ł', 'Ł':
		return append(word, 'l')
	}
	for _, part := range norm.NFKD.String(string(r)) {
		if !unicode.Is(unicode.Mn, part) {
			word = utf8.AppendRune(word, unicode.ToLower(part))
		}
	}
	return word
}

// isUnspaced reports whether a letter belongs to a script that puts no blanks between words.
func isUnspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

// stem returns what the forms of an English word have in common.
func stem(word string) string {
	if len(word) < 4 || strings.IndexFunc(word, func(r rune) bool { return r < 'a' || r > 'z' }) >= 0 {
		return word
	}
	return english.Stem(word, false)
}

// isStop reports whether a word says nothing about what a text is about.
func isStop(word []byte) bool {
	_, ok := stops[string(word)]
	return ok || len(word) == 1
}
