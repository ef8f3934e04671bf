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

// Change is one thing that was mended in a text.
type Change struct {
	// Line counts from 1 in the text as it was.
	Line int
	// What says what was done.
	What string
}

// FixText mends what is safe to mend in a SKILL.md, and returns the text as it then is and what was done. Where there is
// nothing to mend that is the same text. It
//
//   - removes a byte order mark, and blanks behind a fence;
//   - ends lines with LF in the place of CR LF;
//   - parts a closing fence from the text that is glued to it (`---# Title`), and adds one that is missing where it is
//     certain which line it follows, if the frontmatter can be read then;
//   - writes the free texts at the top as the reader reads them (package repair): in quotes, with further lines indented, or as a
//     block, if the frontmatter can be read then;
//   - makes `name:` that of the folder, where folder is not empty.
//
// It changes nothing else: comments, order and layout stay, and every line that is not mended stays byte for byte. What
// could be read before reads the same afterwards, but for the name. In a frontmatter of more than 64 KiB it mends no fields.
func FixText(text []byte, folder string) ([]byte, []Change) {
	f := fix(string(text), folder, usualLimit)
	if len(f.changes) == 0 {
		return text, nil
	}
	return []byte(f.text()), f.changes
}

// usualLimit is the default of max_frontmatter_bytes.
const usualLimit = 64 << 10

// fix returns a text with what is to be mended in it. limit bounds the frontmatter in bytes.
func fix(text, folder string, limit int64) *fixer {
	f := newFixer(text)
	f.limit = limit
	if strings.Contains(text, "\x00") { // binary, UTF-16, or torn by a crash
		return f
	}
	f.mark()
	f.frontmatter(folder)
	f.blanks()
	f.ends()
	if len(f.changes) > 0 && !keepsMeaning([]byte(text), []byte(f.text()), folder != "", limit) {
		return newFixer(text)
	}
	slices.SortStableFunc(f.changes, func(a, b Change) int { return a.Line - b.Line })
	return f
}

// keepsMeaning reports whether what can be read of a text is the same after it was mended. It is the last line of
// defence: nothing above may let it be needed.
func keepsMeaning(before, after []byte, renamed bool, limit int64) bool {
	front, _, ok := cut(before)
	if !ok || int64(len(front)) > limit || !utf8.Valid(front) {
		return true
	}
	was, err := repair.Parse(linesToLF(front))
	if err != nil {
		return true
	}
	mended, _, ok := cut(after)
	if !ok {
		return false
	}
	is, err := repair.Parse(linesToLF(mended))
	return err == nil && slices.Equal(meaning(was.Value, renamed), meaning(is.Value, renamed))
}

// meaning returns the fields of a frontmatter with their meanings. That of the name is left out where it may change.
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

// fixedLine is a line as it was, and the lines that stand in its place.
type fixedLine struct {
	old line
	new []line
}

// fixer mends one text.
type fixer struct {
	lines   []fixedLine
	changes []Change
	limit   int64 // of the frontmatter, in bytes
}

func newFixer(text string) *fixer {
	f := &fixer{}
	for _, l := range splitLines(text) {
		f.lines = append(f.lines, fixedLine{l, []line{l}})
	}
	return f
}

func (f *fixer) record(index int, what string) {
	f.changes = append(f.changes, Change{Line: index + 1, What: what})
}

// flat returns the lines as they are now.
func (f *fixer) flat() []line {
	var all []line
	for i := range f.lines {
		all = append(all, f.lines[i].new...)
	}
	return all
}

func (f *fixer) text() string {
	var b strings.Builder
	for _, l := range f.flat() {
		b.WriteString(l.text)
		b.WriteString(l.end)
	}
	return b.String()
}

// mark removes byte order marks.
func (f *fixer) mark() {
	if len(f.lines) == 0 {
		return
	}
	first := &f.lines[0].new[0]
	if rest := strings.TrimLeft(first.text, byteOrderMark); rest != first.text {
		first.text = rest
		f.record(0, "removed the byte order mark")
	}
}

// blanks removes blanks behind the fences.
func (f *fixer) blanks() {
	now := f.flat()
	last := closing(now)
	at := 0
	for i := range f.lines {
		for j := range f.lines[i].new {
			l := &f.lines[i].new[j]
			if last >= 0 && (at == 0 || at == last) && l.text != fence {
				l.text = fence
				f.record(i, "removed the blanks after the fence")
			}
			at++
		}
	}
}

