package pytool

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A docstring up to shortDoc characters is a description as it is; of a longer one it is the first paragraph. No
// description is longer than maxDescription.
const (
	shortDoc       = 400
	maxDescription = 1024
)

// cleanDoc takes the indentation off a docstring, as inspect.cleandoc does.
func cleanDoc(doc string) string {
	lines := strings.Split(expandTabs(doc), "\n")
	margin := -1
	for _, line := range lines[1:] {
		if content := strings.TrimLeftFunc(line, unicode.IsSpace); content != "" {
			indent := utf8.RuneCountInString(line) - utf8.RuneCountInString(content)
			if margin < 0 || indent < margin {
				margin = indent
			}
		}
	}
	lines[0] = strings.TrimLeftFunc(lines[0], unicode.IsSpace)
	for i := range lines[1:] {
		lines[i+1] = dropRunes(lines[i+1], max(margin, 0))
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	for len(lines) > 0 && lines[0] == "" {
		lines = lines[1:]
	}
	return strings.Join(lines, "\n")
}

// expandTabs fills each tab up to the next multiple of eight columns.
func expandTabs(text string) string {
	if !strings.Contains(text, "\t") {
		return text
	}
	var b strings.Builder
	col := 0
	for _, r := range text {
		switch r {
		case '\t':
			n := 8 - col%8
			b.WriteString(strings.Repeat(" ", n))
			col += n
			continue
		case '\n', '\r':
			col = -1
		}
		b.WriteRune(r)
		col++
	}
	return b.String()
}

func dropRunes(text string, n int) string {
	for ; n > 0 && text != ""; n-- {
		_, size := utf8.DecodeRuneInString(text)
		text = text[size:]
	}
	return text
}

// describe returns a docstring as a description: all of it where it is short, else its first paragraph.
func describe(doc string) string {
	doc = strings.TrimSpace(doc)
	if utf8.RuneCountInString(doc) <= shortDoc {
		return doc
	}
	lines := strings.Split(doc, "\n")
	if end := slices.IndexFunc(lines, isBlank); end >= 0 {
		lines = lines[:end]
	}
	return shorten(strings.TrimSpace(strings.Join(lines, "\n")))
}

func isBlank(line string) bool { return strings.TrimSpace(line) == "" }

// shorten keeps a description within its bound.
func shorten(text string) string {
	if len(text) <= maxDescription || utf8.RuneCountInString(text) <= maxDescription {
		return text
	}
	return string([]rune(text)[:maxDescription-1]) + "…"
}

// docArgs reads what a docstring says of each argument, in the manner of Google, NumPy or reStructuredText.
type docArgs struct {
	lines []string
	said  map[string]string
}

func argumentDocs(doc string) map[string]string {
	d := &docArgs{lines: strings.Split(doc, "\n"), said: map[string]string{}}
	for i := 0; i < len(d.lines); i++ {
		line := strings.TrimSpace(d.lines[i])
		switch {
		case d.isUnderlined(i):
			i = d.numpy(i+2, indentOf(d.lines[i]))
		case isArgsHeader(line):
			i = d.google(i+1, indentOf(d.lines[i]))
		case strings.HasPrefix(line, ":") || strings.HasPrefix(line, "@param"):
			i = d.rest(i, line)
		}
	}
	return d.said
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// argsTitles are the titles of sections that tell of arguments.
var argsTitles = []string{"args", "arguments", "parameters", "params", "keyword args", "keyword arguments", "other parameters"}

func isArgsHeader(line string) bool {
	title, ok := strings.CutSuffix(line, ":")
	return ok && slices.Contains(argsTitles, strings.ToLower(title))
}

// isUnderlined reports whether a line is a title of arguments as NumPy writes it.
func (d *docArgs) isUnderlined(i int) bool {
	return slices.Contains(argsTitles, strings.ToLower(strings.TrimSpace(d.lines[i]))) && d.isUnderline(i+1)
}

func (d *docArgs) isUnderline(i int) bool {
	if i >= len(d.lines) {
		return false
	}
	line := strings.TrimSpace(d.lines[i])
	return len(line) >= 3 && strings.Trim(line, "-") == ""
}

// say notes what is said of an argument. What is said first counts.
func (d *docArgs) say(name string, lines []string) {
	name = strings.TrimLeft(name, "*")
	text := strings.Join(strings.Fields(strings.Join(lines, " ")), " ")
	if _, again := d.said[name]; !again && name != "" && text != "" {
		d.said[name] = text
	}
}

// deeper returns the end of the lines from i that are blank or indented further than a column.
func (d *docArgs) deeper(i, col int) int {
	for i < len(d.lines) && (isBlank(d.lines[i]) || indentOf(d.lines[i]) > col) {
		i++
	}
	return i
}

// google reads `name (type): text` below a title and returns its last line.
func (d *docArgs) google(i, title int) int {
	end := d.deeper(i, title)
	for i < end {
		if isBlank(d.lines[i]) {
			i++
			continue
		}
		next := min(d.deeper(i+1, indentOf(d.lines[i])), end)
		head, text, found := cutOutside(strings.TrimSpace(d.lines[i]))
		if name := strings.Fields(head); found && len(name) > 0 {
			d.say(strings.Split(name[0], "(")[0], append([]string{text}, d.lines[i+1:next]...))
		}
		i = next
	}
	return end - 1
}

// cutOutside cuts at the first colon that is not in parentheses or brackets.
func cutOutside(line string) (before, after string, found bool) {
	depth := 0
	for i, c := range line {
		switch c {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case ':':
			if depth <= 0 {
				return line[:i], line[i+1:], true
			}
		}
	}
	return line, "", false
}

// maxNames bounds the arguments that NumPy describes at once.
const maxNames = 16

// numpy reads `name : type` with the text below, and returns the last line of the section.
func (d *docArgs) numpy(i, title int) int {
	for i < len(d.lines) {
		if isBlank(d.lines[i]) {
			i++
			continue
		}
		if indentOf(d.lines[i]) < title || d.isUnderline(i+1) {
			break
		}
		next := d.deeper(i+1, indentOf(d.lines[i]))
		names, _, _ := strings.Cut(d.lines[i], ":")
		for _, name := range strings.SplitN(names, ",", maxNames) {
			d.say(strings.TrimSpace(name), d.lines[i+1:next])
		}
		i = next
	}
	return i - 1
}

// rest reads `:param type name: text` and returns its last line.
func (d *docArgs) rest(i int, line string) int {
	head, text, found := strings.Cut(line[1:], ":")
	words := strings.Fields(head)
	if !found || len(words) < 2 || !slices.Contains([]string{"param", "parameter", "arg", "argument", "key", "keyword"}, words[0]) {
		return i
	}
	next := d.deeper(i+1, indentOf(d.lines[i]))
	d.say(words[len(words)-1], append([]string{text}, d.lines[i+1:next]...))
	return next - 1
}
