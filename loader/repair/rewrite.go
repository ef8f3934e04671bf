package repair

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"pannier/internal/yamldoc"
)

// Edit is a field that [Parse] reads otherwise than it is written, and how to write it so that it is read the same strictly.
type Edit struct {
	// First and End are the indices of the lines that it replaces, and Lines what stands there instead.
	First, End int
	Lines      []string
	// What says what was done.
	What string
}

// Rewrite returns edits that write what [Parse] reads of a text, for any number of repairs. A field that is left out stays as it
// is. There are none where the text is YAML, or cannot be read.
func Rewrite(text []byte) []Edit {
	if _, _, err := yamldoc.Parse(text); err == nil || isRefusal(err) || !bytes.Equal(text, bytes.ToValidUTF8(text, nil)) {
		return nil
	}
	s := newSheet(text)
	s.record = true
	if _, ok := s.read(len(s.blocks) + 1); !ok || slices.ContainsFunc(s.edits, func(e Edit) bool { return len(e.Lines) == 0 }) {
		return nil
	}
	return s.edits
}

// recordProse records how to write the text of a block: the first of the forms that is read as that text, the one nearest to
// what stands there first.
func (s *sheet) recordProse(b block, p prose) {
	if !s.record {
		return
	}
	e := Edit{First: b.line, End: b.end}
	for _, form := range []struct {
		lines []string
		what  string
	}{
		{s.indented(b), "indented the further lines of the " + b.key},
		{s.asBlock(b, p), "wrote the " + b.key + " as a block"},
		{s.quoted(b, func() string {
			if !strings.ContainsAny(p.text, `"\`) {
				return fmt.Sprintf(`"%s"`, p.text)
			}
			return "'" + strings.ReplaceAll(p.text, "'", "''") + "'"
		}), "put the " + b.key + " in quotes"},
		{s.quoted(b, func() string { return string(appendQuoted(nil, p.text)) }), "put the " + b.key + " in quotes"},
	} {
		if saysText(form.lines, b.key, p.text) {
			e.Lines, e.What = form.lines, form.what
			break
		}
	}
	s.edits = append(s.edits, e)
}

func saysText(lines []string, key, text string) bool {
	if len(lines) == 0 {
		return false
	}
	v, _, err := yamldoc.Parse([]byte(strings.Join(lines, "\n") + "\n"))
	if err != nil {
		return false
	}
	got, ok := v.Get(key).Text()
	return ok && got == text
}

func (s *sheet) indented(b block) []string {
	if b.loose == 0 {
		return nil
	}
	lines := toStrings(s.lines[b.line:b.end])
	value := strings.TrimRight(lines[0][b.value:], " \t")
	if value == "|" || value == ">" {
		lines[0] = lines[0][:b.value] + value + "-" // without it the text would end in a line end
	}
	for i, line := range lines[1:] {
		if line != "" && !isSpace(line[0]) {
			lines[i+1] = "  " + line
		}
	}
	return lines
}

// asBlock returns a text of several lines as a block.
func (s *sheet) asBlock(b block, p prose) []string {
	if !strings.Contains(p.text, "\n") {
		return nil
	}
	lines := []string{s.head(b) + "|-" + s.comment(b)}
	for line := range strings.SplitSeq(p.text, "\n") {
		if line != "" {
			line = "  " + line
		}
		lines = append(lines, line)
	}
	return append(lines, s.comments(b)...)
}

func (s *sheet) quoted(b block, text func() string) []string {
	return append([]string{s.head(b) + text() + s.comment(b)}, s.comments(b)...)
}

func (s *sheet) head(b block) string {
	head := string(s.lines[b.line][:b.value])
	if strings.HasSuffix(head, ":") {
		head += " "
	}
	return head
}

// comment returns the comment behind a key that stands alone.
func (s *sheet) comment(b block) string {
	if value := string(s.lines[b.line][b.value:]); strings.HasPrefix(value, "#") {
		return " " + value
	}
	return ""
}

// comments returns the lines of a block that are comments and no part of its text.
func (s *sheet) comments(b block) []string {
	var lines []string
	for _, line := range s.lines[b.line+1 : b.end] {
		if len(line) > 0 && line[0] == '#' {
			lines = append(lines, string(line))
		}
	}
	return lines
}

func toStrings(lines [][]byte) []string {
	all := make([]string, len(lines))
	for i, line := range lines {
		all[i] = string(line)
	}
	return all
}
