package prompt

import (
	"cmp"
	"slices"
	"strings"

	"pannier"
)

// moleculeHead begins and each skill ends with a line feed, so that the section joins those around it with one between.
const moleculeHead = "\n## Your Skills\n"

// section is a skill as Molecule shows it: whole, or with a line how to read it in place of its body.
type section struct {
	item
	whole, short         string
	wholeSize, shortSize int
	shown                string
}

// molecule shows every skill that has a body. Over a limit, a skill keeps its name and its description first and is left
// out last: the short form of every skill that fits is set aside, in the order of the resolution, so that what the turn
// names comes before what it does not; then bodies are put in, in the same order, as far as there is room.
//
// Examples, links and peers are not part of it.
func molecule(bodies map[string]string, into *Section) {
	sections := moleculeSections(into.items, bodies)
	used := len(moleculeHead)
	for _, s := range sections {
		if into.fits(used + s.shortSize) {
			used += s.shortSize
			s.shown, into.shown[s.place] = s.short, true
		}
	}
	for _, s := range sections {
		if more := s.wholeSize - s.shortSize; into.shown[s.place] && into.fits(used+more) {
			used += more
			s.shown = s.whole
		}
	}
	if used == len(moleculeHead) {
		return
	}
	slices.SortStableFunc(sections, func(a, b *section) int { return cmp.Compare(a.Rank, b.Rank) })
	into.add(moleculeHead)
	for _, s := range sections {
		into.add(s.shown)
	}
}

// moleculeSystem puts the files of the prompt before the section, each part a line feed behind the one before it; a file
// without a text is left out. The files are the owner's: they are neither cut nor escaped, and the limit is for the
// section alone.
//
// Of a workspace's prompt these parts are not known to a sidecar, and so left out: the platform's instructions, the parent's
// context, the platform's rules and guidelines, peers, and what to do where delegation fails.
func moleculeSystem(files []pannier.PromptFile, bodies map[string]string, into *Section) {
	for _, f := range files {
		if f.Text != "" {
			into.add(f.Text)
			into.add("\n")
		}
	}
	before := len(into.Parts)
	molecule(bodies, into)
	if len(into.Parts) == before {
		into.Parts = into.Parts[:max(0, before-1)] // no line feed behind the last file
	}
}

func moleculeSections(items []item, bodies map[string]string) []*section {
	var sections []*section
	ours := headings{}
	for _, e := range items {
		if _, ok := bodies[e.Slug]; ok {
			sections = append(sections, &section{item: e})
			ours.add(headingName(e.Entry))
		}
	}
	for _, s := range sections {
		head := "\n### " + headingName(s.Entry) + "\n"
		if description := ours.escape(disarm(fold(s.Description))); description != "" {
			head += description + "\n"
		}
		s.whole = head + ours.escape(disarm(strings.TrimSpace(lines(bodies[s.Slug])))) + "\n"
		s.short = head + "The instructions are not shown here. Read them with `GET /v1/skills/" + s.Slug + "/content`.\n"
		s.wholeSize, s.shortSize = runes(s.whole), runes(s.short)
		if s.wholeSize <= s.shortSize {
			s.short, s.shortSize = s.whole, s.wholeSize
		}
	}
	return sections
}

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
// backslash, with which it is text in Markdown; so does the line below a heading that is underlined. Letters that only look alike are not told apart, and a body that opens a
// code fence and never closes it is left as it is: headings do not bound what a skill can say, they say whose words follow.
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
	if level == 0 {
		return false
	}
	text = title(text)
	return level == 3 && h[text] || promptTitle(text)
}

// title returns what is compared of a heading: without its marks, those of emphasis, the joiners that show as nothing, and
// its cases.
func title(text string) string {
	text = joiners.Replace(text)
	return strings.ToLower(strings.Join(strings.Fields(strings.TrimRight(text, "# \t\n")), " "))
}

var joiners = strings.NewReplacer("\u200d", "", "\ufe0e", "", "\ufe0f", "", "*", "", "_", "", "`", "", "~", "")
