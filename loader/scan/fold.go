package scan

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// folded is the text that commands are searched in: as a shell reads it, with disguises of command words removed.
type folded struct {
	text []byte
	// joins has the offsets in text of joined continuation lines, in order. Each is one line end of the file.
	joins []int
}

type folder struct {
	in     []byte
	out    []byte
	joins  []int
	indent bool // only blanks since the last line end
}

// special are the bytes that fold examines. Other bytes are copied.
var special = func() (t [256]bool) {
	for _, c := range []byte(" \t\v\f\r\n\\'\"$`^{") {
		t[c] = true
	}
	for c := 0x80; c < 0x100; c++ {
		t[c] = true
	}
	return t
}()

// fold returns a text with any sequence of blanks as one blank, continuation lines joined, quotes and backslashes inside
// words removed, $IFS and escapes in $'…' expanded, and letters that look like ASCII replaced.
func fold(in []byte) folded {
	f := &folder{in: in, out: make([]byte, 0, len(in)+len(in)/8), indent: true}
	for i := 0; i < len(in); {
		start := i
		for i < len(in) && (!special[in[i]] || in[i] == '\n' || in[i] == ' ' && i > start && in[i-1] != ' ' && in[i-1] != '\n') {
			i++
		}
		if i > start {
			f.out, f.indent = append(f.out, in[start:i]...), in[i-1] == '\n'
		}
		if i < len(in) {
			i += f.step(i)
		}
	}
	return folded{text: f.out, joins: f.joins}
}

func (f *folder) step(i int) int {
	switch c := f.in[i]; c {
	case ' ', '\t', '\v', '\f':
		f.blank(c)
		return 1
	case '\r':
		if i+1 == len(f.in) || f.in[i+1] != '\n' {
			f.blank(' ')
		}
		return 1
	case '\\', '`', '^':
		return f.escape(i)
	case '\'', '"':
		return f.quote(i)
	case '$':
		return f.dollar(i)
	case '{':
		return f.braces(i)
	default:
		return f.character(i)
	}
}

func (f *folder) blank(c byte) {
	switch {
	case f.indent && c == '\t':
		f.out = append(f.out, "    "...)
	case f.indent || len(f.out) > 0 && f.out[len(f.out)-1] != ' ':
		f.out = append(f.out, ' ')
	}
}

func (f *folder) emit(text ...byte) { f.out, f.indent = append(f.out, text...), false }

func (f *folder) last() byte {
	if len(f.out) == 0 {
		return '\n'
	}
	return f.out[len(f.out)-1]
}

// inWord reports whether a byte can be part of a command word or of an argument without blanks.
func inWord(c byte) bool { return isWord(c) || c == '/' || c == '.' || c == '~' || c >= 0x80 }

// escape folds a backslash, and the escape characters of PowerShell (`) and cmd (^).
func (f *folder) escape(i int) int {
	c, rest := f.in[i], f.in[i+1:]
	end := 0
	if bytes.HasPrefix(rest, []byte("\r\n")) {
		end = 2
	} else if bytes.HasPrefix(rest, []byte("\n")) {
		end = 1
	}
	if end > 0 && (c == '\\' || f.last() == ' ') && !f.inComment() {
		f.joins = append(f.joins, len(f.out))
		return 1 + end
	}
	if c == '`' && len(rest) > 1 && rest[0] == '`' && isWord(f.last()) && isWord(rest[1]) {
		return 2
	}
	drop := end == 0 && len(rest) > 0 && isLetter(f.last()) && isLetter(rest[0])
	if drop && (c != '\\' || bytes.IndexByte([]byte("ntr"), rest[0]) < 0 || f.spells(rest)) {
		return 1
	}
	f.emit(c)
	return 1
}

// inComment reports whether the output ends in a comment, which a backslash does not continue.
func (f *folder) inComment() bool {
	line := bytes.TrimLeft(lineBefore(f.out, len(f.out), 4096), " ")
	return len(line) > 0 && line[0] == '#'
}

// commandWords are the words in which a backslash before n, t or r is removed; elsewhere it is a line end or a tab.
var commandWords = map[string]bool{"curl": true, "wget": true, "nc": true, "ncat": true, "python": true, "python3": true, "perl": true, "rm": true, "eval": true, "printenv": true, "env": true}

// spells reports whether the last word of the output continues to a command word.
func (f *folder) spells(rest []byte) bool {
	start := len(f.out)
	for start > 0 && len(f.out)-start < 12 && isWord(f.out[start-1]) {
		start--
	}
	end := 0
	for end < len(rest) && end < 12 && isWord(rest[end]) {
		end++
	}
	return commandWords[string(f.out[start:])+string(rest[:end])]
}

