package registry

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"pannier"
)

// build makes a snapshot of its inputs, all but version and time. It is pure: same inputs, same digest.
func build(in Inputs) *pannier.Snapshot {
	s := assess(in)
	s.TreeDigest = pannier.TreeDigest(in.Catalog.Skills)
	usable := s.Ranked()
	nameCards(usable)
	s.Digest = digest(s, usable)
	return s
}

// assess judges every skill. What is returned has no digests yet, and the ids of cards are folders.
func assess(in Inputs) *pannier.Snapshot {
	if in.Runtime != "" {
		in.Workspace.Runtime = in.Runtime
	}
	in.Policies = in.Policies.Indexed()
	s := &pannier.Snapshot{Workspace: in.Workspace, Environment: in.Environment, Policies: in.Policies}
	choices, missing := choose(in.Catalog.Skills, in.Workspace)
	s.Problems = slices.Concat(in.Workspace.Problems, in.Catalog.Problems, missing)
	s.Entries = arrange(choices, in.Policies, in.Workspace.Listed)
	judge(s.Entries, &in)
	return s
}

// arrange returns an entry for every skill, ordered by slug and, for one slug, by precedence. Who loses its slug is
// shadowed; who is not selected is unlisted.
func arrange(choices []choice, policies pannier.Policies, listed bool) []pannier.Entry {
	if !slices.IsSortedFunc(choices, bySlug) {
		slices.SortFunc(choices, bySlug)
	}
	entries := make([]pannier.Entry, len(choices))
	winner := 0
	for i, c := range choices {
		e := &entries[i]
		*e = pannier.Entry{Skill: c.skill, ID: c.skill.Folder, Problems: slices.Clip(c.skill.Problems), Reasons: []pannier.Reason{}, Rank: c.rank}
		if entries[winner].Slug != e.Slug {
			winner = i
		}
		switch {
		case winner < i:
			e.State, e.ShadowedBy = pannier.StateShadowed, entries[winner].Path
		case c.rank == unranked:
			e.State = pannier.StateUnlisted
		}
		e.Policy = policies.Layers(c.skill).Effective()
		if !listed {
			e.Rank = i
		}
	}
	return entries
}

func bySlug(a, b choice) int {
	if d := strings.Compare(a.skill.Slug, b.skill.Slug); d != 0 {
		return d
	}
	return precedence(a, b)
}

// precedence orders skills that want the same slug: what config.yaml lists wins over what it does not, what can be read
// over what can not, then the root listed first, the shallower path, the smaller path in bytes.
func precedence(a, b choice) int {
	below, other := a.skill.PathBelowRoot, b.skill.PathBelowRoot
	return cmp.Or(
		compareBool(a.rank == unranked, b.rank == unranked),
		compareBool(a.skill.Broken, b.skill.Broken),
		cmp.Compare(a.skill.RootIndex, b.skill.RootIndex),
		cmp.Compare(strings.Count(below, "/"), strings.Count(other, "/")),
		cmp.Compare(below, other),
	)
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

// nameCards gives the usable skills their ids on the agent card: the folder, because that is what the platform and its
// canvas know skills by, and for the later of two with one folder name the slug.
func nameCards(usable []*pannier.Entry) {
	if !slices.ContainsFunc(usable, func(e *pannier.Entry) bool { return e.Folder != e.Slug }) {
		return // slugs do not repeat, so folders do not either
	}
	taken := make(map[string]bool, len(usable))
	for _, e := range usable {
		e.ID = freeID(e, taken)
		taken[e.ID] = true
	}
}

// freeID returns the first id for a skill that is not taken. A folder may be called in ways that no card can show.
func freeID(e *pannier.Entry, taken map[string]bool) string {
	id := strings.TrimSpace(strings.ToValidUTF8(e.Folder, "\uFFFD"))
	if id == "" || taken[id] {
		id = e.Slug
	}
	for n := 2; taken[id]; n++ { // an earlier folder has the name of this slug
		id = e.Slug + "-" + strconv.Itoa(n)
	}
	return id
}
