package prompt

import (
	"slices"
	"strings"

	"pannier"
)

// headingName returns what a skill's heading says: its name, unless that reads like another section of the prompt, else its
// slug, which has no blanks and so never does.
func headingName(e *pannier.Entry) string {
	if name := disarm(displayName(e)); !promptTitle(title(name)) {
		return name
	}
	return e.Slug
}

// promptTitle reports whether a title begins like one of the prompt's own sections.
func promptTitle(text string) bool {
	return slices.ContainsFunc(titles, func(t string) bool { return strings.HasPrefix(text, t) })
}

// titles begin the headings of the other sections that a Molecule system prompt has, and of this one.
var titles = []string{
	"platform instructions", "parent context", "platform rules", "platform guidelines", "your skills", "your peers",
	"your team", "coordination rules", "handling delegation failures",
}

// headings are the names of the skills that are shown, each of which stands in a heading of level 3.
//
// A body may have headings, as nearly every one has, and they stay. But one that reads like a heading of the prompt
// itself would end the skill: what follows would seem to be another skill's, or the platform's. Such a line gets a
// backslash, with which it is text in Markdown; so does the line below a heading that is underlined. Letters that only look
// alike are not told apart, and a body that opens a code fence and never closes it is left as it is: headings do not bound
// what a skill can say, they say whose words follow.
type headings map[string]bool

func (h headings) add(name string) { h[title(name)] = true }

// escape puts a backslash before headings that are the prompt's own.
func (h headings) escape(text string) string {
	if !strings.ContainsAny(text, "#=-") {
		return text
	}
	var b strings.Builder
	above := ""
	for line := range strings.Lines(text) {
		bare := strings.TrimLeft(line, " ")
		indent := len(line) - len(bare)
		if indent <= 3 && (h.own(bare) || underlines(bare) && promptTitle(title(above))) {
			line = line[:indent] + `\` + bare
		}
		b.WriteString(line)
		above = bare
	}
	return b.String()
}

// underlines reports whether a line makes a heading of the one above it (CommonMark, "Setext headings").
func underlines(line string) bool {
	line = strings.TrimRight(line, " \t\n")
	return line != "" && (strings.Trim(line, "=") == "" || strings.Trim(line, "-") == "")
}

// own reports whether a line is such a heading. It is as strict as a reader that is no Markdown parser: a heading needs
// no blank behind its marks.
func (h headings) own(line string) bool {
	text := strings.TrimLeft(line, "#")
	level := len(line) - len(text)
	if level == 0 || level != 3 && foreign(text) {
		return false
	}
	text = title(text)
	return level == 3 && h[text] || promptTitle(text)
}

// foreign reports whether the text of a heading begins with an ASCII letter that none of [titles] begins with, which spares
// most headings the rest.
func foreign(text string) bool {
	first := strings.TrimLeft(text, " \t*_`~")
	if first == "" {
		return false
	}
	c := first[0] | 0x20
	return 'a' <= c && c <= 'z' && !slices.ContainsFunc(titles, func(t string) bool { return t[0] == c })
}

// title returns what is compared of a heading: without its marks, those of emphasis, the joiners that show as nothing, and
// its cases.
func title(text string) string {
	text = joiners.Replace(text)
	return strings.ToLower(strings.Join(strings.Fields(strings.TrimRight(text, "# \t\n")), " "))
}

var joiners = strings.NewReplacer("\u200d", "", "\ufe0e", "", "\ufe0f", "", "*", "", "_", "", "`", "", "~", "")