// maxQuoted bounds a quoted part of a word.
const maxQuoted = 64

// quote removes the quotes around a part of a word, or around a whole word in the position of a command. Quotes around
// blanks stay.
func (f *folder) quote(i int) int {
	if t := f.in[i:min(len(f.in), i+4)]; len(t) > 2 && t[1] == t[0] && t[2] == t[0] && (!isWord(f.last()) || len(t) == 3 || !isWord(t[3])) {
		f.emit(t[:3]...) // a text of Python over several lines
		return 3
	}
	end := i + 1
	for end < len(f.in) && end-i <= maxQuoted && (inWord(f.in[end]) || f.in[end] == '\\') {
		end++
	}
	if end == len(f.in) || f.in[end] != f.in[i] {
		f.emit(f.in[i])
		return 1
	}
	if hasEscape(f.in[i+1 : end]) {
		f.emit(f.in[i : end+1]...)
		return end + 1 - i
	}
	next := byte('\n')
	if end+1 < len(f.in) {
		next = f.in[end+1]
	}
	joined := isWord(f.last()) || f.last() == '/' || isWord(next) || next == '/' || (next == '\'' || next == '"') && end > i+1
	alone := bytes.IndexByte([]byte(" \n|;&("), f.last()) >= 0 && bytes.IndexByte([]byte(" \n\r|;&)"), next) >= 0
	if !joined && !alone {
		f.emit(f.in[i])
		return 1
	}
	for _, c := range f.in[i+1 : end] {
		if c != '\\' {
			f.emit(c)
		}
	}
	return end + 1 - i
}

// hasEscape reports whether a quoted text contains numeric escapes, which printf and echo -e decode.
func hasEscape(text []byte) bool {
	for i, c := range text[:max(0, len(text)-1)] {
		if c == '\\' && (text[i+1] == 'x' || '0' <= text[i+1] && text[i+1] <= '7') {
			return true
		}
	}
	return false
}

// dollar expands expressions that are empty or a blank, and escapes in $'…'.
func (f *folder) dollar(i int) int {
	rest := f.in[i+1 : min(len(f.in), i+1+4*maxQuoted)]
	switch {
	case bytes.HasPrefix(rest, []byte("IFS")) && (len(rest) == 3 || !isWord(rest[3])):
		f.blank(' ')
		n := 4
		if len(rest) > 4 && rest[3] == '$' && '0' <= rest[4] && rest[4] <= '9' {
			n += 2
		}
		return n
	case bytes.HasPrefix(rest, []byte("{IFS")):
		if end := bytes.IndexByte(rest, '}'); end >= 0 && end < 16 {
			f.blank(' ')
			return end + 2
		}
	case len(rest) > 1 && (rest[0] == '@' || rest[0] == '*') && isWord(f.last()) && isWord(rest[1]):
		return 2
	case (bytes.HasPrefix(rest, []byte("{@}")) || bytes.HasPrefix(rest, []byte("{*}"))) && isWord(f.last()):
		return 4
	case bytes.HasPrefix(rest, []byte("()")) && isWord(f.last()):
		return 3
	case len(rest) > 0 && rest[0] == '\'':
		if end := bytes.IndexByte(rest[1:], '\''); end >= 0 && bytes.IndexByte(rest[1:1+end], '\\') >= 0 {
			f.emit(unescape(rest[1 : 1+end])...)
			return end + 3
		}
	}
	f.emit('$')
	return 1
}

// unescape decodes \xHH, \NNN and \uHHHH. It emits no line ends, so that line numbers stay correct.
func unescape(text []byte) []byte {
	var out []byte
	for i := 0; i < len(text); {
		if text[i] != '\\' || i+1 == len(text) {
			out = append(out, text[i])
			i++
			continue
		}
		base, width, from := rune(8), 3, i+1
		switch text[i+1] {
		case 'x':
			base, width, from = 16, 2, i+2
		case 'u':
			base, width, from = 16, 4, i+2
		}
		value, n := rune(0), from
		for n < len(text) && n-from < width {
			d := digit(text[n])
			if d >= base {
				break
			}
			value, n = value*base+d, n+1
		}
		switch {
		case n == from:
			out = append(out, text[i+1])
			n = i + 2
		case value >= ' ' && value < utf8.RuneSelf:
			out = append(out, byte(value))
		default:
			out = append(out, ' ')
		}
		i = n
	}
	return out
}

