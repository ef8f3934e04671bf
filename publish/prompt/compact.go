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
	// compactNames stands behind the names where not every skill is described.
	compactNames = "Those are slugs. Not all are described here: find the one for a task with `find_skills`.\n"
	// compactUnread stands where a body is left out.
	compactUnread = "\nThese match the files of this turn, and their instructions are not shown here; read them with `read_skill`: %s."
)

var compact = format{
	name:  Compact,
	gives: "section `[Skills]` of Pioneer: names, slugs, descriptions",
	empty: "empty", needsBodies: pathBodies,
	render: (*Renderer).compact,
}

// compact lists the skills, then the bodies of those that match a path by slug, as far as there is room, and how to read the others.
func (r *Renderer) compact(texts Texts, into *Section) {
	var matching []item
	for _, e := range into.items {
		if e.byPath {
			matching = append(matching, e)
		}
	}
	slices.SortFunc(matching, func(a, b item) int { return cmp.Compare(a.Slug, b.Slug) })
	var unread []item
	r.write(into, layout{
		begin: compactHead, end: compactFoot, least: "[Skills]\n" + noneFits + " with `find_skills`.\n",
		full: func(e item) *block { return r.block(compactLines, e) },
		described: func(e item, description string) string {
			return strings.TrimSuffix("- `"+e.Qualified()+"`: "+description, ": ") + "\n"
		},
		name:  qualifiedName,
		names: func(lines string) string { return lines + compactNames },
		around: func(used size) (before, after string, complete bool) {
			note := sizeOf(compactNote(matching))
			var text strings.Builder
			complete = true
			unread, into.Bodies = nil, into.Bodies[:0]
			for _, e := range matching {
				body, ok := texts.Bodies[e.Slug]
				shown := ""
				if ok && !exceeds(body, into.budget.room(used)) {
					shown = compactBody(e.Entry, body)
				}
				if s := sizeOf(shown); ok && (shown != "" || body == "" || !exceeds(body, 0)) && into.budget.allows(used.plus(s, note)) {
					used = used.plus(s)
					text.WriteString(shown)
					into.Bodies = append(into.Bodies, e.slug)
				} else {
					unread = append(unread, e)
					complete = complete && !ok
				}
			}
			if after = compactNote(unread); !into.budget.allows(used.plus(sizeOf(after))) {
				after = ""
			}
			return text.String(), after, complete
		},
	})
	for _, e := range matching {
		switch {
		case slices.ContainsFunc(unread, func(u item) bool { return u.place == e.place }):
			into.shown[e.place] = min(into.shown[e.place], described)
		case into.shown[e.place] == described:
			into.shown[e.place] = whole
		}
	}
	if len(into.Parts) == 0 {
		into.Bodies = into.Bodies[:0]
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
	if description := aboutEntry(e); description != "" {
		text += "  Use when: " + description + "\n"
	}
	return text
})

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

// exceeds reports whether a text has surely more than so many code points, whatever it is cleaned of: what is visible and
// ASCII is never dropped. It looks no further than it must.
func exceeds(text string, size int) bool {
	if len(text) <= size {
		return false
	}
	for i := range len(text) {
		if '!' <= text[i] && text[i] <= '~' {
			if size--; size < 0 {
				return true
			}
		}
	}
	return false
}
