package registry

import (
	"fmt"
	"slices"

	"pannier"
)

// kindContested is the code of the problem, the health condition and the event about a slug that a skill tries to take,
// or has taken, from an installed or allowed one.
const kindContested = "slug_contested"

// maxContests bounds the problems about contested slugs in one snapshot.
const maxContests = 100

// contests returns a problem for every slug of an installed or allowed skill that another skill claims or holds.
//
// A skill is installed where a valid entry of a lock file names it, and allowed where a client granted it something at
// that path. It keeps its protection while it is missing, because a writer that takes a slug can also remove the
// directory. A skill of the same folder name in another root that loses is ordinary shadowing and reported by its state
// alone.
//
// The problems depend on the snapshot and the lock files alone, so they stay over a restart.
func contests(s *pannier.Snapshot, locks [][]pannier.LockedSlug) []pannier.Problem {
	granted, installed := grantedPaths(s.Policies), installedElsewhere(s, locks)
	var problems []pannier.Problem
	more := 0
	for from, to := 0, 0; from < len(s.Entries); from = to {
		slug := s.Entries[from].Slug
		for to = from + 1; to < len(s.Entries) && s.Entries[to].Slug == slug; to++ {
		}
		if to == from+1 && len(granted) == 0 && len(installed) == 0 {
			continue // nothing protects a slug that one skill claims
		}
		c := slugClaims{entries: s.Entries[from:to], granted: granted[slug], installed: installed[slug]}
		p, contested := c.contest()
		switch {
		case !contested:
		case len(problems) == maxContests:
			more++
		default:
			problems = append(problems, p)
		}
	}
	for _, p := range borrowedNames(s, granted) {
		switch {
		case slices.ContainsFunc(problems, func(other pannier.Problem) bool { return other.Path == p.Path }):
		case len(problems) == maxContests:
			more++
		default:
			problems = append(problems, p)
		}
	}
	if more > 0 {
		problems = append(problems, pannier.Problem{
			Code: kindContested, Severity: pannier.SeverityWarning, Path: "skills",
			Message: fmt.Sprintf("%d more slugs of installed or allowed skills are claimed by others", more),
			Hint:    "run `pannier list --state shadowed` to see the skills that lost their slugs",
		})
	}
	return problems
}

// borrowedNames returns a problem for every installed or allowed skill whose slug or name another skill shows as its
// own name. A model that chooses by name takes one for the other, though each keeps its slug.
func borrowedNames(s *pannier.Snapshot, granted map[string][]string) []pannier.Problem {
	owners := map[string]*pannier.Entry{}
	for i := range s.Entries {
		e := s.Entries[i]
		if e.State == pannier.StateShadowed || !e.Locked && !slices.Contains(granted[e.Slug], e.Path) {
			continue
		}
		owners[e.Slug] = e
		if shown := shownName(e); owners[shown] == nil {
			owners[shown] = e
		}
	}
	if len(owners) == 0 {
		return nil
	}
	var problems []pannier.Problem
	for i := range s.Entries {
		e := s.Entries[i]
		owner := owners[shownName(e)]
		if owner == nil || owner.Slug == e.Slug || e.State == pannier.StateShadowed || e.Locked || slices.Contains(granted[e.Slug], e.Path) {
			continue
		}
		problems = append(problems, pannier.Problem{
			Code: kindContested, Severity: pannier.SeverityWarning, Path: owner.Slug,
			Message: fmt.Sprintf("%s shows the name %q, which a model can take for %s", e.Path, e.Name, owner.Path),
			Hint:    fmt.Sprintf("check %s; remove it, give it another name, or accept it by setting its policy (pannier policy set %s)", e.Path, e.Slug),
		})
	}
	return problems
}

// shownName returns what the name of a skill is compared by: what a reader sees of it, as a slug.
func shownName(e *pannier.Entry) string {
	if e.Name == e.Slug {
		return e.Slug
	}
	return pannier.Slugify(pannier.CleanLine(e.Name))
}

