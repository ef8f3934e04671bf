package resolve

import (
	"cmp"
	"slices"
	"strings"

	"pannier"
)

// maxGrants bounds the grants of one skill that count, and those that are left. What is beyond is not allowed.
const maxGrants = 256

// grant is a tool, or a part of what it can do: `Read`, `Bash(git add:*)`, `mcp__github__*`.
type grant struct {
	name string
	// spec is what stands in the parentheses, empty where it does not limit the tool.
	spec string
}

func newGrant(text string) grant {
	text = strings.TrimSpace(text)
	g := grant{name: text}
	if i := strings.IndexByte(text, '('); i > 0 && strings.HasSuffix(text, ")") {
		g.name, g.spec = strings.TrimSpace(text[:i]), oneStar(strings.TrimSpace(text[i+1:len(text)-1]))
	}
	if g.spec == "*" {
		g.spec = ""
	}
	g.name = oneStar(g.name)
	return g
}

// oneStar leaves one of the stars at the end of a text, so that what means the same is written the same.
func oneStar(text string) string {
	if trimmed := strings.TrimRight(text, "*"); len(trimmed)+1 < len(text) {
		return trimmed + "*"
	}
	return text
}

// String returns the grant as it is written.
func (g grant) String() string {
	if g.spec == "" {
		return g.name
	}
	return g.name + "(" + g.spec + ")"
}

// grants reads at most limit of a list, without what names no tool.
func grants(texts []string, limit int) []grant {
	texts = texts[:min(len(texts), limit)]
	list := make([]grant, 0, len(texts))
	for _, text := range texts {
		if g := newGrant(text); g.name != "" && !strings.ContainsAny(g.name, "()") && len(text) <= pannier.MaxToolBytes {
			list = append(list, g)
		}
	}
	return list
}

// covers reports whether a grant allows all that another one does.
func (g grant) covers(other grant) bool {
	return coversText(g.name, other.name) && coversSpec(g.spec, other.spec)
}

// coversText reports whether a text is another one, or its beginning with a star behind.
func coversText(wide, narrow string) bool {
	prefix, open := strings.CutSuffix(wide, "*")
	return wide == narrow || open && strings.HasPrefix(narrow, prefix)
}

func coversSpec(wide, narrow string) bool {
	switch {
	case wide == "" || narrow == "":
		return wide == ""
	case wide == narrow:
		return true
	}
	if prefix, ok := strings.CutSuffix(wide, ":*"); ok { // by whole words of a command
		rest, ok := strings.CutPrefix(narrow, prefix)
		return ok && (rest == "" || rest[0] == ' ' || rest[0] == ':')
	}
	return coversText(wide, narrow)
}

// narrower returns the one of two that the other covers, and whether there is one.
func narrower(a, b string, covers func(wide, narrow string) bool) (string, bool) {
	if covers(a, b) {
		return b, true
	}
	return a, covers(b, a)
}

// meet returns what both lists allow.
func meet(some, others []grant) []grant {
	var both []grant
	for _, g := range some {
		for _, other := range others {
			name, related := narrower(g.name, other.name, coversText)
			if !related {
				continue
			}
			if spec, ok := narrower(g.spec, other.spec, coversSpec); ok {
				both = append(both, grant{name, spec})
			}
		}
	}
	return least(both)
}

// least orders grants, and leaves out those that others among them cover.
func least(list []grant) []grant {
	slices.SortFunc(list, func(a, b grant) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.spec, b.spec)) })
	list = slices.Compact(list)
	list = list[:min(len(list), pannier.MaxTurnTools)]
	kept := make([]grant, 0, len(list))
	for i, g := range list {
		covered := false
		for j, other := range list {
			covered = covered || i != j && other.covers(g)
		}
		if !covered {
			kept = append(kept, g)
		}
	}
	return kept
}

func coveredBy(g grant, list []grant) bool {
	return slices.ContainsFunc(list, func(other grant) bool { return other.covers(g) })
}

// allowedTools narrows the caller's tools to those that every chosen skill allows. chosen are the active skills that are
// not implicit. A skill without `allowed-tools` narrows nothing.
func (rules Rules) allowedTools(s *pannier.Snapshot, t pannier.Turn, chosen []pannier.ActiveSkill) pannier.AllowedTools {
	out := pannier.AllowedTools{NarrowedBy: []string{}}
	if rules.Profile != pannier.ProfileDefault {
		out.Profile = rules.Profile
	}
	own := grants(t.Tools, pannier.MaxTurnTools)
	left, open := least(slices.Clone(own)), t.Tools == nil // open until a skill names tools
	var added []grant
	for _, a := range chosen {
		e, ok := s.Lookup(a.Slug)
		if !ok || len(e.AllowedTools) == 0 {
			continue
		}
		allows := grants(e.AllowedTools, maxGrants)
		if t.Tools == nil || slices.ContainsFunc(own, func(g grant) bool { return !coveredBy(g, allows) }) {
			out.NarrowedBy = append(out.NarrowedBy, a.Slug)
		}
		if open {
			left, open = least(slices.Clone(allows)), false
		} else {
			left = meet(left, allows)
		}
		if t.Tools == nil || rules.Profile != pannier.ProfileFullAuto {
			continue
		}
		// The profile lets the skill add what the caller does not have.
		more := slices.DeleteFunc(allows, func(g grant) bool { return coveredBy(g, own) })
		if len(more) > 0 {
			out.WidenedBy, added = append(out.WidenedBy, a.Slug), append(added, more...)
		}
	}
	left = least(append(left, added...))
	out.Effective = make([]string, len(left))
	for i, g := range left {
		out.Effective[i] = g.String()
	}
	slices.Sort(out.Effective)
	return out
}