// digit returns the value of a hexadecimal digit, and 99 for other characters.
func digit(c byte) rune {
	switch {
	case '0' <= c && c <= '9':
		return rune(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10
	}
	return 99
}

// braces expands {curl,-s,https://x} to words, as a shell does.
func (f *folder) braces(i int) int {
	end := i + 1
	commas := 0
	for end < len(f.in) && end-i < 4*maxQuoted && f.in[end] != '}' {
		if f.in[end] == ',' {
			commas++
		}
		if bytes.IndexByte([]byte(" \n\t\"'`;(){"), f.in[end]) >= 0 {
			f.emit('{')
			return 1
		}
		end++
	}
	before := f.last()
	if commas == 0 || end == len(f.in) || f.in[end] != '}' || isWord(before) || before == '$' || !isLetter(f.in[i+1]) {
		f.emit('{')
		return 1
	}
	for _, c := range f.in[i+1 : end] {
		if c == ',' {
			c = ' '
		}
		f.emit(c)
	}
	return end + 1 - i
}

// lookalikes are letters of other alphabets, and punctuation, that look like ASCII.
var lookalikes = map[rune]byte{
	'а': 'a', 'в': 'b', 'с': 'c', 'ԁ': 'd', 'е': 'e', 'һ': 'h', 'і': 'i', 'ј': 'j', 'к': 'k', 'ӏ': 'l', 'м': 'm', 'п': 'n', 'о': 'o', 'р': 'p', 'ԛ': 'q',
	'г': 'r', 'ѕ': 's', 'т': 't', 'ц': 'u', 'ѵ': 'v', 'ԝ': 'w', 'х': 'x', 'у': 'y', 'А': 'A', 'В': 'B', 'С': 'C', 'Е': 'E', 'Н': 'H', 'І': 'I', 'К': 'K',
	'М': 'M', 'О': 'O', 'Р': 'P', 'Ѕ': 'S', 'Т': 'T', 'Х': 'X', 'α': 'a', 'ϲ': 'c', 'ε': 'e', 'η': 'n', 'ι': 'i', 'κ': 'k', 'ν': 'v', 'ο': 'o', 'ρ': 'p',
	'τ': 't', 'υ': 'u', 'ω': 'w', 'χ': 'x', 'γ': 'y', 'ı': 'i', 'ȷ': 'j', 'ɑ': 'a', 'ɡ': 'g', 'ɩ': 'i', 'ʏ': 'y', 'ᴄ': 'c', 'ᴏ': 'o', 'ᴜ': 'u', 'ᴠ': 'v',
	'ᴡ': 'w', 'ᴢ': 'z', 'ꜱ': 's', 'ʟ': 'l', 'ʀ': 'r', 'ɴ': 'n', 'ʜ': 'h', 'ʙ': 'b', 'ｌ': 'l', 'ǀ': '|', '∣': '|', '❘': '|', '‖': '|', '⁄': '/', '∕': '/',
	'‐': '-', '‑': '-', '‒': '-', '–': '-', '—': '-', '−': '-', '“': '"', '”': '"', '‘': '\'', '’': '\'', '․': '.', '˗': '-', '∶': ':',
}

func (f *folder) character(i int) int {
	r, size := utf8.DecodeRune(f.in[i:])
	if 0x3400 <= r && r <= 0x9fff || 0xac00 <= r && r <= 0xd7a3 { // Chinese, Japanese and Korean: a fast path
		f.emit(f.in[i : i+size]...)
		return size
	}
	ascii, similar := lookalikes[r]
	switch {
	case r == utf8.RuneError && size == 1:
		f.emit(f.in[i])
	case unicode.Is(unicode.Zs, r):
		f.blank(' ')
	case isInvisible(r), isVariation(r), isBidi(r), r == 0xad:
	case similar:
		f.emit(ascii)
	// The blocks with compatibility forms of ASCII.
	case 0xff01 <= r && r <= 0xffee || 0x1d400 <= r && r <= 0x1d7ff || 0x2070 <= r && r <= 0x209c || 0x2100 <= r && r <= 0x214f ||
		0x2460 <= r && r <= 0x24ff || 0xfb00 <= r && r <= 0xfb06 || 0x1f100 <= r && r <= 0x1f169 || 0x2b0 <= r && r <= 0x2e4:
		for _, c := range norm.NFKC.Bytes(f.in[i : i+size]) {
			f.emit(c)
		}
	default:
		f.emit(f.in[i : i+size]...)
	}
	return size
}
