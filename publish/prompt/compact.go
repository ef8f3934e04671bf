package prompt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pannier"
)

const (
	// Compact is the section "[Skills]" of Pioneer.
	Compact = "compact"

	compactHead = "[Skills]\nThe following skills are available for this turn:\n"
	compactFoot = "\nBefore you do what one of these skills is for, call `read_skill` with the exact value of its slug, not with its display name," +
		" and follow the instructions that it returns."
	// compactCut stands where a skill is left out, compactUnread where a body is.
	compactCut    = "\nThis list is cut: it has no room for %d of the skills."
	compactUnread = "\nThese match the files of this turn, and their instructions are not shown here; read them with `read_skill`: %s."
)

var compact = format{
	name:  Compact,
	gives: "section `[Skills]` of Pioneer: names, slugs, descriptions",
	empty: "empty", needsBodies: pathBodies,
	render: (*Renderer).compact,
}

// compact lists each skill that fits, and smaller ones behind one that does not may still fit; then come the bodies of
// those that match a path, as far as there is room, and how to read the others. What the model is to do with the list
// and that it is cut goes before the last skill that would fit.
//
// A skill whose body belongs here and is not shown counts as omitted, though it is in the list.
func (r *Renderer) compact(bodies map[string]string, into *Section) {
	used, all := len(compactHead)+len(compactFoot), 0
	for _, e := range into.items {
		all += r.block(compactLines, e).size
	}
	if !into.fits(used + all) {
		used += len(fmt.Sprintf(compactCut, len(into.items)))
	}
	into.add(compactHead)
	used = r.list(into, compactLines, used)
	if listed := len(into.Parts) - 1; listed == 0 {
		into.Parts = into.Parts[:0]
	} else {
		compactRest(bodies, len(into.items)-listed, used, into)
	}
}

// compactRest adds what stands below the list. used is what the list and the foot have, with the notice that skills are
// left out, where cut of them are.
func compactRest(bodies map[string]string, cut, used int, into *Section) {
	used, unread := compactBodies(bodies, used, into)
	into.add(compactFoot)
	if cut > 0 {
		into.add(fmt.Sprintf(compactCut, cut))
	}
	if note := compactNote(unread); into.fits(used + len(note)) {
		into.add(note)
	}
}

// compactNote tells which skills match the files of the turn and have their bodies left out; empty where none does.
func compactNote(unread []item) string {
	if len(unread) == 0 {
		return ""
	}
	slugs := make([]string, len(unread))
	for i, e := range unread {
		slugs[i] = "`" + e.Qualified() + "`"
	}
	return fmt.Sprintf(compactUnread, strings.Join(slugs, ", "))
}

var compactLines = newForm(func(r *Renderer, e *pannier.Entry) string {
	text := "- " + displayName(e) + "\n"
	if e.ToolsOnly {
		text += "  Tools, without instructions to read: " + toolNames(e) + "\n"
	} else {
		text += "  Skill slug for read_skill: `" + e.Qualified() + "`\n"
	}
	if description := fold(e.Description); description != "" {
		text += "  Use when: " + description + "\n"
	}
	return text
})

// compactBodies adds the bodies of listed skills that match a path, ordered by slug, as far as they fit. It returns what
// is used then, and those that it leaves out. Where it leaves some out, the note on them goes before a body, if there is
// room for it at all.
func compactBodies(bodies map[string]string, used int, into *Section) (size int, unread []item) {
	matching := into.matching()
	texts, all, complete := make([]*block, len(matching)), used, true
	for i, e := range matching {
		if body, ok := bodies[e.Slug]; ok && !exceeds(body, into.room(used)) {
			text := compactBody(e.Entry, body)
			texts[i] = &block{text, runes(text)}
			all += texts[i].size
		} else {
			complete = false
		}
	}
	reserved := 0
	if note := len(compactNote(matching)); (!complete || !into.fits(all)) && into.fits(used+note) {
		reserved = note
	}
	for i, e := range matching {
		if b := texts[i]; b != nil && into.fits(used+reserved+b.size) {
			used += b.size
			into.add(b.text)
			into.Bodies = append(into.Bodies, e.slug)
		} else {
			into.shown[e.place] = false
			unread = append(unread, e)
		}
	}
	return used, unread
}

// matching returns the skills that are listed and match a path, ordered by slug.
func (s *Section) matching() []item {
	for _, e := range s.items {
		if e.byPath && s.shown[e.place] {
			s.ordered = append(s.ordered, e)
		}
	}
	slices.SortFunc(s.ordered, func(a, b item) int { return cmp.Compare(a.Slug, b.Slug) })
	return s.ordered
}

// compactBody returns the body of a skill below its own line; nothing of a body that says nothing.
func compactBody(e *pannier.Entry, body string) string {
	text := strings.TrimSpace(pannier.CleanLines(body))
	if text == "" {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n[Skill Body: $" + e.Qualified() + "]\n")
	for line := range strings.Lines(text) {
		if bare := strings.TrimLeft(line, " \t"); compactOwn(line) {
			line = line[:len(line)-len(bare)] + `\` + bare
		}
		b.WriteString(line)
	}
	b.WriteByte('\n')
	return b.String()
}

// compactOwn reports whether a line of a body reads like one of the section's own: what follows it would seem to be the
// list, or another skill's. Such a line gets a backslash.
func compactOwn(line string) bool {
	return strings.HasPrefix(strings.ReplaceAll(title(line), " ", ""), "[skill") || strings.HasPrefix(headingKey(line), "skillslugforreadskill")
}
