package lint

import (
	"bytes"
	"slices"
	"strings"

	"pannier/loader"
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

func isFence(text string) bool { return loader.IsFence([]byte(text)) }

// join returns lines with LF line ends, as they are now.
func join(lines []line) []byte {
	var b strings.Builder
	for _, l := range lines {
		if l != (line{}) {
			b.WriteString(l.text + "\n")
		}
	}
	return []byte(b.String())
}

// lineEnds returns the first line that [fix] would give another end, or 0.
func lineEnds(text []byte) int {
	if bytes.IndexByte(text, '\r') < 0 {
		return 0
	}
	lines := splitLines(string(text))
	for i, end := range endsToLF(lines, closing(lines)) {
		if end != lines[i].end {
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

// endsToLF returns the ends of lines with LF instead of CR LF, and of CR where that surely ends a line: up to the closing fence,
// and in a text that has nothing else. A CR in a body may be intended, and so may be what follows it.
func endsToLF(lines []line, closing int) []string {
	onlyCR := !slices.ContainsFunc(lines, func(l line) bool { return strings.HasSuffix(l.end, "\n") })
	ends := make([]string, len(lines))
	previous := ""
	for i, l := range lines {
		if l.end == "\r\n" && previous != "\r" || l.end == "\r" && (onlyCR || i <= closing) {
			l.end = "\n"
		}
		ends[i], previous = l.end, l.end
	}
	return ends
}
