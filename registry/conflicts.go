package registry

import (
	"slices"

	"pannier"
)

// conflicts goes over the skills in the order of precedence, and returns for each the slugs of the usable ones before
// it that conflict with it, whichever of the two says so. So only usable skills block others, and of two one stays.
func conflicts(list []*assessed) map[*pannier.Entry][]string {
	if !slices.ContainsFunc(list, func(j *assessed) bool { return len(j.skill.Conflicts) > 0 }) {
		return nil
	}
	blockers := map[*pannier.Entry][]string{}
	usable := map[string]*pannier.Entry{} // by slug
	refusedBy := map[string][]refusal{}   // by the slug that is named
	for _, e := range byPrecedence(list) {
		var by []string
		for _, r := range refusedBy[e.Slug] {
			if r.means(e) && !slices.Contains(by, r.by) {
				by = append(by, r.by)
			}
		}
		for _, name := range e.Conflicts {
			owner, slug := pannier.SplitQualified(name)
			if other := usable[slug]; other != nil && (refusal{owner: owner}).means(other) && !slices.Contains(by, slug) {
				by = append(by, slug)
			}
		}
		if len(by) > 0 {
			blockers[e] = by
			continue
		}
		if !e.Usable {
			continue
		}
		usable[e.Slug] = e
		for _, name := range e.Conflicts {
			owner, slug := pannier.SplitQualified(name)
			refusedBy[slug] = append(refusedBy[slug], refusal{owner, e.Slug})
		}
	}
	return blockers
}

// refusal is that a skill names a slug that it conflicts with.
type refusal struct {
	owner string // empty means any owner
	by    string // the slug of the skill that says so
}

// means reports whether a skill of the slug is the one that is named.
func (r refusal) means(e *pannier.Entry) bool { return r.owner == "" || r.owner == e.Owner }

// byPrecedence orders entries of different slugs as if they wanted one.
func byPrecedence(list []*assessed) []*pannier.Entry {
	ordered := make([]*pannier.Entry, len(list))
	for i := range list {
		ordered[i] = list[i].alone
	}
	slices.SortFunc(ordered, func(a, b *pannier.Entry) int {
		return precedence(choice{skill: a.Skill}, choice{skill: b.Skill}) // who is unlisted is not usable, so that does not count
	})
	return ordered
}
