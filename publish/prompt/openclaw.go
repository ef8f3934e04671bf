package prompt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

const (
	// openClawSkills is how many skills OpenClaw shows at most, whatever the limit is.
	openClawSkills = 150
	// openClawReserve is kept free for the notice where descriptions are left out.
	openClawReserve = 150

	openClawHead = "\n\nThe following skills provide specialized instructions for specific tasks.\n" +
		"Use the read tool to load a skill's file when the task matches its %s.\n" +
		"When a skill file references a relative path, resolve it against the skill directory (parent of SKILL.md / dirname of the path)" +
		" and use that absolute path in tool commands.\n\n<available_skills>\n"
	openClawAudit = " Run `openclaw skills check` to audit."
)

// openClaw has three tiers: every skill in full; or every skill without its description; or as many of those, from the
// start, as fit. A notice stands before all but the first.
func openClaw(items []item, o Options) (string, map[string]bool) {
	if len(items) == 0 {
		return "", nil
	}
	items = byName(items)
	total := len(items)
	items = items[:min(total, openClawSkills)]
	full := openClawNotice(len(items), total, false) + openClawText("description", items, o)
	if o.fits(runes(full)) {
		return full, slugs(items)
	}
	items = openClawPrefix(items, o)
	text := openClawNotice(len(items), total, true)
	if len(items) > 0 {
		text += openClawText("name", items, o)
	} else {
		text = strings.TrimSuffix(text, "\n")
	}
	if !o.fits(runes(text)) { // not even the notice: what is omitted is told beside the text
		return "", nil
	}
	return text, slugs(items)
}

// byName puts what the turn names first, as it stands there, then the others by name in bytes, so that the limit takes
// what nobody asked for.
func byName(items []item) []item {
	names := make(map[string]string, len(items))
	for _, e := range items {
		if e.implicit {
			names[e.Slug] = displayName(e.Entry)
		}
	}
	ordered := slices.Clone(items)
	slices.SortStableFunc(ordered, func(a, b item) int {
		switch {
		case a.implicit && b.implicit:
			return cmp.Or(cmp.Compare(names[a.Slug], names[b.Slug]), cmp.Compare(a.Slug, b.Slug))
		case a.implicit:
			return 1
		case b.implicit:
			return -1
		}
		return 0
	})
	return ordered
}

// openClawPrefix returns the skills from the start that fit without their descriptions, with the reserve kept free.
func openClawPrefix(items []item, o Options) []item {
	used := openClawReserve + runes(fmt.Sprintf(openClawHead, "name")) + len(closing)
	for i, e := range items {
		used += runes(openClawElement(e, false, o))
		if !o.fits(used) {
			return items[:i]
		}
	}
	return items
}

// openClawText matches tells what of a skill the model compares a task with: without descriptions that is the name.
func openClawText(matches string, items []item, o Options) string {
	var b strings.Builder
	fmt.Fprintf(&b, openClawHead, matches)
	for _, e := range items {
		b.WriteString(openClawElement(e, matches == "description", o))
	}
	b.WriteString(closing)
	return b.String()
}

func openClawElement(e item, described bool, o Options) string {
	var b strings.Builder
	b.WriteString("  <skill>\n    <name>" + openClawEscape(displayName(e.Entry)) + "</name>\n")
	if described {
		b.WriteString("    <description>" + openClawEscape(fold(e.Description)) + "</description>\n")
	}
	b.WriteString("    <location>" + openClawEscape(neutral(Location(e.Skill, o.Workspace))) + "</location>\n  </skill>\n")
	return b.String()
}

// openClawNotice is empty where nothing is left out.
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

func slugs(items []item) map[string]bool {
	shown := make(map[string]bool, len(items))
	for _, e := range items {
		shown[e.Slug] = true
	}
	return shown
}

var openClawMarkup = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;")

func openClawEscape(text string) string { return openClawMarkup.Replace(text) }
