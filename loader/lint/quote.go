package lint

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"pannier/internal/yamldoc"
)

// freeText are the fields that hold what a person would write as it comes.
var freeText = []string{"description", "compatibility", "when-to-use", "when_to_use"}

// readable reports whether the lines from the first fence to an index can be read, as they are or after quotes were put
// around free texts, and then fulfil a condition. Where not, they stay as they are.
func (f *fixer) readable(end int, also func(yamldoc.Value) bool) bool {
	fine := func(front yamldoc.Value, err error) bool { return err == nil && (also == nil || also(front)) }
	if front, err := f.parse(end); err == nil {
		return fine(front, err)
	}
	quoted := map[int]freeLine{}
	for i := 1; i < end; i++ {
		if l, ok := freeLineOf(f.lines[i].new[0].text); ok {
			quoted[i] = l
			f.lines[i].new[0].text = l.key + ":" + l.blanks + quote(l.value)
		}
	}
	front, err := f.parse(end)
	good := len(quoted) > 0 && fine(front, err)
	for _, l := range quoted {
		value, _ := front.Get(l.key).Text()
		good = good && value == l.value
	}
	for i, l := range quoted {
		if good {
			f.note(i, "put the "+l.key+" in quotes")
		} else {
			f.lines[i].new[0].text = f.lines[i].old.text
		}
	}
	return good
}

// freeLine is a line at the top of a frontmatter that holds a free text YAML does not take for one.
type freeLine struct{ key, blanks, value string }

// freeLineOf returns what a line holds if it is such a line. What may be meant as YAML is left to its author: quotes, a
// block, brackets, an anchor, a tag, a comment behind the text.
func freeLineOf(text string) (freeLine, bool) {
	for _, key := range freeText {
		rest, ok := strings.CutPrefix(text, key+":")
		value := strings.Trim(rest, " \t")
		if !ok || value == "" || rest[0] != ' ' && rest[0] != '\t' {
			continue
		}
		if strings.ContainsAny(value[:1], "\"'|>[{&!#") || strings.Contains(value, " #") || strings.Contains(value, "\t#") {
			return freeLine{}, false
		}
		if strings.ContainsFunc(value, unicode.IsControl) || !utf8.ValidString(value) {
			return freeLine{}, false
		}
		if _, _, err := yamldoc.Parse([]byte(text)); err == nil {
			return freeLine{}, false
		}
		return freeLine{key, rest[:strings.Index(rest, value)], value}, true
	}
	return freeLine{}, false
}

// quote puts a text in the quotes that need no escapes in it, or the fewest.
func quote(text string) string {
	if !strings.ContainsAny(text, `"\`) {
		return `"` + text + `"`
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
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
	if !ok || was == folder || strings.Contains(was, "\n") || v.Line() >= end {
		return
	}
	l := &f.lines[v.Line()].new[0] // the lines of the frontmatter count from 1, and so do the lines behind the fence
	at, ok := byteColumn(l.text, v.Column())
	if !ok || strings.TrimRight(l.text[:at], " \t") != "name:" {
		return
	}
	old, fresh := was, plainName(folder)
	if v.Quoted() {
		mark := l.text[at : at+1]
		old, fresh = mark+was+mark, mark+folder+mark
	}
	rest, ok := strings.CutPrefix(l.text[at:], old)
	if !ok || !isNothing(rest) || !endsHere(f, v.Line(), end) {
		return
	}
	l.text = l.text[:at] + fresh + rest
	f.note(v.Line(), "made the name that of the folder")
}

// isNothing reports whether nothing but blanks, or a comment behind some, follows a value.
func isNothing(rest string) bool {
	trimmed := strings.TrimLeft(rest, " \t")
	return trimmed == "" || trimmed[0] == '#' && trimmed != rest
}

// endsHere reports whether the value in a line does not go on in the next one.
func endsHere(f *fixer, line, end int) bool {
	for _, l := range f.lines[line+1 : end] {
		if text := l.new[0].text; !isBlank(text) {
			return text[0] != ' ' && text[0] != '\t'
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

// isName reports whether a folder is called as a skill can be, whoever judges it.
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
