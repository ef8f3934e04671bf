package loader

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"pannier"
)

var utf8BOM = []byte("\xef\xbb\xbf")

// parts are the parts of a SKILL.md.
type parts struct {
	// front is what stands between the fences, body what follows them. Both are slices of the text.
	front, body []byte
	// line is the line of the file, counted from 1, that front begins in; 0 means that there is no frontmatter.
	line int
	// fences is how many bytes of the text the frontmatter takes up, both fences included.
	fences int
}

// textFault is what keeps a SKILL.md from being cut into its parts, or a warning about how it was cut.
type textFault struct {
	code, message, hint string
	line                int
}

func (f *textFault) problem(path string, severity pannier.Severity) pannier.Problem {
	return pannier.Problem{Code: f.code, Severity: severity, Path: path, Line: f.line, Message: f.message, Hint: f.hint}
}

var (
	faultBOM = &textFault{code: "skill.bom", line: 1, message: "the file begins with a byte order mark", hint: "save it as UTF-8 without one; most other readers find no frontmatter behind it"}

	faultNoFrontmatter = &textFault{code: "skill.frontmatter.missing", line: 1, message: "there is no frontmatter: the first line is not `---`", hint: "begin the file with `---`, lines with `name:` and `description:`, and another `---`"}
	faultUnclosed      = &textFault{code: "skill.frontmatter.unclosed", line: 1, message: "the frontmatter is not closed", hint: "put a line with `---`, and nothing else in it, behind the last field"}
)

// cut finds the frontmatter of a SKILL.md (Agent Skills specification, "SKILL.md format"). The fences are whole lines, so
// that `---` inside of a value or of the body is text. text may be the beginning of a longer file, of which whole says
// that it is all; limit bounds the frontmatter in bytes.
func cut(text []byte, whole bool, limit int64) (p parts, warnings []*textFault, err *textFault) {
	start := 0
	if bytes.HasPrefix(text, utf8BOM) {
		start = len(utf8BOM)
		warnings = append(warnings, faultBOM)
	}
	first, rest := nextLine(text[start:])
	if !isFence(first) {
		return parts{body: text[start:]}, warnings, faultNoFrontmatter
	}
	from := len(text) - len(rest)
	for line := 2; len(rest) > 0; line++ {
		at := len(text) - len(rest)
		var current []byte
		current, rest = nextLine(rest)
		if isFence(current) {
			p = parts{front: text[from:at], body: rest, line: 2, fences: len(text) - len(rest)}
			return p, warnings, checkText(p.front, limit)
		}
	}
	if !whole || int64(len(text)-from) > limit {
		return parts{}, warnings, tooLong(limit)
	}
	return parts{body: text[start:]}, warnings, faultUnclosed
}

// checkText returns what keeps a frontmatter from being parsed at all.
func checkText(front []byte, limit int64) *textFault {
	if int64(len(front)) > limit {
		return tooLong(limit)
	}
	if i := bytes.IndexByte(front, 0); i >= 0 {
		return &textFault{code: "skill.frontmatter.nul", line: lineOf(front, i), message: "the frontmatter holds a NUL byte", hint: "remove it; the file may be binary, or saved as UTF-16"}
	}
	if !utf8.Valid(front) {
		return &textFault{code: "skill.frontmatter.encoding", line: lineOf(front, invalidAt(front)), message: "the frontmatter is not UTF-8", hint: "save the file as UTF-8"}
	}
	return nil
}

func tooLong(limit int64) *textFault {
	return &textFault{
		code: "skill.frontmatter.too_long", line: 1,
		message: fmt.Sprintf("the frontmatter is longer than %d bytes, or not closed within them", limit),
		hint:    "close it with a line `---`, and move long texts below it; the bound is max_frontmatter_bytes",
	}
}

// lineOf returns the line of the file that a byte of the frontmatter is in.
func lineOf(front []byte, at int) int { return bytes.Count(front[:at], []byte("\n")) + 2 }

func invalidAt(text []byte) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size <= 1 {
			return i
		}
		i += size
	}
	return len(text)
}

// nextLine splits text behind its first line, which may end in LF, CR LF or CR, and comes back without its end.
func nextLine(text []byte) (line, rest []byte) {
	end := bytes.IndexByte(text, '\n')
	line, rest = text, nil
	if end >= 0 {
		line, rest = text[:end], text[end+1:]
	}
	if cr := bytes.IndexByte(line, '\r'); cr >= 0 && (cr < len(line)-1 || end < 0) {
		return text[:cr], text[cr+1:] // a CR in the midst of a line ends it
	}
	return bytes.TrimSuffix(line, []byte("\r")), rest
}

// isFence reports whether a line is `---`, blanks behind it allowed.
func isFence(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("---"))
	return ok && len(bytes.TrimRight(rest, " \t")) == 0
}

// linesToLF returns text with CR LF and CR read as LF. It copies only where there is a CR.
func linesToLF(text []byte) []byte {
	if bytes.IndexByte(text, '\r') < 0 {
		return text
	}
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	return bytes.ReplaceAll(text, []byte("\r"), []byte("\n"))
}
