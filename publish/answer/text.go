package answer

import (
	"encoding/hex"
	"math/bits"
	"unicode/utf8"
)

// AppendString appends a text as JSON, as encoding/json does without escapes for HTML.
func AppendString(dst []byte, text string) []byte {
	return append(AppendEscaped(append(dst, '"'), text), '"')
}

// AppendEscaped appends a text as it stands between quotes; what is not UTF-8 becomes U+FFFD.
func AppendEscaped(dst []byte, text string) []byte {
	from := 0
	for i := 0; ; {
		i += plainPrefix(text[i:])
		if i == len(text) {
			return append(dst, text[from:]...)
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if size > 1 && r != '\u2028' && r != '\u2029' {
			i += size
			continue
		}
		dst = appendEscape(append(dst, text[from:i]...), r)
		i += size
		from = i
	}
}

// plainPrefix returns how many bytes at the start of a text are ASCII that stands in a JSON string as it is. It looks
// at eight at a time.
func plainPrefix(text string) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; len(text)-i >= 8; i += 8 {
		t := text[i : i+8]
		eight := uint64(t[0]) | uint64(t[1])<<8 | uint64(t[2])<<16 | uint64(t[3])<<24 |
			uint64(t[4])<<32 | uint64(t[5])<<40 | uint64(t[6])<<48 | uint64(t[7])<<56
		quote, slash := eight^(ones*'"'), eight^(ones*'\\')
		// The high bit of a byte is set where the byte is less than a blank, one of the two, or not ASCII. A borrow
		// can only set more of them, after the first.
		if special := ((eight - ones*' ') | (quote - ones) | (slash - ones) | eight) & high; special != 0 {
			return i + bits.TrailingZeros64(special)/8
		}
	}
	for i < len(text) && ' ' <= text[i] && text[i] < utf8.RuneSelf && text[i] != '"' && text[i] != '\\' {
		i++
	}
	return i
}

// appendEscape appends a character that a JSON string must escape, or that some readers do not accept.
func appendEscape(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return hex.AppendEncode(append(dst, `\u`...), []byte{byte(r >> 8), byte(r)})
}

// AppendStrings appends a list of texts.
func AppendStrings(dst []byte, list []string) []byte {
	from := len(dst)
	for _, text := range list {
		dst = AppendString(append(dst, ','), text)
	}
	return CloseList(dst, from)
}

// CloseList makes a list of what was appended with a comma before each.
func CloseList(dst []byte, from int) []byte {
	if len(dst) == from {
		return append(dst, "[]"...)
	}
	dst[from] = '['
	return append(dst, ']')
}
