package registry

import (
	"cmp"
	"slices"
	"strings"

	"pannier"
)

// Transitions returns every change of state between two snapshots, ordered by slug and path. The first snapshot of a
// process has none: what was before it is not known.
func Transitions(before, after *pannier.Snapshot) []pannier.SkillStateChanged {
	if before == nil {
		return nil
	}
	old, now := byPath(before), byPath(after)
	var changes []pannier.SkillStateChanged
	for i, j := 0, 0; i < len(old) || j < len(now); {
		order := 0
		switch {
		case i == len(old):
			order = 1
		case j == len(now):
			order = -1
		default:
			order = comparePlaces(old[i], now[j])
		}
		switch {
		case order < 0:
			changes = append(changes, pannier.SkillStateChanged{Slug: old[i].Slug, SourceKind: old[i].SourceKind, Path: old[i].Path, From: old[i].State, Cause: "it is gone"})
			i++
		case order > 0:
			changes = append(changes, becomes(now[j], ""))
			j++
		default:
			if old[i].State != now[j].State {
				changes = append(changes, becomes(now[j], old[i].State))
			}
			i, j = i+1, j+1
		}
	}
	return changes
}

// byPath returns the entries by slug, those of one slug by path.
func byPath(s *pannier.Snapshot) []*pannier.Entry {
	list := make([]*pannier.Entry, len(s.Entries))
	for i := range s.Entries {
		list[i] = &s.Entries[i]
	}
	if !slices.IsSortedFunc(list, comparePlaces) {
		slices.SortFunc(list, comparePlaces)
	}
	return list
}

func comparePlaces(a, b *pannier.Entry) int {
	return cmp.Or(strings.Compare(a.Slug, b.Slug), strings.Compare(a.Path, b.Path))
}

// becomes tells that an entry has its state now.
func becomes(e *pannier.Entry, from pannier.State) pannier.SkillStateChanged {
	return pannier.SkillStateChanged{Slug: e.Slug, SourceKind: e.SourceKind, Path: e.Path, From: from, To: e.State, Cause: cause(e)}
}

// cause says in a few words why an entry has its state.
func cause(e *pannier.Entry) string {
	switch {
	case e.State == pannier.StateShadowed:
		return "its slug belongs to " + e.ShadowedBy
	case e.State == pannier.StateUnlisted:
		return "config.yaml does not list it"
	case len(e.Reasons) > 0:
		return e.Reasons[0].Code + ": " + e.Reasons[0].Subject
	}
	return "nothing stands against it"
}