// ends makes all ends of lines LF.
func (f *fixer) ends() {
	now := f.flat()
	ends := endsToLF(now, closing(now))
	at, first, count := 0, 0, 0
	for i := range f.lines {
		ended := false
		for j := range f.lines[i].new {
			l := &f.lines[i].new[j]
			ended = ended || l.end != ends[at].end
			l.end = ends[at].end
			at++
		}
		if ended && count == 0 {
			first = i
		}
		if ended {
			count++
		}
	}
	if count > 0 {
		f.record(first, fmt.Sprintf("ended %d lines with LF", count))
	}
}

// frontmatter mends fences and fields.
func (f *fixer) frontmatter(folder string) {
	if len(f.lines) == 0 || !isFence(f.lines[0].new[0].text) {
		return
	}
	end := f.closed()
	if end < 0 {
		return
	}
	if folder != "" {
		f.rename(end, folder)
	}
}

// closed returns the index of the line that the frontmatter ends before, after it was made readable; -1 where it cannot
// be.
func (f *fixer) closed() int {
	strict, glued := f.fences()
	if strict >= 0 && f.readable(strict, nil) {
		return strict
	}
	if glued >= 0 && f.readable(glued, hasAnyName) {
		f.part(glued)
		return glued
	}
	if strict >= 0 {
		return -1
	}
	return f.close()
}

// fences returns the indices of the first line that is a closing fence and of the first one before it that text is glued to;
// -1 where there is none within the limit. No further one is tried: each try reads everything before it.
func (f *fixer) fences() (strict, glued int) {
	glued = -1
	for i := 1; i < f.reach(); i++ {
		text := f.lines[i].old.text
		if isFence(text) {
			return i, glued
		}
		if glued < 0 && isGlued(text) {
			glued = i
		}
	}
	return -1, glued
}

// reach returns the index behind the last line that can close a frontmatter within the limit.
func (f *fixer) reach() int {
	size := int64(0)
	for i := 1; i < len(f.lines); i++ {
		if size > f.limit {
			return i
		}
		size += int64(len(f.lines[i].old.text) + len(f.lines[i].old.end))
	}
	return len(f.lines)
}

// isGlued reports whether a line is a closing fence with text glued to it. A row of a table is none.
func isGlued(text string) bool {
	rest, ok := strings.CutPrefix(text, fence)
	return ok && rest != "" && !strings.ContainsAny(rest[:1], "- \t|")
}

func (f *fixer) part(i int) {
	l := f.lines[i].old
	f.lines[i].new = []line{{fence, cmp.Or(l.end, "\n")}, {strings.TrimPrefix(l.text, fence), l.end}}
	f.record(i, "parted the closing fence from the text glued to it")
}

// close adds the closing fence where it is certain that it belongs behind the lines before the first empty one: they are
// a whole frontmatter, and a heading, or nothing at all, follows.
func (f *fixer) close() int {
	end := 1
	for end < len(f.lines) && isField(f.lines[end].old.text) {
		end++
	}
	next := end
	for next < len(f.lines) && isBlank(f.lines[next].old.text) {
		next++
	}
	heading := next > end && next < len(f.lines) && isHeading(f.lines[next].old.text)
	if end == 1 || end > f.reach() || next < len(f.lines) && !heading || !f.plain(end) {
		return -1
	}
	last := &f.lines[end-1]
	last.new[0].end = cmp.Or(last.new[0].end, "\n")
	last.new = append(last.new, line{fence, last.new[0].end})
	f.record(end-1, "added the closing fence")
	return end
}

// plain reports whether the lines before an index can be read as they are and hold a name and a description.
func (f *fixer) plain(end int) bool {
	front, err := f.parse(end)
	return err == nil && isText(front, "name") && isText(front, "description")
}

func hasAnyName(front yamldoc.Value) bool {
	return isText(front, "name") || isText(front, "description")
}

func isText(front yamldoc.Value, key string) bool {
	_, ok := front.Get(key).Text()
	return ok
}

// isField reports whether a line is one of a frontmatter, and surely no text of Markdown.
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

// source returns the lines from the first fence to an index, as they are now, with LF line ends.
func (f *fixer) source(end int) []byte {
	var b strings.Builder
	for _, l := range f.lines[1:end] {
		for _, n := range l.new {
			b.WriteString(n.text + "\n")
		}
	}
	return []byte(b.String())
}

// parse reads them.
func (f *fixer) parse(end int) (yamldoc.Value, error) {
	text := f.source(end)
	if !utf8.Valid(text) {
		return yamldoc.Value{}, &yamldoc.Fault{Message: "not UTF-8"}
	}
	front, _, err := yamldoc.Parse(text)
	return front, err
}
