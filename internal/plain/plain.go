// Package plain makes texts of skills, files and peers fit for a line of a terminal or a log.
package plain

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/width"

	"pannier"
)

// IsControl reports whether a terminal acts on a character instead of showing it, or shows nothing: control, format and
// bidirectional characters, and ends of lines. The joiner of emoji is not one.
func IsControl(r rune) bool {
	if r < 0x80 { // most characters, without a search in five tables
		return r < ' ' || r == 0x7f
	}
	return r != '\u200d' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co)
}

// Text drops control characters and folds a text to one line.
func Text(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case IsControl(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// Lines drops control characters from a text of several lines, and keeps lines and tabs.
func Lines(text string) string {
	clean := strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(strings.ReplaceAll(text, "\r\n", "\n"), "\uFFFD"))
	if strings.Contains(text, "\r\n") && strings.Count(text, "\r\n") == strings.Count(text, "\n") {
		clean = strings.ReplaceAll(clean, "\n", "\r\n") // keep the author's line ends
	}
	return clean
}

// Cells returns how many cells of a terminal a text takes: two for wide characters, none for marks on others (Unicode
// Standard Annex 11).
func Cells(text string) int {
	n := 0
	for _, r := range text {
		switch {
		case r < 0x300:
			n++
		case unicode.In(r, unicode.Mn, unicode.Me) || r == '\u200d':
		default:
			kind := width.LookupRune(r).Kind()
			if n++; kind == width.EastAsianWide || kind == width.EastAsianFullwidth {
				n++
			}
		}
	}
	return n
}

// Shorten returns a text on one line, cut to a number of characters.
func Shorten(text string, length int) string {
	return pannier.Truncate(strings.Join(strings.Fields(text), " "), length)
}

// Count returns a count with its noun, such as "1 skill", "2 skills" and "2 directories".
func Count(count int, word string) string {
	if stem, y := strings.CutSuffix(word, "y"); count != 1 && y {
		word = stem + "ies"
	} else if count != 1 {
		word += "s"
	}
	return fmt.Sprintf("%d %s", count, word)
}
