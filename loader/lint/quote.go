package lint

import (
	"slices"
	"strings"

	"pannier/internal/yamldoc"
	"pannier/loader/repair"
)

// readable reports whether the lines from the first fence to an index can be read, as they are or after they were written as the
// reader reads them, and then fulfil a condition. Where not, they stay as they are.
func (f *fixer) readable(end int, also func(yamldoc.Value) bool) bool {
	if front, err := f.parse(end); err == nil {
		return also == nil || also(front)
	}
	before, err := repair.Parse(join(f.lines[1:end]))
	was := slices.Clone(f.lines)
	edits := repair.Rewrite(join(f.lines[1:end]))
	for _, e := range edits {
		f.edit(e)
	}
	after, errAfter := repair.Parse(join(f.lines[1:end]))
	good := len(edits) > 0 && errAfter == nil && !after.Glued && !slices.ContainsFunc(after.Repairs, func(r repair.Repair) bool { return !r.Dropped }) &&
		(err != nil || before.Glued || slices.Equal(meaning(before.Value, false), meaning(after.Value, false))) && (also == nil || also(after.Value))
	if !good {
		f.lines = was
		return false
	}
	for _, e := range edits {
		f.record(e.First+1, e.What)
	}
	return true
}

// edit replaces lines of the frontmatter, which begins with the second line of the text.
func (f *fixer) edit(e repair.Edit) {
	old := f.lines[e.First+1 : e.End+1]
	for len(old) > 1 && len(e.Lines) > 1 && e.Lines[len(e.Lines)-1] == old[len(old)-1].text { // stays as it is
		old, e.Lines = old[:len(old)-1], e.Lines[:len(e.Lines)-1]
	}
	if len(e.Lines) == len(old) {
		for i := range old {
			old[i].text = e.Lines[i]
		}
		return
	}
	old[0].text = strings.Join(e.Lines, "\n")
	clear(old[1:])
}

// rename makes the name that of the folder, where that can be a name, and where it is sure which characters of the line
// are the name.
func (f *fixer) rename(end int, folder string) {
	front, err := f.parse(end)
	if err != nil || !isName(folder) {
		return
	}
	v := front.Get("name")
	was, ok := v.Text()
	if !ok || was == folder || strings.Contains(was, "\n") {
		return
	}
	index := f.find(v.Line())
	l := &f.lines[index]
	at, ok := byteColumn(l.text, v.Column())
	if !ok || strings.TrimRight(l.text[:at], " \t") != "name:" {
		return
	}
	old, fresh := was, plainName(folder)
	if v.Quoted() {
		mark := l.text[at : at+1]
		old, fresh = mark+was+mark, mark+folder+mark
	}
	behind, ok := strings.CutPrefix(l.text[at:], old)
	if !ok || !isNothing(behind) || !endsHere(f.lines[index+1:end]) {
		return
	}
	l.text = l.text[:at] + fresh + behind
	f.record(index, "made the name that of the folder")
}

// find returns the index of a line of the frontmatter as it is now, counted from 1.
func (f *fixer) find(number int) int {
	for i, l := range f.lines[1:] {
		if l != (line{}) {
			number -= 1 + strings.Count(l.text, "\n")
		}
		if number <= 0 {
			return i + 1
		}
	}
	return len(f.lines) - 1
}

// isNothing reports whether nothing but blanks, or a comment behind some, follows a value.
func isNothing(rest string) bool {
	trimmed := strings.TrimLeft(rest, " \t")
	return trimmed == "" || trimmed[0] == '#' && trimmed != rest
}

// endsHere reports whether a value does not go on in the lines behind it.
func endsHere(rest []line) bool {
	for _, l := range rest {
		if !isBlank(l.text) {
			return l.text[0] != ' ' && l.text[0] != '\t'
		}
	}
	return true
}

// byteColumn returns the index of a column that counts characters from 1.
func byteColumn(text string, column int) (int, bool) {
	count := 0
	for i := range text {
		if count++; count == column {
			return i, true
		}
	}
	return 0, false
}

// maxNameLength is that of the Agent Skills specification.
const maxNameLength = 64

// isName reports whether a folder has a name that every profile accepts.
func isName(folder string) bool {
	for part := range strings.SplitSeq(folder, "-") {
		if part == "" || strings.Trim(part, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
			return false
		}
	}
	return len(folder) <= maxNameLength
}

// plainName returns a name as a value that is a text to every reader: `123` and `null` are others without quotes.
func plainName(name string) string {
	v, _, err := yamldoc.Parse([]byte("name: " + name))
	if err != nil || v.Get("name").AppendMeaning(nil)[0] != '"' {
		return `"` + name + `"`
	}
	return name
}
