package registry

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"pannier"
)

// assessment is what the entries of a snapshot follow from, so that the next snapshot shares those of which nothing
// changed.
type assessment struct {
	in     Inputs
	judges []Judge     // of in
	list   []*assessed // ordered as the entries are
}

// assessed is one skill with its grounds. Assessments share it; it is never changed once another one can see it.
type assessed struct {
	grounds
	// alone is the entry as other skills leave it: its ID is the folder, and conflicts do not count.
	alone *pannier.Entry
	// entry is the one in the snapshot. It is alone where other skills change nothing about it.
	entry    *pannier.Entry
	blockers []string       // the slugs that it conflicts with
	digest   pannier.Digest // of entry
}

// grounds are what an entry depends on, beside the inputs that count for all skills.
type grounds struct {
	skill      *pannier.Skill // in the catalog
	rank       int
	shadowedBy string // the path of the skill that has the slug
	overListed bool   // it is listed, and the skill that has the slug is not
	policy     pannier.EffectivePolicy
	Judgement  // of all judges
}

func (g *grounds) equal(o *grounds) bool {
	return g.skill == o.skill && g.rank == o.rank && g.shadowedBy == o.shadowedBy && g.overListed == o.overListed && g.policy == o.policy &&
		foundDigest(g.Found) == foundDigest(o.Found) && slices.Equal(g.Reasons, o.Reasons)
}

func foundDigest(c *pannier.Contents) pannier.Digest {
	if c == nil {
		return pannier.Digest{}
	}
	return c.Digest
}

// covers reports whether inputs make the same snapshot as those of the assessment. a may be nil.
func (a *assessment) covers(in *Inputs) bool {
	if a == nil {
		return false
	}
	k := newKnown(in, newestJudges(in), a)
	return k.same && k.policies && k.judges && k.config && in.Environment.Source == a.in.Environment.Source && in.Environment.Arch == a.in.Environment.Arch &&
		slices.Equal(in.Catalog.Skills, a.in.Catalog.Skills) && slices.Equal(in.Catalog.Problems, a.in.Catalog.Problems) &&
		slices.EqualFunc(in.Catalog.Locks, a.in.Catalog.Locks, slices.Equal) && reflect.DeepEqual(in.Workspace, a.in.Workspace)
}

// assessSkills assesses the choices, which are ordered by slug and precedence.
func (a *assessment) assessSkills(choices []choice, last *assessment) {
	a.list = make([]*assessed, len(choices))
	known := newKnown(&a.in, a.judges, last)
	j := assessor{in: &a.in, texts: map[string]string{}}
	winner := 0
	for i, c := range choices {
		if choices[winner].skill.Slug != c.skill.Slug {
			winner = i
		}
		g := grounds{skill: c.skill, rank: c.rank}
		if winner < i {
			g.shadowedBy = choices[winner].skill.Path
			g.overListed = c.rank != unranked && choices[winner].rank == unranked
		}
		old := known.find(c.skill)
		if old != nil && known.policies {
			g.policy = old.policy
		} else {
			g.policy = a.in.Policies.Layers(c.skill).Effective()
		}
		if old != nil && known.judges {
			g.Judgement = old.Judgement
		} else {
			g.Judgement = askJudges(a.judges, c.skill)
		}
		if old != nil && known.same && (known.config || len(c.skill.Requirements.Config) == 0) && g.equal(&old.grounds) {
			a.list[i] = old
		} else {
			a.list[i] = &assessed{grounds: g, alone: j.entry(&g)}
		}
	}
}

// newestJudges returns what each judge is now.
func newestJudges(in *Inputs) []Judge {
	judges := make([]Judge, len(in.Judges))
	for i, newest := range in.Judges {
		judges[i] = newest()
	}
	return judges
}

// askJudges returns what all judges together know of a skill.
func askJudges(judges []Judge, s *pannier.Skill) (all Judgement) {
	for _, j := range judges {
		if j.Of == nil {
			continue
		}
		one := j.Of(s)
		all.Reasons = append(all.Reasons, one.Reasons...)
		all.Found = cmp.Or(one.Found, all.Found)
	}
	return all
}

