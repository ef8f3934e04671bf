package registry

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pannier"
)

// build makes a snapshot of its inputs, all but version and time. It is pure: same inputs, same digest.
func build(in Inputs) *pannier.Snapshot {
	if in.Runtime != "" {
		in.Workspace.Runtime = in.Runtime
	}
	s := &pannier.Snapshot{
		Workspace: in.Workspace, EnvironmentSource: in.Environment.Source,
		TreeDigest: pannier.TreeDigest(in.Catalog.Skills),
		Problems:   slices.Concat(in.Workspace.Problems, in.Catalog.Problems),
	}
	sel := selectSkills(in.Catalog.Skills, in.Workspace)
	s.Problems = append(s.Problems, sel.problems...)
	s.Entries = arrange(in.Catalog.Skills, sel)
	for i := range s.Entries {
		judge(&s.Entries[i], in)
	}
	nameCards(s)
	s.Digest = digest(s)
	return s
}

// arrange returns an entry for every skill, ordered by slug and, for one slug, by precedence. Who loses its slug is
// shadowed; who is not selected is unlisted.
func arrange(skills []*pannier.Skill, sel selection) []pannier.Entry {
	entries := make([]pannier.Entry, len(skills))
	for i, skill := range skills {
		entries[i] = pannier.Entry{Skill: skill, ID: skill.Folder, Problems: skill.Problems, Reasons: []pannier.Reason{}, Rank: sel.rank(skill)}
	}
	order := func(a, b pannier.Entry) int {
		return cmp.Or(cmp.Compare(a.Slug, b.Slug), precedence(a, b))
	}
	if !slices.IsSortedFunc(entries, order) {
		slices.SortFunc(entries, order)
	}
	for i := range entries {
		e := &entries[i]
		switch {
		case i > 0 && entries[i-1].Slug == e.Slug:
			e.State, e.ShadowedBy = pannier.StateShadowed, winner(entries, i).Path
		case e.Rank == unranked:
			e.State = pannier.StateUnlisted
		}
		if !sel.listed {
			e.Rank = i
		}
	}
	return entries
}

// precedence orders skills that want the same slug: what config.yaml lists wins over what it does not, what can be read
// over what can not, then the root listed first, the shallower path, the smaller path in bytes.
func precedence(a, b pannier.Entry) int {
	return cmp.Or(
		compareBool(a.Rank == unranked, b.Rank == unranked),
		compareBool(a.Broken, b.Broken),
		cmp.Compare(a.RootIndex, b.RootIndex),
		cmp.Compare(strings.Count(a.PathBelowRoot, "/"), strings.Count(b.PathBelowRoot, "/")),
		cmp.Compare(a.PathBelowRoot, b.PathBelowRoot),
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

func winner(entries []pannier.Entry, i int) *pannier.Entry {
	for i > 0 && entries[i-1].Slug == entries[i].Slug {
		i--
	}
	return &entries[i]
}

// nameCards gives the usable skills their ids on the agent card: the folder, because that is what the platform and its
// canvas know skills by, and for the later of two with one folder name the slug.
func nameCards(s *pannier.Snapshot) {
	taken := make(map[string]bool, len(s.Entries))
	for _, e := range s.Ranked() {
		for _, id := range []string{e.Folder, e.Slug, e.Path} {
			if !taken[id] {
				e.ID = id
				break
			}
		}
		taken[e.ID] = true
	}
}

// digest covers everything that a snapshot shows.
func digest(s *pannier.Snapshot) pannier.Digest {
	h := sha256.New()
	w := s.Workspace
	fmt.Fprintf(h, "%q %q %q %q %t %t %t %q\n", w.Name, w.Description, w.Version, w.Runtime, w.Streaming, w.PushNotifications, w.LastGood, s.EnvironmentSource)
	for _, p := range s.Problems {
		fmt.Fprintf(h, "%q %q\n", p.String(), p.Hint)
	}
	line := make([]byte, 0, 512)
	for i := range s.Entries {
		e := &s.Entries[i]
		line = append(append(line[:0], e.Sum[:]...), e.State...)
		line = strconv.AppendInt(append(line, ' '), int64(e.Rank), 10)
		line = strconv.AppendQuote(append(line, ' '), e.ID)
		for _, r := range e.Reasons {
			line = fmt.Appendf(line, " %q %q", r.Code, r.Subject)
		}
		for _, p := range e.Problems[len(e.Skill.Problems):] {
			line = fmt.Appendf(line, " %q", p.String())
		}
		h.Write(append(line, '\n'))
	}
	return pannier.Digest(h.Sum(nil))
}
