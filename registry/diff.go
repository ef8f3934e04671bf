package registry

import (
	"slices"

	"pannier"
)

// Diff returns how the catalog changed from one snapshot to another; before may be nil.
func Diff(before, after *pannier.Snapshot, rules pannier.DiscoveryRules) pannier.CatalogUpdated {
	d := pannier.CatalogUpdated{
		Count: len(after.Entries), Digest: after.Digest,
		Roots: []string{}, Added: []string{}, Changed: []string{}, Removed: []string{},
	}
	for _, root := range rules.Roots {
		d.Roots = append(d.Roots, root.Name)
	}
	d.Collisions = collisions(after)
	if before == nil {
		before = &pannier.Snapshot{}
	}
	old, now := owners(before), owners(after)
	for i, j := 0, 0; i < len(old) || j < len(now); {
		switch {
		case j == len(now) || i < len(old) && old[i].Slug < now[j].Slug:
			d.Removed = append(d.Removed, old[i].Slug)
			i++
		case i == len(old) || now[j].Slug < old[i].Slug:
			d.Added = append(d.Added, now[j].Slug)
			j++
		default:
			if differs(old[i], now[j]) {
				d.Changed = append(d.Changed, now[j].Slug)
			}
			i, j = i+1, j+1
		}
	}
	return d
}

// owners returns the entries that own their slugs, by slug.
func owners(s *pannier.Snapshot) []*pannier.Entry {
	var list []*pannier.Entry
	for i := range s.Entries {
		if s.Entries[i].State != pannier.StateShadowed {
			list = append(list, &s.Entries[i])
		}
	}
	return list
}

// differs reports whether an entry shows anything else than it did. Sum covers what the skill itself says.
func differs(a, b *pannier.Entry) bool {
	return a.Sum != b.Sum || a.State != b.State || a.ID != b.ID || a.Policy != b.Policy || a.FoundDigest != b.FoundDigest || !slices.Equal(a.Reasons, b.Reasons) ||
		!slices.Equal(a.Problems[len(a.Skill.Problems):], b.Problems[len(b.Skill.Problems):])
}

func collisions(s *pannier.Snapshot) []pannier.Collision {
	var list []pannier.Collision
	for i := range s.Entries {
		if e := &s.Entries[i]; e.State == pannier.StateShadowed {
			list = append(list, pannier.Collision{Slug: e.Slug, Winner: e.ShadowedBy, Loser: e.Path})
		}
	}
	return list
}
