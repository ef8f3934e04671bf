package registry

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pannier"
)

// maxWarnings bounds the warnings of one snapshot. What is beyond is told as a number.
const maxWarnings = 100

// The kinds of warning that are no problem of one skill.
const (
	kindSharedName = "skill.name.shared"
	kindSharedSlug = "skill.slug.shared"
	kindMore       = "skill.more"
)

// Warnings returns what is wrong with skills in a snapshot and was not before: contested slugs, new collisions, then
// the problems of skills by slug. Of the first snapshot of a process, whose before is nil, these are only the contested
// slugs, the collisions, the errors, and the names that several skills share: the warnings were told when they came.
func Warnings(before, after *pannier.Snapshot) []pannier.SkillWarning {
	worst := pannier.SeverityWarning
	if before == nil {
		before, worst = &pannier.Snapshot{}, pannier.SeverityError
	}
	var warnings []pannier.SkillWarning
	for _, p := range after.Problems { // slugs that were not contested before, or not by the same skills
		if p.Code == kindContested && !slices.Contains(before.Problems, p) {
			warnings = append(warnings, pannier.SkillWarning{Name: p.Path, Kind: kindContested, Detail: p.Message})
		}
	}
	warnings = append(warnings, newCollisions(before, after)...)
	names := map[string]bool{} // that are new
	for old, now := range Changes(before, after) {
		if now == nil {
			continue
		}
		if old == nil || old.Name != now.Name {
			names[now.Name] = true
		}
		for _, p := range now.Problems {
			if (p.Severity == worst || p.Severity == pannier.SeverityError) && (old == nil || !reported(old.Problems, p)) {
				warnings = append(warnings, pannier.SkillWarning{Name: now.Slug, Kind: p.Code, Detail: p.Place() + ": " + p.Message})
			}
		}
	}
	if len(names) > 0 {
		warnings = append(warnings, sharedNames(before, after, names)...)
	}
	if more := len(warnings) - maxWarnings; more > 0 {
		warnings = append(warnings[:maxWarnings], pannier.SkillWarning{Kind: kindMore, Detail: fmt.Sprintf("there are %d more; `pannier list` shows all", more)})
	}
	return warnings
}

// newCollisions returns the collisions that were not there before, but for those of contested slugs. A skill that is
// about to go does not count: a renamed skill does not collide with itself.
func newCollisions(before, after *pannier.Snapshot) (warnings []pannier.SkillWarning) {
	for old, e := range Changes(before, after) {
		if e == nil || e.State != pannier.StateShadowed || e.Deleting {
			continue
		}
		if winner, ok := after.Lookup(e.Slug); !ok || winner.Deleting {
			continue
		}
		if old != nil && old.ShadowedBy == e.ShadowedBy && !old.Deleting {
			continue
		}
		if !isContested(after, e.Slug) {
			warnings = append(warnings, pannier.SkillWarning{
				Name: e.Slug, Kind: kindSharedSlug, Detail: fmt.Sprintf("%s and %s claim the slug %q; %s holds it", e.ShadowedBy, e.Path, e.Slug, e.ShadowedBy),
			})
		}
	}
	return warnings
}

// reported reports whether a problem is among others, on whatever line.
func reported(among []pannier.Problem, p pannier.Problem) bool {
	return slices.ContainsFunc(among, func(q pannier.Problem) bool {
		return p.Code == q.Code && p.Field == q.Field && p.Message == q.Message
	})
}

// sharedNames tells of skills that have one of some names in common with others: a client that asks for them by name
// may get another than was meant.
func sharedNames(before, after *pannier.Snapshot, names map[string]bool) []pannier.SkillWarning {
	old, now := byName(before, names), byName(after, names)
	var warnings []pannier.SkillWarning
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if paths := now[name]; len(paths) > 1 && !slices.Equal(paths, old[name]) {
			warnings = append(warnings, pannier.SkillWarning{
				Kind: kindSharedName, Detail: fmt.Sprintf("%s are all called %q; each is reached by its own slug", strings.Join(paths, ", "), name),
			})
		}
	}
	return warnings
}

// byName returns the paths of the skills that own their slugs and have one of some names, by name, in the order of
// slugs.
func byName(s *pannier.Snapshot, names map[string]bool) map[string][]string {
	paths := map[string][]string{}
	for _, e := range s.Entries {
		if names[e.Name] && e.State != pannier.StateShadowed {
			paths[e.Name] = append(paths[e.Name], e.Path)
		}
	}
	return paths
}
