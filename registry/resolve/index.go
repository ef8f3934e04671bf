package resolve

import (
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"pannier"
	"pannier/registry/rank"
)

// Resolver resolves turns like [Rules.Resolve], to the byte, one after another and for any number of callers at once. It
// keeps what it has found out about the globs, names and words of the newest snapshot that it was asked about, so that a turn looks
// at the few skills that can match in the place of all of them. The zero value uses the default rules.
type Resolver struct {
	Rules  Rules
	newest atomic.Pointer[index]
}

// Resolve resolves a turn about a snapshot.
func (r *Resolver) Resolve(s *pannier.Snapshot, t pannier.Turn) pannier.Resolution {
	return r.Rules.resolve(s, t, r.index(s))
}

// Find returns the skills of a snapshot that have words of a text, the most relevant first. A skill whose slug or name is the whole text
// comes first; those that only have the text as a part of their slug or name come last, with a score of 0, by slug. Shadowed skills
// are not among them.
func (r *Resolver) Find(s *pannier.Snapshot, text string) []pannier.Found {
	x := r.index(s)
	text = strings.TrimSpace(text)
	var found []pannier.Found
	seen := map[*pannier.Skill]bool{}
	add := func(e *pannier.Entry, score float64, matched []string) {
		if !seen[e.Skill] {
			seen[e.Skill] = true
			found = append(found, pannier.Found{Entry: e, Relevance: pannier.Relevance{Score: score, Matched: append([]string{}, matched...)}})
		}
	}
	hits := x.words().Rank(text, nil, 0)
	if e, ok := x.named(text); ok && e.State != pannier.StateShadowed {
		first := rank.Hit{Matched: []string{e.Slug}}
		if i := slices.IndexFunc(hits, func(h rank.Hit) bool { return h.Skill == e.Skill }); i >= 0 {
			first = hits[i]
		}
		add(e, first.Score, first.Matched)
	}
	for _, h := range hits {
		if e, ok := s.LookupPath(h.Skill.Slug, h.Skill.Path); ok {
			add(e, h.Score, h.Matched)
		}
	}
	if part := nameKey(text); part != "" {
		for _, e := range s.Entries {
			if e.State != pannier.StateShadowed && (strings.Contains(e.Slug, part) || strings.Contains(nameKey(e.Name), part)) {
				add(e, 0, []string{part})
			}
		}
	}
	return found
}

// index may be made by several callers at once, of whom one's stays.
func (r *Resolver) index(s *pannier.Snapshot) *index {
	kept := r.newest.Load()
	if kept != nil && kept.snapshot == s {
		return kept
	}
	made := newIndex(s, kept)
	r.newest.Store(made)
	return made
}

// index is what turns about one snapshot ask again and again. Each part is made when it is first asked for.
type index struct {
	snapshot *pannier.Snapshot
	globs    func() *globIndex
	names    func() map[string]*pannier.Entry
	words    func() *rank.Index
	made     atomic.Pointer[rank.Index] // what words returned; before, that of an earlier snapshot
}

// newIndex returns an index that takes over what an earlier one has of the same skills; nil is none.
func newIndex(s *pannier.Snapshot, earlier *index) *index {
	x := &index{snapshot: s}
	x.globs = sync.OnceValue(func() *globIndex { return newGlobIndex(s) })
	x.names = sync.OnceValue(func() map[string]*pannier.Entry {
		names := map[string]*pannier.Entry{}
		for _, e := range s.Entries {
			if e.State == pannier.StateShadowed || pannier.Slugify(e.Name) == e.Slug {
				continue
			}
			key := nameKey(e.Name)
			if _, taken := names[key]; taken {
				names[key] = nil // two skills have it, so it means none of them
			} else {
				names[key] = e
			}
		}
		return names
	})
	if earlier != nil {
		x.made.Store(earlier.made.Load())
	}
	x.words = sync.OnceValue(func() *rank.Index {
		entries := make([]*pannier.Entry, 0, len(s.Entries))
		for _, e := range s.Entries {
			if e.State != pannier.StateShadowed {
				entries = append(entries, e)
			}
		}
		if before := x.made.Load(); before != nil {
			x.made.Store(before.Update(entries))
		} else {
			x.made.Store(rank.New(entries))
		}
		return x.made.Load()
	})
	return x
}

// nameKey is what two writings of a name have in common.
func nameKey(name string) string { return strings.ToLower(strings.Join(strings.Fields(name), " ")) }

// named returns the skill with a slug, "owner/slug", or the name of one skill alone. Case does not matter.
func (x *index) named(name string) (*pannier.Entry, bool) {
	if name == "" {
		return nil, false
	}
	if e, ok := x.snapshot.Lookup(name); ok {
		return e, true
	}
	e := x.names()[nameKey(name)]
	return e, e != nil
}

// globIndex is the globs of what is automatically available in a snapshot, by what a path that they match begins or ends with.
type globIndex struct {
	entries []*pannier.Entry // those that have globs, in the order of the snapshot
	// begin has the globs whose first directory is known, end the others whose last extension is, open the rest.
	begin, end map[string][]owned
	open       []owned
}

// owned is a glob of the nth of the entries.
type owned struct {
	glob
	entry int
}

func newGlobIndex(s *pannier.Snapshot) *globIndex {
	x := &globIndex{begin: map[string][]owned{}, end: map[string][]owned{}}
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

func (x *globIndex) add(g owned) {
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
func (x *globIndex) match(f files) (matched []bool) {
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
