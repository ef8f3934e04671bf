package registry

import (
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
	var moved []pannier.SkillStateChanged
	for old, now := range Changes(before, after) {
		switch {
		case now == nil:
			moved = append(moved, pannier.SkillStateChanged{Slug: old.Slug, SourceKind: old.SourceKind, Path: old.Path, From: old.State, Cause: "it is gone"})
		case old == nil:
			moved = append(moved, becomes(now, ""))
		case old.State != now.State:
			moved = append(moved, becomes(now, old.State))
		}
	}
	return moved
}

// Changes yields what became of each skill, by slug and path, as entries before and after: nil where it was or is not.
// Entries that the snapshots share are left out. before may be nil.
func Changes(before, after *pannier.Snapshot) iter.Seq2[*pannier.Entry, *pannier.Entry] {
	return func(yield func(old, now *pannier.Entry) bool) {
		is := after.Entries
		var was []*pannier.Entry
		if before != nil {
			was = before.Entries
		}
		for len(was) > 0 || len(is) > 0 {
			if len(was) > 0 && len(is) > 0 && was[0] == is[0] {
				was, is = was[1:], is[1:]
				continue
			}
			slug := "" // the one that comes first
			if len(is) == 0 || len(was) > 0 && was[0].Slug < is[0].Slug {
				slug = was[0].Slug
			} else {
				slug = is[0].Slug
			}
			var old, now []*pannier.Entry
			old, was = cutSlug(was, slug)
			now, is = cutSlug(is, slug)
			if !yieldPairs(old, now, yield) {
				return
			}
		}
	}
}

// cutSlug cuts the entries of a slug, ordered by path, from the beginning of a list.
func cutSlug(list []*pannier.Entry, slug string) (cut, rest []*pannier.Entry) {
	n := 0
	for n < len(list) && list[n].Slug == slug {
		n++
	}
	if cut = list[:n]; n > 1 {
		cut = slices.SortedFunc(slices.Values(cut), func(a, b *pannier.Entry) int { return strings.Compare(a.Path, b.Path) })
	}
	return cut, list[n:]
}

// yieldPairs pairs the entries of one slug by path.
func yieldPairs(was, is []*pannier.Entry, yield func(old, now *pannier.Entry) bool) bool {
	for len(was) > 0 || len(is) > 0 {
		var old, now *pannier.Entry
		if len(is) == 0 || len(was) > 0 && was[0].Path <= is[0].Path {
			old = was[0]
		}
		if len(was) == 0 || len(is) > 0 && is[0].Path <= was[0].Path {
			now = is[0]
		}
		if old != nil {
			was = was[1:]
		}
		if now != nil {
			is = is[1:]
		}
		if old != now && !yield(old, now) {
			return false
		}
	}
	return true
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
