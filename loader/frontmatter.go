package loader

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"pannier"
	"pannier/loader/repair"
)

var utf8BOM = []byte("\xef\xbb\xbf")

// parts are the parts of a SKILL.md.
type parts struct {
	// front is what stands between the fences, body what follows them. Both are slices of the text.
	front, body []byte
	// line is the line of the file, counted from 1, that front begins in; 0 means that the file has no frontmatter.
	line int
	// whole says that body is all that follows, and not the beginning of it.
	whole bool
	text  []byte // all of these, from where front begins
}

// textFault is what keeps a SKILL.md from being cut into its parts, or a warning about how it was cut.
type textFault struct {
	code, message, hint string
	line, column        int
}

func (f *textFault) problem(path string, severity pannier.Severity) pannier.Problem {
	return pannier.Problem{Code: f.code, Severity: severity, Path: path, Line: f.line, Column: f.column, Message: f.message, Hint: f.hint}
}

var (
	faultBOM = &textFault{code: "skill.bom", line: 1, message: "the file begins with a byte order mark", hint: "save it as UTF-8 without one; most other readers find no frontmatter after it"}

	faultNoFrontmatter = &textFault{code: "skill.frontmatter.missing", line: 1, message: "the frontmatter is missing: the first line is not `---`", hint: "begin the file with `---`, lines with `name:` and `description:`, and another `---`"}
	faultUnclosed      = &textFault{code: "skill.frontmatter.unclosed", line: 1, message: "the frontmatter is not closed", hint: "put a line with `---`, and nothing else in it, after the last field"}
)

// cut finds the frontmatter of a SKILL.md (Agent Skills specification, "SKILL.md format"). The fences are whole lines, so
// that `---` inside of a value or of the body is text. text may be the beginning of a longer file, of which whole says
// that it is all; limit bounds the frontmatter in bytes.
func cut(text []byte, whole bool, limit int64) (p parts, warnings []*textFault, err *textFault) {
	if i := bytes.IndexByte(text, 0); i >= 0 {
		fault := nulFault(lineOf(text, i))
		fault.column = columnOf(text, i)
		return parts{}, nil, fault
	}
	if !whole {
		text = text[:bytes.LastIndexAny(text, "\r\n")+1] // how the last line goes on is not known
	}
	start := 0
	if bytes.HasPrefix(text, utf8BOM) {
		start = len(utf8BOM)
		warnings = append(warnings, faultBOM)
	}
	first, rest := nextLine(text[start:])
	if !IsFence(first) {
		return parts{body: text[start:]}, warnings, faultNoFrontmatter
	}
	from := len(text) - len(rest)
	for line := 2; len(rest) > 0; line++ {
		at := len(text) - len(rest)
		var current []byte
		current, rest = nextLine(rest)
		if IsFence(current) && int64(at-from) > limit {
			break
		}
		if IsFence(current) {
			p = parts{front: text[from:at], body: rest, line: 2, text: text[from:]}
			return p, warnings, checkText(p.front)
		}
	}
	if p, ok := cutGlued(text[from:], limit); ok {
		return p, append(warnings, &textFault{
			code: codeRepaired, line: lineOf(p.front, len(p.front)) + 1, column: 1,
			message: "text follows the closing `---`; the frontmatter ends here, and the text belongs to the instructions",
			hint:    "put `---` into a line of its own",
		}), nil
	}
	if !whole || int64(len(text)-from) > limit {
		return parts{}, warnings, &textFault{
			code: "skill.frontmatter.too_long", line: 1,
			message: fmt.Sprintf("the frontmatter is longer than %d bytes, or not closed within them", limit),
			hint:    "close it with a line `---`, and move long texts below it",
		}
	}
	return parts{body: text[start:]}, warnings, faultUnclosed
}

// checkText returns what keeps a frontmatter from being parsed at all.
func checkText(front []byte) *textFault {
	if !utf8.Valid(front) {
		at := invalidAt(front)
		return &textFault{code: "skill.frontmatter.encoding", line: lineOf(front, at) + 1, column: columnOf(front, at), message: "the frontmatter is not UTF-8", hint: "save the file as UTF-8"}
	}
	return nil
}

const codeNUL = "skill.nul"

// nulFault returns the fault of a text with a NUL byte; line is 0 where it is not known.
func nulFault(line int) *textFault {
	return &textFault{code: codeNUL, line: line, message: "the file holds a NUL byte", hint: "remove it; the file may be binary, saved as UTF-16, or torn by a crash"}
}

// lineOf returns the line that a byte of a text is in, counted from 1.
func lineOf(text []byte, at int) int { return bytes.Count(linesToLF(text[:at]), []byte("\n")) + 1 }

// columnOf returns the column that a byte of a text is in, counted from 1 in characters.
func columnOf(text []byte, at int) int {
	return utf8.RuneCount(text[bytes.LastIndexAny(text[:at], "\r\n")+1:at]) + 1
}

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
	end := bytes.IndexAny(text, "\r\n")
	if end < 0 {
		return text, nil
	}
	line, rest = text[:end], text[end+1:]
	if text[end] == '\r' {
		rest = bytes.TrimPrefix(rest, []byte("\n"))
	}
	return line, rest
}

// IsFence reports whether a line opens or closes a frontmatter: `---`, with or without blanks after it.
func IsFence(line []byte) bool {
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

// cutGlued finds a closing fence that text is glued to, in the text after the opening one, if it has no other within
// the limit. What stands before it must be readable: else nothing says that it was meant to be frontmatter.
func cutGlued(text []byte, limit int64) (parts, bool) {
	front, rest, ok := repair.Fence(text)
	if !ok || len(front) == 0 || int64(len(front)) > limit || checkText(front) != nil {
		return parts{}, false
	}
	r, err := repair.Parse(linesToLF(front))
	if err != nil || r.Glued || len(r.Repairs) >= repair.MaxRepairs {
		return parts{}, false
	}
	return parts{front: front, body: rest, line: 2, text: text}, true
}
