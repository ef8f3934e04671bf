package prompt

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

func promptTitle(text string) bool {
	return slices.ContainsFunc(titles, func(t string) bool { return strings.HasPrefix(text, t) })
}

// titles begin the headings of the other sections that a Molecule system prompt has, and of this one.
var titles = []string{
	"platform instructions", "parent context", "platform rules", "platform guidelines", "your skills", "your peers",
	"your team", "coordination rules", "handling delegation failures",
}

// headings are those of the skills that are shown: by [headingKey], the slug of the skill. A skill is known by its slug as well as
// by its name.
//
// A body may have headings, as nearly every one has, and they stay. But one that reads like a heading of the prompt
// itself would end the skill: what follows would seem to be another skill's, or the platform's. Such a line gets a
// backslash, with which it is text in Markdown; so does the line below a heading that is underlined. Letters that only look
// alike are not told apart, and a body that opens a code fence and never closes it is left as it is: headings do not bound
// what a skill can say, they say whose words follow.
type headings map[string]string

func (h headings) add(name, slug string) {
	h[headingKey(name)] = slug
	h[headingKey(slug)] = slug
}

// escape puts a backslash before headings in the text of a skill that are the prompt's own, or those of another skill.
func (h headings) escape(text, slug string) string {
	if !strings.ContainsAny(text, "#=-<") {
		return text
	}
	var b strings.Builder
	above := ""
	for line := range strings.Lines(text) {
		bare := strings.TrimLeft(line, " ")
		indent := len(line) - len(bare)
		if indent <= 3 && (h.own(bare, slug) || underlines(bare) && (promptTitle(title(above)) || h.another(above, slug))) {
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

// own reports whether a line is such a heading. It is as strict as a reader that is not a Markdown parser: a heading needs
// no blank behind its marks, and can be an element of HTML. A skill may have a heading with its own name, as nearly every one
// has, but not of the level that its heading in the prompt has.
func (h headings) own(line, slug string) bool {
	if strings.HasPrefix(line, "<") {
		text, ok := htmlHeading(line)
		return ok && (promptTitle(title(text)) || h.another(text, slug))
	}
	text := strings.TrimLeft(line, "#")
	level := len(line) - len(text)
	if level == 0 {
		return false
	}
	if of, known := h[headingKey(text)]; known && (level == 3 || of != slug) {
		return true
	}
	return !foreign(text) && promptTitle(title(text))
}

func (h headings) another(text, slug string) bool {
	of, known := h[headingKey(text)]
	return known && of != slug
}

func htmlHeading(line string) (text string, ok bool) {
	if len(line) < 4 || line[1]|0x20 != 'h' || line[2] < '1' || line[2] > '6' {
		return "", false
	}
	_, text, ok = strings.Cut(line, ">")
	text, _, _ = strings.Cut(text, "<")
	return text, ok
}

// headingKey returns the letters and digits of a heading in lower case, which is all that two headings must have in common to be
// taken for each other.
func headingKey(text string) string {
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf {
			if c := byte(r) | 0x20; 'a' <= c && c <= 'z' || '0' <= r && r <= '9' {
				return rune(c)
			}
			return -1
		}
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
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
