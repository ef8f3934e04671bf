package scan

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// Characters with a meaning that depends on their context.
const (
	nonJoiner  = 0x200c
	joiner     = 0x200d
	mark       = 0xfeff // the byte order mark
	blackFlag  = 0x1f3f4
	lastTag    = 0xe007f
	minSplit   = 3 // of invisible characters that split words near each other
	minRun     = 4 // of consecutive variation selectors that can encode a text; editors can leave two
	zeroWidth  = 0x200b
	firstBlock = 0xc2 // the lowest first byte of a character that is not ASCII
)

func (s *search) characters() {
	run := 0              // of variation selectors up to here
	split, until := 0, -1 // invisible characters within words, and where they end to be near
	for i := 0; i < len(s.text); {
		if s.text[i] < firstBlock {
			i, run = i+1, 0
			continue
		}
		if s.stop() {
			return
		}
		r, size := utf8.DecodeRune(s.text[i:])
		if isVariation(r) {
			if run++; run == minRun {
				s.add("scan.unicode.variation", i, "")
			}
		} else {
			run = 0
			if code := ruleForCharacter(s.text, i, r, size); code != "" {
				s.add(code, i, fmt.Sprintf("%U", r))
				if i > 0 && i+size < len(s.text) && isLetter(s.text[i-1]) && isLetter(s.text[i+size]) {
					if split++; i > until {
						split = 1
					}
					if until = i + maxStep; split == minSplit {
						s.add("scan.unicode.split_words", i, "")
					}
				}
			}
		}
		i += size
	}
}

// ruleForCharacter returns the rule for a character in its place, "" if it is legitimate there.
func ruleForCharacter(text []byte, at int, r rune, size int) string {
	switch {
	case isTag(r):
		if !inFlag(text[:at], text[at:]) {
			return "scan.unicode.tags"
		}
	case isBidi(r):
		if r == 0x202d || r == 0x202e || !inRightToLeft(text, at) {
			return "scan.unicode.bidi"
		}
	case isInvisible(r):
		if !isLegitimate(text, at, r, size) {
			return "scan.unicode.invisible"
		}
	}
	return ""
}

func isTag(r rune) bool { return 0xe0000 <= r && r <= lastTag }

func isVariation(r rune) bool { return 0xfe00 <= r && r <= 0xfe0f || 0xe0100 <= r && r <= 0xe01ef }

// isBidi reports whether a character changes the direction of the following text.
func isBidi(r rune) bool { return 0x202a <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069 }

func isInvisible(r rune) bool {
	switch r {
	case zeroWidth, nonJoiner, joiner, mark, 0x115f, 0x1160, 0x3164, 0xffa0, 0x180e:
		return true
	}
	return 0x2060 <= r && r <= 0x2064
}

// inFlag reports whether a tag character is part of the flag of a region: a black flag followed by tags and a cancel tag.
func inFlag(before, from []byte) bool {
	for n := 0; len(before) > 0 && n < 8; n++ {
		r, size := utf8.DecodeLastRune(before)
		before = before[:len(before)-size]
		if r == blackFlag {
			return endsFlag(from)
		}
		if !isTag(r) {
			return false
		}
	}
	return false
}

func endsFlag(from []byte) bool {
	for range 8 {
		r, size := utf8.DecodeRune(from)
		if !isTag(r) {
			return false
		}
		if r == lastTag {
			return true
		}
		from = from[size:]
	}
	return false
}

// inRightToLeft reports whether the line contains letters of a right-to-left script.
func inRightToLeft(text []byte, at int) bool {
	start := bytes.LastIndexByte(head(text, at), '\n') + 1
	line, _, _ := bytes.Cut(text[max(start, at-1000):min(len(text), at+1000)], []byte{'\n'})
	return bytes.ContainsFunc(line, func(r rune) bool {
		return 0x590 <= r && r <= 0x8ff || 0xfb1d <= r && r <= 0xfdff || 0xfe70 <= r && r <= 0xfefc
	})
}

// isLegitimate reports whether an invisible character serves its purpose: it begins a file, joins emoji, shapes letters, or
// separates words in a script without spaces.
func isLegitimate(text []byte, at int, r rune, size int) bool {
	before := lastVisible(text[:at])
	next, _ := utf8.DecodeRune(text[at+size:])
	switch r {
	case mark:
		return at == 0
	case joiner:
		return isEmoji(before) && isEmoji(next) || usesJoiners(before)
	case nonJoiner:
		return usesJoiners(before)
	case zeroWidth:
		return hasNoSpaces(before) || hasNoSpaces(next)
	case 0x115f, 0x1160, 0x3164, 0xffa0:
		return unicode.Is(unicode.Hangul, before) || unicode.Is(unicode.Hangul, next)
	case 0x180e:
		return unicode.Is(unicode.Mongolian, before)
	}
	return false
}

// lastVisible returns the last character of a text, without variation selectors and skin tones.
func lastVisible(text []byte) rune {
	for {
		r, size := utf8.DecodeLastRune(text)
		if size == 0 || !isVariation(r) && (r < 0x1f3fb || r > 0x1f3ff) {
			return r
		}
		text = text[:len(text)-size]
	}
}

func isEmoji(r rune) bool {
	return 0x1f000 <= r && r <= 0x1faff || 0x2190 <= r && r <= 0x2bff || r == 0x3030 || r == 0x303d
}

// usesJoiners reports whether a letter is of a script that uses joiners in its spelling.
func usesJoiners(r rune) bool {
	return unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Nko, unicode.Mongolian, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi,
		unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala)
}

func hasNoSpaces(r rune) bool {
	return unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan, unicode.Javanese)
}
