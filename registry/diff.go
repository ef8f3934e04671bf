package registry

import (
	"cmp"
	"slices"

	"pannier"
)

// Diff returns how the catalog changed from one snapshot to another; before may be nil.
func Diff(before, after *pannier.Snapshot, rules pannier.DiscoveryRules) pannier.CatalogUpdated {
	d := pannier.CatalogUpdated{
		Count: len(after.Entries), Digest: after.Digest, DigestForm: digestForm,
		Roots: []string{}, Added: []string{}, Changed: []string{}, Removed: []string{},
	}
	for _, root := range rules.Roots {
		d.Roots = append(d.Roots, root.Name)
	}
	d.Collisions = collisions(after)
	if before == nil {
		before = &pannier.Snapshot{}
	}
	last := ""
	for old, now := range Changes(before, after) {
		slug := cmp.Or(now, old).Slug
		if slug == last {
			continue
		}
		last = slug
		was, had := before.Lookup(slug)
		is, has := after.Lookup(slug)
		switch {
		case !had:
			d.Added = append(d.Added, slug)
		case !has:
			d.Removed = append(d.Removed, slug)
		case differs(was, is):
			d.Changed = append(d.Changed, slug)
		}
	}
	return d
}

// differs reports whether an entry shows anything else than it did. Sum covers what the skill itself says.
func differs(a, b *pannier.Entry) bool {
	return a.Sum != b.Sum || a.State != b.State || a.ID != b.ID || a.Policy != b.Policy || a.FoundDigest != b.FoundDigest || !slices.Equal(a.Reasons, b.Reasons) ||
		!slices.Equal(a.Problems[len(a.Skill.Problems):], b.Problems[len(b.Skill.Problems):])
}

func collisions(s *pannier.Snapshot) []pannier.Collision {
	var list []pannier.Collision
	for _, e := range s.Entries {
		if e.State != pannier.StateShadowed {
			continue
		}
		c := pannier.Collision{Slug: e.Slug, Winner: e.ShadowedBy, Loser: e.Path}
		if winner, ok := s.LookupPath(e.Slug, e.ShadowedBy); ok {
			_, c.Rule = decidingRule(choice{skill: winner.Skill, rank: winner.Rank}, choice{skill: e.Skill, rank: e.Rank})
		}
		list = append(list, c)
	}
	return list
}
