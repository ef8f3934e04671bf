package scan

import (
	"bytes"
	"cmp"
	"math"
	"slices"
)

// fakeWords occur in placeholders, and in about one of ten thousand random secrets.
var fakeWords = [][]byte{
	[]byte("example"), []byte("xxxx"), []byte("your"), []byte("placeholder"), []byte("dummy"), []byte("sample"), []byte("changeme"),
	[]byte("redacted"), []byte("replace"), []byte("insert"), []byte("secret"), []byte("realkey"), []byte("notreal"), []byte("abcdef"),
	[]byte("12345678"), []byte("-here"), []byte("_here"), []byte("keyhere"), []byte("tokenhere"), []byte("fake"), []byte("...."),
}

// minDistinct is the minimum number of different characters of a secret, maxRun the maximum length of a run of one character.
const (
	minDistinct = 8
	maxRun      = 5
)

// isFake reports whether a secret is obviously fake: a placeholder, a documentation example, or a repeated character.
func isFake(secret []byte) bool {
	lower := bytes.ToLower(secret)
	for _, w := range fakeWords {
		if bytes.Contains(lower, w) {
			return true
		}
	}
	var seen [256]bool
	distinct, run := 0, 0
	for i, c := range lower {
		if !seen[c] {
			seen[c] = true
			distinct++
		}
		if i > 0 && lower[i-1] == c {
			if run++; run > maxRun {
				return true
			}
		} else {
			run = 1
		}
	}
	return distinct < minDistinct || ascends(lower)
}

// The lengths of ascending letters and of ascending digits that make a secret a fake: a1b2c3d4e5, abc123def456.
const (
	minLetters = 5
	minDigits  = 6
)

// ascends reports whether the lower-case letters of a text, or its digits, form a long enough ascending sequence.
func ascends(lower []byte) bool {
	letters, digits := 1, 1
	var letter, digit byte
	for _, c := range lower {
		switch {
		case 'a' <= c && c <= 'z':
			letters = extend(letters, letter, c)
			letter = c
		case '0' <= c && c <= '9':
			digits = extend(digits, digit, c)
			digit = c
		}
		if letters == minLetters || digits == minDigits {
			return true
		}
	}
	return false
}

func extend(run int, last, next byte) int {
	if next == last+1 {
		return run + 1
	}
	return 1
}

// allowances are comments that mark a secret as harmless for secret scanners.
var allowances = [][]byte{[]byte("gitleaks:allow"), []byte("pragma: allowlist secret"), []byte("trufflehog:ignore")}

func isAllowed(text []byte, at int) bool {
	start := max(bytes.LastIndexByte(text[:at], '\n')+1, at-reach)
	line, _, _ := bytes.Cut(text[start:min(len(text), at+reach)], []byte{'\n'})
	return slices.ContainsFunc(allowances, func(a []byte) bool { return bytes.Contains(line, a) })
}

// minEntropy is the minimum entropy of a character of a secret, in bits. 32 hexadecimal digits have slightly more.
const minEntropy = 3.3

// looksRandom reports whether a text looks random instead of made of words: it mixes digits with letters, and has many
// different characters for its length.
func looksRandom(s []byte) bool {
	digits := 0
	for _, c := range s {
		if '0' <= c && c <= '9' {
			digits++
		}
	}
	return digits >= 2 && digits < len(s) && entropy(s) >= minEntropy
}

func hasUpper(s []byte) bool {
	return bytes.ContainsFunc(s, func(r rune) bool { return 'A' <= r && r <= 'Z' })
}

func hasLower(s []byte) bool {
	return bytes.ContainsFunc(s, func(r rune) bool { return 'a' <= r && r <= 'z' })
}

func entropy(s []byte) float64 {
	var counts [256]int
	for _, c := range s {
		counts[c]++
	}
	bits := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(s))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}

// The bounds of the length and the entropy of an assigned secret.
const (
	minAssigned     = 20
	maxAssigned     = 128
	assignedEntropy = 3.9
)

// assigned is what precedes the quote: the name of a secret, and an equals sign or a colon.
var assigned = compile(`(?i)(?:secret|token|passw(?:or)?d|api[_-]?key|access[_-]?key|private[_-]?key|credential)[a-z_]{0,12}["']?\s{0,3}(?::=|=>|[:=])\s{0,3}$`)

// assignments finds quoted texts that look random and are assigned to the name of a secret, unless a known format was found
// already.
func (s *search) assignments() {
	s.sort()
	known := s.hits
	for i := 0; i < len(s.text) && !s.stop(); i++ {
		next := bytes.IndexAny(s.text[i:], `"'`)
		if next < 0 {
			return
		}
		i += next
		value := quoted(s.text[i:])
		if len(value) < minAssigned || !isAssigned(s.text[:i]) {
			continue
		}
		if !s.spend(1) {
			return
		}
		end := i + len(value) + 1
		if isStrictlyRandom(value) && assigned().Match(s.text[max(0, i-60):i]) && !hasSecret(known, i-40, end) {
			s.add("scan.secret.assignment", i+1, "")
		}
		i = end
	}
}

// quoted returns the quoted text at the beginning, if it could be a secret.
func quoted(text []byte) []byte {
	end := 1
	for end < len(text) && end <= maxAssigned && isToken(text[end]) {
		end++
	}
	if end == len(text) || text[end] != text[0] {
		return nil
	}
	return text[1:end]
}

// isAssigned reports whether a text ends as if a value follows.
func isAssigned(text []byte) bool {
	before := bytes.TrimRight(text[max(0, len(text)-4):], " ")
	return len(before) > 0 && bytes.IndexByte([]byte(":=>"), before[len(before)-1]) >= 0
}

func isToken(c byte) bool { return isWord(c) || c == '/' || c == '+' || c == '=' || c == '.' }

// isStrictlyRandom is stricter than [looksRandom], because nothing else indicates a secret: it needs letters of both cases
// and digits.
func isStrictlyRandom(v []byte) bool {
	return looksRandom(v) && hasUpper(v) && hasLower(v) && entropy(v) >= assignedEntropy && !isFake(v) && !address().Match(v)
}

// address is a blockchain address, which is public although it is called a token.
var address = compile(`^(?:0x[0-9A-Fa-f]{40}|[1-9A-HJ-NP-Za-km-z]{43,44})$`)

// hasSecret reports whether one of the hits, which are in order, is a secret in a range of the text.
func hasSecret(hits []hit, from, to int) bool {
	i, _ := slices.BinarySearchFunc(hits, from, func(h hit, from int) int { return cmp.Compare(h.at, from) })
	for ; i < len(hits) && hits[i].at < to; i++ {
		if isSecret(hits[i].code) {
			return true
		}
	}
	return false
}