// applyConflicts has conflicts and the ids of cards decide what they do, and returns the entries.
func (a *assessment) applyConflicts() []*pannier.Entry {
	blockers := conflicts(a.list)
	usable := make([]*pannier.Entry, 0, len(a.list))
	for i := range a.list {
		if e := a.list[i].alone; e.Usable && blockers[e] == nil {
			usable = append(usable, e)
		}
	}
	if a.in.Workspace.Listed {
		slices.SortStableFunc(usable, func(a, b *pannier.Entry) int { return cmp.Compare(a.Rank, b.Rank) })
	}
	ids := cardIDs(usable)
	entries := make([]*pannier.Entry, len(a.list))
	for i, j := range a.list {
		a.list[i] = j.withConflicts(cmp.Or(ids[j.alone], j.alone.ID), blockers[j.alone])
		entries[i] = a.list[i].entry
	}
	return entries
}

// withConflicts returns the skill with an id and the slugs that it conflicts with.
func (j *assessed) withConflicts(id string, blockers []string) *assessed {
	if j.entry != nil && j.entry.ID == id && slices.Equal(j.blockers, blockers) {
		return j
	}
	changed := &assessed{grounds: j.grounds, alone: j.alone, entry: j.alone, blockers: blockers}
	if j.alone.ID != id || len(blockers) > 0 {
		e := *j.alone
		e.ID, e.Reasons = id, slices.Clone(e.Reasons)
		for _, slug := range blockers {
			against(&e, pannier.ReasonConflict, slug,
				fmt.Sprintf("it must not be used together with %s, which comes first; disable one of the two, or remove it from `conflicts`", slug))
		}
		sortReasons(e.Reasons)
		if e.Usable && len(blockers) > 0 {
			e.State, e.Usable = pannier.StateIneligible, false
		}
		changed.entry = &e
	}
	changed.digest = digestOf(changed.entry)
	return changed
}

// known finds skills in the assessment before, and says what still holds of it.
type known struct {
	list     []*assessed
	next     int  // behind the one that was found last
	policies bool // are the same for all skills
	judges   bool // say the same of all skills
	same     bool // all other inputs that count for every skill
	config   bool // the items of the configuration are the same
}

func newKnown(in *Inputs, judges []Judge, last *assessment) *known {
	if last == nil {
		return &known{}
	}
	before := &last.in
	return &known{
		list:     last.list,
		policies: samePolicies(in, before),
		judges:   slices.EqualFunc(judges, last.judges, func(a, b Judge) bool { return a.Version == b.Version }),
		same: in.Workspace.Runtime == before.Workspace.Runtime && in.MinimumTrust == before.MinimumTrust &&
			in.Environment.Lenient == before.Environment.Lenient && in.Environment.SameFacts(before.Environment),
		config: slices.Equal(in.Config, before.Config),
	}
}

// find returns what is known of a skill, nil where that is nothing. Skills are asked for ordered by slug.
func (k *known) find(s *pannier.Skill) *assessed {
	if k.next < len(k.list) && k.list[k.next].skill == s {
		k.next++
		return k.list[k.next-1]
	}
	at, _ := slices.BinarySearchFunc(k.list, s.Slug, func(j *assessed, slug string) int { return cmp.Compare(j.skill.Slug, slug) })
	k.next = at
	for ; at < len(k.list) && k.list[at].skill.Slug == s.Slug; at++ {
		if k.list[at].skill == s {
			k.next = at + 1
			return k.list[at]
		}
	}
	return nil
}

// sameMap reports whether two inputs are one map. Maps among the inputs are replaced and never changed.
func sameMap[K comparable, V any](a, b map[K]V) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

// samePolicies compares the workspace layer entry by entry only where it is another map.
func samePolicies(a, b *Inputs) bool {
	return sameMap(a.Policies.Gateway, b.Policies.Gateway) && (sameMap(a.Policies.Workspace, b.Policies.Workspace) ||
		maps.EqualFunc(a.Policies.Workspace, b.Policies.Workspace, pannier.PolicyEntry.Equal))
}
