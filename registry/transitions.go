package registry

import (
	"cmp"
	"iter"
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
	var changes []pannier.SkillStateChanged
	for old, now := range pairs(before, after) {
		switch {
		case now == nil:
			changes = append(changes, pannier.SkillStateChanged{Slug: old.Slug, SourceKind: old.SourceKind, Path: old.Path, From: old.State, Cause: "it is gone"})
		case old == nil:
			changes = append(changes, becomes(now, ""))
		case old.State != now.State:
			changes = append(changes, becomes(now, old.State))
		}
	}
	return changes
}

// pairs yields what became of each skill, by slug and path: the entry as it was and as it is, nil where it was or is not.
func pairs(before, after *pannier.Snapshot) iter.Seq2[*pannier.Entry, *pannier.Entry] {
	return func(yield func(old, now *pannier.Entry) bool) {
		was, is := byPath(before), byPath(after)
		for len(was) > 0 || len(is) > 0 {
			var old, now *pannier.Entry
			order := comparePlaces(was, is)
			if order <= 0 {
				old, was = was[0], was[1:]
			}
			if order >= 0 {
				now, is = is[0], is[1:]
			}
			if !yield(old, now) {
				return
			}
		}
	}
}

// comparePlaces compares the first of two lists; an empty one comes last.
func comparePlaces(a, b []*pannier.Entry) int {
	switch {
	case len(a) == 0:
		return 1
	case len(b) == 0:
		return -1
	}
	return comparePlace(a[0], b[0])
}

// byPath returns the entries by slug, those of one slug by path.
func byPath(s *pannier.Snapshot) []*pannier.Entry {
	list := make([]*pannier.Entry, len(s.Entries))
	for i := range s.Entries {
		list[i] = &s.Entries[i]
	}
	if !slices.IsSortedFunc(list, comparePlace) {
		slices.SortFunc(list, comparePlace)
	}
	return list
}

func comparePlace(a, b *pannier.Entry) int {
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
