package registry

import (
	"cmp"
	"slices"
	"strings"

	"pannier"
)

// Preflight judges a skill as if it lay already where its path says, in the place of what lies there now, and returns
// its entry with the snapshot that it is from. No other caller sees that snapshot, and it has neither version nor
// digests. What is known of the security of the place is left out: it is of other content, and an installation scans
// the skill itself. Where config.yaml has a list, the skill counts as its last entry, because an installation adds it.
func (r *Registry) Preflight(skill *pannier.Skill) (*pannier.Entry, *pannier.Snapshot) {
	r.mu.Lock()
	in, last := r.inputs, r.assessment
	r.mu.Unlock()
	skills := slices.DeleteFunc(slices.Clone(in.Catalog.Skills), func(s *pannier.Skill) bool { return samePlace(s, skill) })
	at, _ := slices.BinarySearchFunc(skills, skill, func(a, b *pannier.Skill) int {
		return cmp.Or(cmp.Compare(a.RootIndex, b.RootIndex), strings.Compare(a.PathBelowRoot, b.PathBelowRoot))
	})
	in.Catalog.Skills = slices.Insert(skills, at, skill)
	in.Judges = slices.Clone(in.Judges)
	for i, newest := range in.Judges {
		in.Judges[i] = func() Judge { return newest().withoutScan(skill) }
	}
	if in.Workspace.Listed {
		in.Workspace.Skills = append(slices.Clip(in.Workspace.Skills), skill.PathBelowRoot)
	}
	s, _ := assess(in, last)
	// The entry may hold a copy of the skill with a description from its files.
	at = slices.IndexFunc(s.Entries, func(e *pannier.Entry) bool { return samePlace(e.Skill, skill) })
	return s.Entries[at], s
}

func samePlace(a, b *pannier.Skill) bool {
	return a.RootIndex == b.RootIndex && a.PathBelowRoot == b.PathBelowRoot
}

// withoutScan returns a judge that says nothing of the security of a skill that no other assessment has.
func (j Judge) withoutScan(skill *pannier.Skill) Judge {
	of := j.Of
	if of == nil {
		return j
	}
	j.Of = func(s *pannier.Skill) Judgement {
		known := of(s)
		if s == skill {
			known.Reasons = slices.DeleteFunc(slices.Clone(known.Reasons), func(r pannier.Reason) bool {
				return r.Code == pannier.ReasonSecurityPending || r.Code == pannier.ReasonSecurityBlocked
			})
		}
		return known
	}
	return j
}
