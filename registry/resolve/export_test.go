package resolve

import (
	"slices"

	"pannier"
)

// PathsOf returns the files that a turn is about.
var PathsOf = pathsOf

// Match reports whether a glob matches a path as a turn would have it.
func Match(glob, path string) bool { return files{[]string{path}}.match([]string{glob}) }

// MatchIndexed is Match by way of an index.
func MatchIndexed(glob, path string) bool {
	x := newGlobIndex(&pannier.Snapshot{Entries: []*pannier.Entry{{
		Skill: &pannier.Skill{Paths: []string{glob}}, Usable: true, Policy: pannier.EffectivePolicy{AllowImplicit: true},
	}}})
	return slices.Contains(x.match(files{[]string{path}}), true)
}

// Within reports whether a glob is within the bounds.
func Within(glob string) bool {
	return len(glob) <= maxGlobBytes && alternatives(glob) <= maxAlternatives
}

// Covers reports whether one grant allows all that another one does.
func Covers(wide, narrow string) bool { return newGrant(wide).covers(newGrant(narrow)) }
