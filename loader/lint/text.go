package lint

import (
	"bytes"
	"slices"
	"strings"

	"pannier/internal/yamldoc"
	"pannier/loader/repair"
)

const (
	fence         = "---"
	byteOrderMark = "\ufeff"
)

// line is one line of a text with the end that it has there: LF, CR LF, CR or, behind the last one, none.
type line struct{ text, end string }

// splitLines splits a text at each end of a line, as the reader of frontmatter sees them.
func splitLines(text string) []line {
	var lines []line
	for text != "" {
		at := strings.IndexAny(text, "\r\n")
		if at < 0 {
			return append(lines, line{text: text})
		}
		end := text[at : at+1]
		if strings.HasPrefix(text[at:], "\r\n") {
			end = "\r\n"
		}
		lines = append(lines, line{text[:at], end})
		text = text[at+len(end):]
	}
	return lines
}

func isFence(text string) bool {
	rest, ok := strings.CutPrefix(text, fence)
	return ok && strings.Trim(rest, " \t") == ""
}

// cut returns what stands between the fences of a SKILL.md and what follows them, where both are lines of their own.
func cut(text []byte) (front, body []byte, found bool) {
	begin, ok := behindFence(text)
	for rest := begin; ok && len(rest) > 0; {
		at := len(begin) - len(rest)
		var current []byte
		if current, rest = nextLine(rest); isFence(string(current)) {
			return begin[:at], rest, true
		}
	}
	return nil, nil, false
}

// behindFence returns what follows the opening fence.
func behindFence(text []byte) (rest []byte, found bool) {
	first, rest := nextLine(bytes.TrimPrefix(text, []byte(byteOrderMark)))
	return rest, isFence(string(first))
}

// read returns the frontmatter of a SKILL.md, its text with LF line ends, and what follows it, as the loader reads them:
// with repairs. limit bounds the frontmatter in bytes; a longer one is not found.
func read(text []byte, limit int64) (v yamldoc.Value, front, body []byte, found bool) {
	front, body, found = cut(text)
	if begin, ok := behindFence(text); ok && !found {
		front, body, found = repair.Fence(begin)
	}
	if !found || int64(len(front)) > limit {
		return yamldoc.Value{}, nil, nil, false
	}
	r, err := repair.Parse(linesToLF(front))
	if err == nil && r.Glued {
		var glued []byte
		front, glued, _ = repair.Fence(front)
		body = slices.Concat(glued, body)
	}
	return r.Value, linesToLF(front), body, err == nil
}

// nextLine splits text behind its first line, which comes back without its end.
func nextLine(text []byte) (first, rest []byte) {
	end := bytes.IndexAny(text, "\r\n")
	if end < 0 {
		return text, nil
	}
	first, rest = text[:end], text[end+1:]
	if text[end] == '\r' {
		rest = bytes.TrimPrefix(rest, []byte("\n"))
	}
	return first, rest
}

func linesToLF(text []byte) []byte {
	if bytes.IndexByte(text, '\r') < 0 {
		return text
	}
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	return bytes.ReplaceAll(text, []byte("\r"), []byte("\n"))
}

// lineEnds returns the first line that [FixText] would give another end, or 0.
func lineEnds(text []byte) int {
	if bytes.IndexByte(text, '\r') < 0 {
		return 0
	}
	lines := splitLines(string(text))
	for i, l := range endsToLF(lines, closing(lines)) {
		if l.end != lines[i].end {
			return i + 1
		}
	}
	return 0
}

// closing returns the index of the line that closes the frontmatter, or -1.
func closing(lines []line) int {
	if len(lines) == 0 || !isFence(strings.TrimLeft(lines[0].text, byteOrderMark)) {
		return -1
	}
	for i, l := range lines[1:] {
		if isFence(l.text) {
			return i + 1
		}
	}
	return -1
}

// endsToLF returns lines with LF in the place of CR LF, and of CR where that surely ends a line: up to the closing fence,
// and in a text that has nothing else. A CR in a body may be meant, and so may be what stands right behind one.
func endsToLF(lines []line, closing int) []line {
	onlyCR := true
	for _, l := range lines {
		onlyCR = onlyCR && !strings.HasSuffix(l.end, "\n")
	}
	ends := make([]line, len(lines))
	previous := ""
	for i, l := range lines {
		switch {
		case l.end == "\r\n" && previous != "\r", l.end == "\r" && (onlyCR || i <= closing):
			l.end = "\n"
		}
		ends[i], previous = l, l.end
	}
	return ends
}
