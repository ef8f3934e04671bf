package registry_test

import (
	"fmt"
	"strings"
	"testing"

	"pannier"
	"pannier/registry"
)

func TestWarnings(t *testing.T) {
	with := func(severity pannier.Severity, codes ...string) func(*pannier.Skill) {
		return func(s *pannier.Skill) {
			for _, code := range codes {
				s.Problems = append(s.Problems, pannier.Problem{Code: code, Severity: severity, Path: s.FilePath(), Line: 2, Message: "it is wrong"})
			}
		}
	}
	named := func(name string) func(*pannier.Skill) { return func(s *pannier.Skill) { s.Name = name } }
	moved := func(s *pannier.Skill) { s.Problems[0].Line = 9 }
	first := []*pannier.Skill{skillAt("skills/a", with(pannier.SeverityError, "e")), skillAt("skills/b", with(pannier.SeverityWarning, "w")), skillAt("skills/c")}
	for _, tt := range []struct {
		name          string
		before, after []*pannier.Skill
		want          string
	}{
		{"at a start only errors", nil, first, "a e skills/a/SKILL.md:2: it is wrong"},
		{
			"at a start names that are shared too", nil,
			[]*pannier.Skill{skillAt("skills/b", named("Same")), skillAt("skills/c", named("Own")), skillAt("skills/d", named("Same")), skillAt("skills/e", named("Same"), with(pannier.SeverityWarning, "w"))},
			` skill.name.shared skills/b, skills/d, skills/e are all called "Same"; each is reached by its own slug`,
		},
		{"nothing new", first, first, ""},
		{"another line is the same problem", first, []*pannier.Skill{skillAt("skills/a", with(pannier.SeverityError, "e"), moved)}, ""},
		{"a new one, and an info that nobody is warned of", first, []*pannier.Skill{skillAt("skills/c", with(pannier.SeverityWarning, "new"), with(pannier.SeverityInfo, "i"))}, "c new skills/c/SKILL.md:2: it is wrong"},
		{
			"two with one name", first,
			[]*pannier.Skill{skillAt("skills/c", named("Same")), skillAt("skills/d", named("Same"))},
			` skill.name.shared skills/c, skills/d are all called "Same"; each is reached by its own slug`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var before *pannier.Snapshot
			if tt.before != nil {
				before = build(t, of(pannier.Workspace{}, tt.before...))
			}
			var got []string
			for _, w := range registry.Warnings(before, build(t, of(pannier.Workspace{}, tt.after...))) {
				got = append(got, fmt.Sprintf("%s %s %s", w.Name, w.Kind, w.Detail))
			}
			if strings.Join(got, "\n") != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	var many []string
	for i := range 150 {
		many = append(many, fmt.Sprint("c", i))
	}
	w := registry.Warnings(nil, build(t, of(pannier.Workspace{}, skillAt("skills/a", with(pannier.SeverityError, many...)))))
	if len(w) != 101 || !strings.Contains(w[100].Detail, "50 more") {
		t.Errorf("%d warnings, the last %+v", len(w), w[len(w)-1])
	}
	var pairs []*pannier.Skill
	for i := range 120 {
		pairs = append(pairs, skillAt(fmt.Sprint("skills/a", i), named(fmt.Sprint("n", i))), skillAt(fmt.Sprint("skills/b", i), named(fmt.Sprint("n", i))))
	}
	if w := registry.Warnings(nil, build(t, of(pannier.Workspace{}, pairs...))); len(w) != 101 || w[0].Kind != "skill.name.shared" || !strings.Contains(w[100].Detail, "20 more") {
		t.Errorf("%d warnings, the last %+v", len(w), w[len(w)-1])
	}
}