// grantedPaths returns the directories that clients granted something, sorted, by slug.
func grantedPaths(p pannier.Policies) map[string][]string {
	granted := map[string][]string{}
	for key, e := range p.Workspace {
		if e.Path != "" && e.Grants() {
			granted[key.Slug] = append(granted[key.Slug], e.Path)
		}
	}
	for _, paths := range granted {
		slices.Sort(paths)
	}
	return granted
}

// installedElsewhere returns the directories that lock files name and in which that skill is not, or no longer as it
// was installed, sorted, by slug.
func installedElsewhere(s *pannier.Snapshot, locks [][]pannier.LockedSlug) map[string][]string {
	there := make([]int, len(locks))
	for i := range s.Entries {
		if e := s.Entries[i]; e.Locked && e.RootIndex < len(there) {
			there[e.RootIndex]++
		}
	}
	paths := map[string][]string{}
	for i, named := range locks {
		if there[i] == len(named) {
			continue
		}
		for _, l := range named {
			if e, found := s.LookupPath(l.Slug, l.Path); !found || !e.Locked {
				paths[l.Slug] = append(paths[l.Slug], l.Path)
			}
		}
	}
	return paths
}

// slugClaims are the skills that claim one slug, the winner first, with the directories of that slug that are
// protected: granted are those that a client granted something, installed those that a lock file names and of which no
// entry is locked.
//
// A slug is contested in two cases: the winner is not protected and another directory is (taken), or the winner is
// protected and another skill claims the slug by more than the name of its folder (claimed). A grant protects more than
// an installation.
type slugClaims struct {
	entries            []*pannier.Entry
	granted, installed []string
}

// contest returns the problem of a slug, and whether there is one.
func (c slugClaims) contest() (p pannier.Problem, contested bool) {
	winner := c.entries[0]
	switch {
	case slices.Contains(c.granted, winner.Path):
		return c.claimed()
	case len(c.granted) > 0:
		return c.taken(c.granted[0], "which a client allowed"), true
	case winner.Locked, slices.Contains(c.installed, winner.Path):
		return c.claimed()
	}
	installed := c.installed
	for i := range c.entries {
		if c.entries[i].Locked {
			installed = append(installed, c.entries[i].Path)
		}
	}
	if len(installed) > 0 {
		return c.taken(installed[0], "which pannier installed"), true
	}
	return p, false
}

// claimed returns the problem that another skill claims the slug of a protected winner, and whether one does. A skill
// in another root that has the slug by its folder alone is ordinary shadowing.
func (c slugClaims) claimed() (p pannier.Problem, contested bool) {
	winner := c.entries[0]
	for i := range c.entries[1:] {
		e := c.entries[1+i]
		if e.RootIndex != winner.RootIndex && claimsByFolder(e.Skill) || slices.Contains(c.granted, e.Path) {
			continue
		}
		return c.problem(
			fmt.Sprintf("%s claims the slug %q, which %s holds", e.Path, e.Slug, winner.Path),
			fmt.Sprintf("check %s; remove it, or give it another slug", e.Path),
		), true
	}
	return p, false
}

// taken reports that the winner holds the slug of another directory.
func (c slugClaims) taken(from, why string) pannier.Problem {
	w := c.entries[0]
	return c.problem(
		fmt.Sprintf("%s holds the slug %q of %s, %s; nothing that was allowed there holds for it", w.Path, w.Slug, from, why),
		fmt.Sprintf("check %s; remove it or give it another slug, or accept it by uninstalling the other and setting its policy (pannier policy set %s)", w.Path, w.Slug),
	)
}

// problem has the slug in the place of a path, because that is what it is about.
func (c slugClaims) problem(message, hint string) pannier.Problem {
	return pannier.Problem{Code: kindContested, Severity: pannier.SeverityWarning, Path: c.entries[0].Slug, Message: message, Hint: hint}
}
