package registry

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"pannier"
)

// Preflight judges a skill as if it lay already where its path says, in the place of what lies there now, and returns its
// entry with the snapshot that it is from. No other caller sees that snapshot, and it has neither version nor digests. What scans
// have held against the place is left out: it is of other content. The skill counts as scanned: an installation scans it. Where config.yaml has a list, the skill counts as its last
// entry, because an installation adds it.
func (r *Registry) Preflight(skill *pannier.Skill) (*pannier.Entry, *pannier.Snapshot) {
	r.mu.Lock()
	in, last := r.inputs, r.assessment
	r.mu.Unlock()
	in.Catalog.Skills = withSkill(in.Catalog.Skills, skill)
	in.Scans, in.Scanned = withoutScan(in.Scans, skill.Path), withScanned(in.Scanned, skill)
	if in.Workspace.Listed {
		in.Workspace.Skills = append(slices.Clip(in.Workspace.Skills), skill.PathBelowRoot)
	}
	s, _ := assess(in, last)
	// The entry may hold a copy of the skill with a description from its files.
	at := slices.IndexFunc(s.Entries, func(e *pannier.Entry) bool { return samePlace(e.Skill, skill) })
	return s.Entries[at], s
}

// withSkill returns a catalog's skills with another in its order, in the place of the one at its path.
func withSkill(skills []*pannier.Skill, skill *pannier.Skill) []*pannier.Skill {
	kept := slices.DeleteFunc(slices.Clone(skills), func(s *pannier.Skill) bool { return samePlace(s, skill) })
	at, _ := slices.BinarySearchFunc(kept, skill, byPlace)
	return slices.Insert(kept, at, skill)
}

func samePlace(a, b *pannier.Skill) bool {
	return a.RootIndex == b.RootIndex && a.PathBelowRoot == b.PathBelowRoot
}

// byPlace is the order of a catalog.
func byPlace(a, b *pannier.Skill) int {
	return cmp.Or(cmp.Compare(a.RootIndex, b.RootIndex), strings.Compare(a.PathBelowRoot, b.PathBelowRoot))
}

func withoutScan(scans map[string][]string, path string) map[string][]string {
	if _, held := scans[path]; !held {
		return scans
	}
	scans = maps.Clone(scans)
	delete(scans, path)
	return scans
}

// withScanned returns the scanned skills with another, nil where scans are not enforced.
func withScanned(scanned map[string]pannier.Digest, skill *pannier.Skill) map[string]pannier.Digest {
	if scanned == nil {
		return nil
	}
	scanned = maps.Clone(scanned)
	scanned[skill.Path] = skill.Sum
	return scanned
}
