package sidecar

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"pannier"
)

// plan returns the skills that are due, in the order in which they are gone through: first those in hints, which it counts, then those
// of which nothing is known, then those that have waited longest. It reports whether they end a round through all skills. Skills that
// were removed or are shadowed are dropped.
//
// Once all skills were checked and none was due, only those are checked that changed, that hints name, or that were due since.
func (f *fingerprints) plan() (due []*pannier.Skill, hinted int, all bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	snapshot := f.registry.Current()
	if snapshot == nil {
		return nil, 0, false
	}
	f.syncLocked(snapshot)
	dirs, all := f.hints.drain()
	if all {
		f.round = f.tickets.Load() + 1
	}
	places := f.placesOf(dirs)
	checksAll := all || !f.allChecked
	entries := snapshot.Entries
	if !checksAll {
		entries = f.suspectsLocked(snapshot, places)
	}
	f.suspects = map[string]bool{}
	turn := map[*pannier.Skill]uint64{}
	for _, e := range entries {
		s := e.Skill
		d := f.directories[s.Path]
		switch {
		case e.State == pannier.StateShadowed:
			f.dropPathLocked(s.Path)
			continue
		case s.Deleting: // there are no files to read
			continue
		case slices.ContainsFunc(places, func(p place) bool { return p.isWithin(s) }):
			due = slices.Insert(due, hinted, s)
			hinted++
		case d == nil || d.of != s.Sum:
			due = append(due, s)
		case d.ticket < f.round || d.digest.IsZero(): // what could not be read may be readable again
			all = all || d.ticket < f.round
			due = append(due, s)
			turn[s] = d.ticket
		default:
			continue
		}
		if !checksAll {
			f.suspects[s.Path] = true
		}
	}
	if checksAll {
		f.allChecked = len(due) == hinted
	}
	f.dropRestoredLocked(snapshot)
	slices.SortStableFunc(due[hinted:], func(a, b *pannier.Skill) int { return cmp.Compare(turn[a], turn[b]) })
	return due, hinted, all
}

// suspectsLocked returns the entries that may be due though all skills were checked, by slug.
func (f *fingerprints) suspectsLocked(snapshot *pannier.Snapshot, places []place) []*pannier.Entry {
	for _, p := range places {
		for rel := p.rel; rel != "." && rel != "/"; rel = path.Dir(rel) {
			f.suspects[path.Join(f.rules.Roots[p.root].Name, rel)] = true
		}
	}
	var entries []*pannier.Entry
	for at := range f.suspects {
		if s := f.skills[at]; s != nil {
			if e, found := snapshot.LookupPath(s.Slug, at); found {
				entries = append(entries, e)
			}
		}
	}
	slices.SortFunc(entries, func(a, b *pannier.Entry) int {
		return cmp.Or(strings.Compare(a.Slug, b.Slug), strings.Compare(a.Path, b.Path))
	})
	return entries
}

// place is a path below a root.
type place struct {
	root int
	rel  string
}

// placesOf returns absolute paths as those below the roots that they lie in.
func (f *fingerprints) placesOf(dirs []string) []place {
	var places []place
	for _, dir := range dirs {
		for i, root := range f.rules.Roots {
			if rel, ok := strings.CutPrefix(dir, strings.TrimSuffix(root.Path, "/")+"/"); ok {
				places = append(places, place{i, rel})
			}
		}
	}
	return places
}

// isWithin reports whether the path is the directory of a skill, or lies below it.
func (p place) isWithin(s *pannier.Skill) bool {
	rest, ok := strings.CutPrefix(p.rel, s.PathBelowRoot)
	return ok && p.root == s.RootIndex && (rest == "" || rest[0] == '/')
}
