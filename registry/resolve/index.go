package resolve

import (
	"path"
	"strings"
	"sync/atomic"

	"pannier"
)

// Resolver resolves turns like [Rules.Resolve], to the byte, one after another and for any number of callers at once. It
// keeps what it has found out about the globs of the newest snapshot that it was asked about, so that a turn looks at the
// few that can match in the place of all of them. The zero value uses the default rules.
type Resolver struct {
	Rules  Rules
	newest atomic.Pointer[index]
}

// Resolve resolves a turn about a snapshot.
func (r *Resolver) Resolve(s *pannier.Snapshot, t pannier.Turn) pannier.Resolution {
	return r.Rules.resolve(s, t, r.index)
}

// index may be made by several callers at once, of whom one's stays.
func (r *Resolver) index(s *pannier.Snapshot) *index {
	if kept := r.newest.Load(); kept != nil && kept.snapshot == s {
		return kept
	}
	made := newIndex(s)
	r.newest.Store(made)
	return made
}

// index is the globs of what is automatically available in a snapshot, by what a path that they match begins or ends with.
type index struct {
	snapshot *pannier.Snapshot
	entries  []*pannier.Entry // those that have globs, in the order of the snapshot
	// begin has the globs whose first directory is known, end the others whose last extension is, open the rest.
	begin, end map[string][]owned
	open       []owned
}

// owned is a glob of the nth of the entries.
type owned struct {
	glob
	entry int
}

func newIndex(s *pannier.Snapshot) *index {
	x := &index{snapshot: s, begin: map[string][]owned{}, end: map[string][]owned{}}
	for i := range s.Entries {
		if e := s.Entries[i]; len(e.Paths) > 0 && e.Automatic() {
			x.entries = append(x.entries, e)
			for _, text := range e.Paths[:min(len(e.Paths), maxGlobs)] {
				x.add(owned{newGlob(text), len(x.entries) - 1})
			}
		}
	}
	return x
}

func (x *index) add(g owned) {
	directory, _, whole := strings.Cut(g.text[:g.literal], "/")
	extension := path.Ext(g.end)
	switch {
	case !g.valid():
	case whole || g.literal == len(g.text):
		x.begin[directory] = append(x.begin[directory], g)
	case extension != "":
		x.end[extension] = append(x.end[extension], g)
	default:
		x.open = append(x.open, g)
	}
}

// match returns which of the entries have a glob for one of some files.
func (x *index) match(f files) (matched []bool) {
	for _, p := range f.paths {
		directory, _, _ := strings.Cut(p, "/")
		for _, globs := range [][]owned{x.begin[directory], x.end[path.Ext(p)], x.open} {
			for i := range globs {
				g := &globs[i]
				if len(matched) > 0 && matched[g.entry] || !g.match(p) {
					continue
				}
				if matched == nil {
					matched = make([]bool, len(x.entries))
				}
				matched[g.entry] = true
			}
		}
	}
	return matched
}
