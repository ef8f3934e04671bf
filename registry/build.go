package registry

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"pannier"
)

// assess makes a snapshot of its inputs, all but version, time and digest. It shares with the last one, which may be
// nil, the entries of which nothing changed. The result is the same without a last one.
func assess(in Inputs, last *assessment) (*pannier.Snapshot, *assessment) {
	if last != nil && samePolicies(&in, &last.in) {
		in.Policies = last.in.Policies
	} else {
		in.Policies = in.Policies.Indexed()
	}
	s := &pannier.Snapshot{Workspace: in.Workspace, Environment: in.Environment, Policies: in.Policies}
	choices, missing := choose(in.Catalog.Skills, in.Workspace)
	a := &assessment{in: in, judges: newestJudges(&in)}
	s.Problems = slices.Concat(in.Workspace.Problems, in.Catalog.Problems, missing)
	for _, j := range a.judges {
		s.Problems = append(s.Problems, j.Problems...)
	}
	if !slices.IsSortedFunc(choices, bySlug) {
		slices.SortFunc(choices, bySlug)
	}
	a.assessSkills(choices, last)
	s.Entries = a.applyConflicts()
	s.Problems = append(s.Problems, contests(s, in.Catalog.Locks)...)
	return s, a
}

func bySlug(a, b choice) int {
	if d := strings.Compare(a.skill.Slug, b.skill.Slug); d != 0 {
		return d
	}
	return precedence(a, b)
}

// precedence orders skills that claim the same slug, by the first of [precedenceRules] that tells them apart.
func precedence(a, b choice) int {
	order, _ := decidingRule(a, b)
	return order
}

// decidingRule is precedence with the rule that decided.
func decidingRule(a, b choice) (order int, rule pannier.CollisionRule) {
	for _, r := range precedenceRules {
		if order = r.compare(a, b); order != 0 {
			return order, r.rule
		}
	}
	return 0, ""
}

// precedenceRules depend on the tree, the lock files, the settings and the list of config.yaml alone, never on the
// order in which anything was found or computed.
//
// The list comes after the lock file: a list decides which skills the agent uses, and must not let another directory
// take over the slug of an installed skill.
var precedenceRules = []struct {
	rule    pannier.CollisionRule
	compare func(a, b choice) int
}{
	{pannier.RuleReadable, func(a, b choice) int { return compareBool(a.skill.Broken, b.skill.Broken) }},
	{pannier.RuleRoot, func(a, b choice) int { return cmp.Compare(a.skill.RootIndex, b.skill.RootIndex) }},
	{pannier.RuleLocked, func(a, b choice) int { return compareBool(!a.skill.Locked, !b.skill.Locked) }},
	{pannier.RuleListed, func(a, b choice) int { return compareBool(a.rank == unranked, b.rank == unranked) }},
	{pannier.RuleFolder, func(a, b choice) int { return cmp.Compare(claim(a.skill), claim(b.skill)) }},
	{pannier.RuleDepth, func(a, b choice) int {
		return cmp.Compare(strings.Count(a.skill.PathBelowRoot, "/"), strings.Count(b.skill.PathBelowRoot, "/"))
	}},
	{pannier.RulePath, func(a, b choice) int { return cmp.Compare(a.skill.PathBelowRoot, b.skill.PathBelowRoot) }},
}

// claim returns how strongly a skill claims its slug: 0 is the strongest.
func claim(s *pannier.Skill) int {
	switch {
	case s.Folder == s.Slug:
		return 0
	case claimsByFolder(s):
		return 1
	}
	return 2
}

// claimsByFolder reports whether a skill would have its slug without anything that its files say.
func claimsByFolder(s *pannier.Skill) bool {
	own := pannier.Slugify(s.Folder)
	return own == s.Slug || own == "" && pannier.FallbackSlug(s.PathBelowRoot) == s.Slug
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// cardIDs returns the ids of usable skills on the agent card, where they are other than their folders. An id is the
// folder, because that is what the platform and its canvas know skills by, and for the later of two with one folder
// name the slug. usable is in the order of config.yaml.
func cardIDs(usable []*pannier.Entry) map[*pannier.Entry]string {
	if !slices.ContainsFunc(usable, func(e *pannier.Entry) bool { return e.Folder != e.Slug }) {
		return nil // slugs do not repeat, so folders do not either
	}
	ids, taken := map[*pannier.Entry]string{}, make(map[string]bool, len(usable))
	for _, e := range usable {
		id := strings.TrimSpace(strings.ToValidUTF8(e.Folder, "\uFFFD")) // folders may have names that no card can show
		if id == "" || taken[id] {
			id = e.Slug
		}
		for n := 2; taken[id]; n++ { // an earlier folder has the name of this slug
			id = e.Slug + "-" + strconv.Itoa(n)
		}
		taken[id] = true
		if id != e.Folder {
			ids[e] = id
		}
	}
	return ids
}
