package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"pannier/internal/yamldoc"
	"pannier/loader/repair"
)

// Change is one thing that was fixed in a text.
type Change struct {
	// Line counts from 1 in the text as it was.
	Line int
	// What says what was done.
	What string
}

// fixer fixes one text.
type fixer struct {
	// lines are those of the text. What replaces several lines is in the first of them, and the others are empty without an end.
	lines   []line
	changes []Change
	limit   int64 // of the frontmatter, in bytes
	closing int   // the index of the last line of the frontmatter; -1 if it is not closed
}

// fix fixes what is safe to fix in a SKILL.md, with a frontmatter of at most limit bytes. It
//
//   - removes a byte order mark, and blanks after a fence;
//   - ends lines with LF instead of CR LF;
//   - separates a closing fence from the text on its line (`---# Title`), and adds one that is missing if it is certain which line
//     it follows, if the frontmatter can be read then;
//   - writes the free texts at the top as the reader reads them (package repair): in quotes, with further lines indented, or as a
//     block, if the frontmatter can be read then;
//   - sets `name:` to the folder, if folder is not empty.
//
// All other lines stay as they are, byte for byte. What could be read before reads the same afterwards, except for the name.
func fix(text, folder string, limit int64) *fixer {
	f := newFixer(text, limit)
	if strings.Contains(text, "\x00") || text == "" { // binary, UTF-16, or torn by a crash
		return f
	}
	first := &f.lines[0]
	if rest := strings.TrimLeft(first.text, byteOrderMark); rest != first.text {
		first.text = rest
		f.record(0, "removed the byte order mark")
	}
	if isFence(first.text) {
		if end := f.close(); end >= 0 && folder != "" {
			f.rename(end, folder)
		}
	}
	for _, i := range []int{0, f.closing} { // the fences
		if l := &f.lines[max(i, 0)]; f.closing >= 0 && isFence(l.text) && l.text != fence {
			l.text = fence
			f.record(i, "removed the blanks after the fence")
		}
	}
	f.endLines()
	if len(f.changes) > 0 && !f.keepsMeaning(text, folder != "") {
		return newFixer(text, limit)
	}
	slices.SortStableFunc(f.changes, func(a, b Change) int { return a.Line - b.Line })
	return f
}

func newFixer(text string, limit int64) *fixer {
	lines := splitLines(text)
	return &fixer{lines: lines, limit: limit, closing: closing(lines)}
}

// keepsMeaning reports whether what can be read of a text is the same after the fixes. It guards against faults above.
func (f *fixer) keepsMeaning(before string, renamed bool) bool {
	was, ok := f.meaningOf(before, renamed)
	if !ok {
		return true
	}
	is, ok := f.meaningOf(f.text(), renamed)
	return ok && slices.Equal(was, is)
}

func (f *fixer) meaningOf(text string, renamed bool) ([]string, bool) {
	lines := splitLines(text)
	end := closing(lines)
	if end < 0 {
		return nil, false
	}
	source := join(lines[1:end])
	if int64(len(source)) > f.limit || !utf8.Valid(source) {
		return nil, false
	}
	r, err := repair.Parse(source)
	return meaning(r.Value, renamed), err == nil
}

// meaning returns the fields of a frontmatter with their meanings, without that of the name if it can change.
func meaning(front yamldoc.Value, renamed bool) []string {
	var fields []string
	for pair := range front.Pairs() {
		value := string(pair.Value.AppendMeaning(nil))
		if renamed && pair.Key == "name" {
			value = ""
		}
		fields = append(fields, pair.Key+"\x00"+value)
	}
	return fields
}

func (f *fixer) record(index int, what string) {
	f.changes = append(f.changes, Change{Line: index + 1, What: what})
}

func (f *fixer) text() string {
	var b strings.Builder
	for _, l := range f.lines {
		b.WriteString(l.text + l.end)
	}
	return b.String()
}

