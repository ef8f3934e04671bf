package registry_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pannier"
	"pannier/registry"
)

// many returns skills in the loader's order, and a list that names them backwards. In groups, the order by slug is far
// from that by path; flat, it is the same.
func many(n int, flat bool) (skills []*pannier.Skill, names []string) {
	for i := range n {
		where := fmt.Sprintf("skills/group-%02d/skill-%05d", i/100, (i*7919)%n)
		if flat {
			where = fmt.Sprintf("skills/skill-%05d", i)
		}
		skills = append(skills, skillAt(where, func(s *pannier.Skill) {
			s.Requirements = pannier.Requirements{Bins: []string{"git"}, OS: []string{"darwin", "linux"}}
			s.Tags = []string{"a", "b"}
		}))
		names = append(names, fmt.Sprintf("skill-%05d", n-1-i))
	}
	slices.SortFunc(skills, func(a, b *pannier.Skill) int { return strings.Compare(a.Path, b.Path) })
	return skills, names
}

var has = pannier.Environment{OS: "linux", Bins: []string{"awk", "git", "sh"}}

// benchmark runs f for the shapes that a workspace of 10,000 skills can have.
func benchmark(b *testing.B, f func(b *testing.B, skills []*pannier.Skill, w pannier.Workspace)) {
	grouped, names := many(10_000, false)
	flat, _ := many(10_000, true)
	for _, bench := range []struct {
		name      string
		skills    []*pannier.Skill
		workspace pannier.Workspace
	}{
		{"unlisted", grouped, pannier.Workspace{}},
		{"listed", grouped, listing(names...)},
		{"flat", flat, pannier.Workspace{}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			f(b, bench.skills, bench.workspace)
		})
	}
}

func BenchmarkBuild10k(b *testing.B) {
	benchmark(b, func(b *testing.B, skills []*pannier.Skill, w pannier.Workspace) {
		for b.Loop() {
			s := build(b, registry.Inputs{Catalog: pannier.Catalog{Skills: skills}, Workspace: w, Environment: has})
			if !s.Entries[9999].Usable {
				b.Fatal(s.Entries[9999].State)
			}
		}
	})
}

func BenchmarkUpdateOneChanged10k(b *testing.B) {
	benchmark(b, func(b *testing.B, skills []*pannier.Skill, w pannier.Workspace) {
		reg := registry.New(registry.Options{Inputs: registry.Inputs{Environment: has, Workspace: w}})
		changed := *skills[5000]
		seq := uint64(0)
		for b.Loop() {
			seq++
			next := slices.Clone(skills)
			one := changed
			one.Sum[0], one.Sum[1], one.Sum[2] = byte(seq), byte(seq>>8), byte(seq>>16)
			next[5000] = &one
			before := reg.Current()
			if reg.Update(put(seq, next...)) == before {
				b.Fatal("nothing changed")
			}
		}
	})
}
