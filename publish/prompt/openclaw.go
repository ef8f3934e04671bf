package prompt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pannier"
)

const (
	// OpenClaw is the indented XML of OpenClaw.
	OpenClaw = "openclaw"

	// openClawSkills is how many skills OpenClaw shows at most, whatever the limit is.
	openClawSkills = 150
	// openClawReserve is kept free for the notice where descriptions are left out.
	openClawReserve = 150

	openClawHead = "\n\nThe following skills provide specialized instructions for specific tasks.\n" +
		"Use the read tool to load a skill's file when the task matches its %s.\n" +
		"When a skill file references a relative path, resolve it against the skill directory (parent of SKILL.md / dirname of the path)" +
		" and use that absolute path in tool commands.\n\n<available_skills>\n"
	openClawDescribed = "    <description>%s</description>\n"
	openClawAudit     = " Run `openclaw skills check` to audit."
)

var openClaw = format{
	name:  OpenClaw,
	gives: "indented XML of OpenClaw after three lines of instructions", empty: "empty",
	render: (*Renderer).openClaw,
}

// openClaw has three tiers: every skill in full; or every skill without its description; or as many of those, from the
// start, as fit. A notice stands before all but the first, and a skill that has lost its description counts as omitted.
func (r *Renderer) openClaw(_ map[string]string, into *Section) {
	total := len(into.items)
	if total == 0 {
		return
	}
	items := r.byName(into)[:min(total, openClawSkills)]
	full := openClawNotice(len(items), total, false) + fmt.Sprintf(openClawHead, "description")
	if into.fits(runes(full) + r.openClawSize(items, true) + len(closing)) {
		r.openClawShow(full, items, true, into)
		return
	}
	items = r.openClawPrefix(items, into)
	notice := openClawNotice(len(items), total, true)
	if len(items) > 0 {
		short := notice + fmt.Sprintf(openClawHead, "name")
		if into.fits(runes(short) + r.openClawSize(items, false) + len(closing)) {
			r.openClawShow(short, items, false, into)
		}
	} else if notice = strings.TrimSuffix(notice, "\n"); into.fits(runes(notice)) {
		into.add(notice) // where not even that fits, what is omitted is told beside the text
	}
}

// byName orders the skills that the turn names first, in its order, then the others by name in bytes, so that the limit drops
// the latter.
func (r *Renderer) byName(into *Section) []item {
	ranks := r.kept.nameRanks()
	into.ordered = append(into.ordered, into.items...)
	slices.SortStableFunc(into.ordered, func(a, b item) int {
		switch {
		case a.implicit && b.implicit:
			return cmp.Compare(ranks[a.index], ranks[b.index])
		case a.implicit:
			return 1
		case b.implicit:
			return -1
		}
		return 0
	})
	return into.ordered
}

// openClawPrefix returns the skills from the start that fit without their descriptions, with the reserve kept free.
func (r *Renderer) openClawPrefix(items []item, into *Section) []item {
	used := openClawReserve + runes(fmt.Sprintf(openClawHead, "name")) + len(closing)
	for i, e := range items {
		used += r.openClawBlock(e, false).size
		if !into.fits(used) {
			return items[:i]
		}
	}
	return items
}

func (r *Renderer) openClawSize(items []item, described bool) int {
	size := 0
	for _, e := range items {
		size += r.openClawBlock(e, described).size
	}
	return size
}

func (r *Renderer) openClawShow(head string, items []item, described bool, into *Section) {
	into.add(head)
	for _, e := range items {
		into.add(r.openClawBlock(e, described).text)
		into.shown[e.place] = described || r.openClawSilent(e)
	}
	into.add(closing)
}

func (r *Renderer) openClawSilent(e item) bool {
	return r.openClawBlock(e, true).size-r.openClawBlock(e, false).size == len(openClawDescribed)-len("%s")
}

// openClawFull and openClawShort are the element of a skill, with its description and without.
var (
	openClawFull  = newForm(func(r *Renderer, e *pannier.Entry) string { return r.openClawElement(e, true) })
	openClawShort = newForm(func(r *Renderer, e *pannier.Entry) string { return r.openClawElement(e, false) })
)

func (r *Renderer) openClawBlock(e item, described bool) *block {
	if described {
		return r.block(openClawFull, e)
	}
	return r.block(openClawShort, e)
}

func (r *Renderer) openClawElement(e *pannier.Entry, described bool) string {
	text := "  <skill>\n    <name>" + openClawMarkup.Replace(displayName(e)) + "</name>\n"
	if described {
		text += fmt.Sprintf(openClawDescribed, openClawMarkup.Replace(fold(e.Description)))
	}
	return text + "    <location>" + openClawMarkup.Replace(pannier.CleanLine(Location(e.Skill, r.workspace))) + "</location>\n  </skill>\n"
}

func openClawNotice(included, total int, compact bool) string {
	switch {
	case included < total && compact:
		return fmt.Sprintf("⚠️ Skills truncated: included %d of %d (compact format, descriptions omitted).%s\n", included, total, openClawAudit)
	case included < total:
		return fmt.Sprintf("⚠️ Skills truncated: included %d of %d.%s\n", included, total, openClawAudit)
	case compact:
		return "⚠️ Skills catalog using compact format (descriptions omitted)." + openClawAudit + "\n"
	}
	return ""
}

var openClawMarkup = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;")