// endLines ends all lines with LF.
func (f *fixer) endLines() {
	first, count := -1, 0
	for i, end := range endsToLF(f.lines, f.closing) {
		if end == f.lines[i].end {
			continue
		}
		f.lines[i].end = end
		count++
		if first < 0 {
			first = i
		}
	}
	if count > 0 {
		f.record(first, fmt.Sprintf("ended %d lines with LF", count))
	}
}

// close makes the frontmatter readable and closed. It returns the index of the line that the frontmatter ends before; -1 if it
// cannot be read.
func (f *fixer) close() int {
	strict, glued := f.fences()
	if strict >= 0 && f.readable(strict, nil) {
		return strict
	}
	hasAnyName := func(front yamldoc.Value) bool { return isText(front, "name") || isText(front, "description") }
	if glued >= 0 && f.readable(glued, hasAnyName) {
		f.lines[glued].text = fence + "\n" + strings.TrimPrefix(f.lines[glued].text, fence)
		f.closing = glued - 1
		f.record(glued, "parted the closing fence from the text glued to it")
		return glued
	}
	if strict >= 0 {
		return -1
	}
	return f.addFence()
}

// fences returns the indices of the first line that is a closing fence, and of the first one before it that continues after the
// fence; -1 if there is none within the limit. No further one is tried, because each try reads everything before it.
func (f *fixer) fences() (strict, glued int) {
	glued = -1
	for i := 1; i < f.reach(); i++ {
		text := f.lines[i].text
		if isFence(text) {
			return i, glued
		}
		// A row of a table is not a fence.
		if rest, ok := strings.CutPrefix(text, fence); glued < 0 && ok && rest != "" && !strings.ContainsAny(rest[:1], "- \t|") {
			glued = i
		}
	}
	return -1, glued
}

// reach returns the index after the last line that can close a frontmatter within the limit.
func (f *fixer) reach() int {
	size := int64(0)
	for i, l := range f.lines[1:] {
		if size > f.limit {
			return i + 1
		}
		size += int64(len(l.text) + len(l.end))
	}
	return len(f.lines)
}

// addFence adds the closing fence if it is certain that it belongs after the lines before the first empty one: they are a whole
// frontmatter, and a heading or the end of the file follows.
func (f *fixer) addFence() int {
	end := 1
	for end < len(f.lines) && isField(f.lines[end].text) {
		end++
	}
	next := end
	for next < len(f.lines) && isBlank(f.lines[next].text) {
		next++
	}
	heading := next > end && next < len(f.lines) && isHeading(f.lines[next].text)
	if end == 1 || end > f.reach() || next < len(f.lines) && !heading {
		return -1
	}
	front, err := f.parse(end)
	if err != nil || !isText(front, "name") || !isText(front, "description") {
		return -1
	}
	if end == len(f.lines) {
		f.lines[end-1].end = cmp.Or(f.lines[end-1].end, "\n")
		f.lines = append(f.lines, line{fence, f.lines[end-1].end})
	} else {
		f.lines[end].text = fence + "\n" + f.lines[end].text
	}
	f.closing = end - 1
	f.record(end-1, "added the closing fence")
	return end
}

func isText(front yamldoc.Value, key string) bool {
	_, ok := front.Get(key).Text()
	return ok
}

// isField reports whether a line is one of a frontmatter, and not a text of Markdown.
func isField(text string) bool {
	switch {
	case isBlank(text):
		return false
	case text[0] == ' ' || text[0] == '\t':
		return true
	}
	key, _, ok := strings.Cut(text, ":")
	return ok && key != "" && strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") == ""
}

func isHeading(text string) bool {
	rest := strings.TrimLeft(text, "#")
	return rest != text && strings.HasPrefix(rest, " ")
}

func isBlank(text string) bool { return strings.Trim(text, " \t") == "" }

// parse reads the frontmatter up to a line, as it is now.
func (f *fixer) parse(end int) (yamldoc.Value, error) {
	text := join(f.lines[1:end])
	if !utf8.Valid(text) {
		return yamldoc.Value{}, &yamldoc.Fault{Message: "not UTF-8"}
	}
	front, _, err := yamldoc.Parse(text)
	return front, err
}
