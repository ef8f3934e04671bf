package sidecar

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"pannier"
)

// fingerprintPlan lists the skills whose fingerprints are due.
type fingerprintPlan struct {
	hinted []*pannier.Skill // named by hints
	others []*pannier.Skill // first those without a fingerprint, then those that have waited longest
	// endsRound says that all skills were computed in the current round once these are.
	endsRound bool
}

// plan returns the skills that are due, and drops what is known of skills that were removed or are shadowed.
//
// Once all skills were checked and none was due, only those are checked that changed, that hints name, or that were due since.
func (f *fingerprints) plan() (due fingerprintPlan) {
	f.mu.Lock()
	defer f.mu.Unlock()
	snapshot := f.registry.Current()
	if snapshot == nil {
		return due
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
	tickets := map[*pannier.Skill]uint64{}
	due.endsRound = all
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
			due.hinted = append(due.hinted, s)
		case d == nil || d.of != s.Sum:
			due.others = append(due.others, s)
		case d.ticket < f.round || d.digest.IsZero(): // what could not be read may be readable again
			due.endsRound = due.endsRound || d.ticket < f.round
			due.others = append(due.others, s)
			tickets[s] = d.ticket
		default:
			continue
		}
		if !checksAll {
			f.suspects[s.Path] = true
		}
	}
	if checksAll {
		f.allChecked = len(due.others) == 0
	}
	f.dropRestoredLocked(snapshot)
	slices.SortStableFunc(due.others, func(a, b *pannier.Skill) int { return cmp.Compare(tickets[a], tickets[b]) })
	return due
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
