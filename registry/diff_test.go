package registry_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pannier"
	"pannier/registry"
)

func TestDiff(t *testing.T) {
	rules := pannier.DiscoveryRules{Roots: roots}
	changedDescription := func(s *pannier.Skill) { s.Description = "other" }
	needs := func(bins ...string) func(*pannier.Skill) {
		return func(s *pannier.Skill) { s.Requirements.Bins = bins }
	}
	tool := skillAt("skills/a", needs("git", "jq"))
	with := func(bins ...string) registry.Inputs {
		in := of(pannier.Workspace{}, tool)
		in.Environment.Bins = bins
		return in
	}
	lenient := func(bins ...string) registry.Inputs {
		in := with(bins...)
		in.Environment.Lenient = true
		return in
	}
	none := pannier.Workspace{}
	for _, test := range []struct {
		name          string
		before, after registry.Inputs
		want          string // added, changed, removed
	}{
		{"nothing", of(none, skillsAt("skills/a")...), of(none, skillsAt("skills/a")...), "||"},
		{"all three", of(none, skillsAt("skills/a", "skills/b")...), of(none, skillAt("skills/b", changedDescription), skillAt("skills/c")), "c|b|a"},
		{"sorted", of(none), of(none, skillsAt("skills/c", "skills/a", "skills/b")...), "a b c||"},
		{"all gone", of(none, skillsAt("skills/c", "skills/a")...), of(none), "||a c"},
		{"moved", of(none, skillsAt("skills/a")...), of(none, skillsAt("skills/x/a")...), "|a|"},
		{"a stronger one takes the slug", of(none, skillsAt("managed/a")...), of(none, skillsAt("skills/a", "managed/a")...), "|a|"},
		{"a weaker one changes nothing", of(none, skillsAt("skills/a")...), of(none, skillsAt("skills/a", "managed/a")...), "||"},
		{"the winner goes", of(none, skillsAt("skills/a", "managed/a")...), of(none, skillsAt("managed/a")...), "|a|"},
		{"taken off the list", of(listing("a", "b"), skillsAt("skills/a", "skills/b")...), of(listing("b"), skillsAt("skills/a", "skills/b")...), "|a|"},
		{"another binary is missing", with("git"), with("jq"), "|a|"},
		{"another binary is unverified", lenient("git"), lenient("jq"), "|a|"},
		{"a binary that nobody needs", with("git"), with("awk", "git"), "||"},
		{"order of the card", of(listing("a", "b"), skillsAt("skills/a", "skills/b")...), of(listing("b", "a"), skillsAt("skills/a", "skills/b")...), "||"},
	} {
		t.Run(test.name, func(t *testing.T) {
			after := build(t, test.after)
			d := registry.Diff(build(t, test.before), after, rules)
			got := strings.Join(d.Added, " ") + "|" + strings.Join(d.Changed, " ") + "|" + strings.Join(d.Removed, " ")
			if got != test.want {
				t.Errorf("added|changed|removed are %s, want %s", got, test.want)
			}
			if d.Count != len(after.Entries) || d.Digest != after.Digest || strings.Join(d.Roots, " ") != "skills managed /opt/skills" {
				t.Errorf("%+v", d)
			}
		})
	}
}

func TestDiffTellsCollisions(t *testing.T) {
	s := build(t, of(pannier.Workspace{}, skillsAt("skills/a", "managed/a", "skills/x/a", "skills/b")...))
	text, err := json.Marshal(registry.Diff(nil, s, pannier.DiscoveryRules{}))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"count":4,"roots":[],"collisions":[{"slug":"a","winner":"skills/a","loser":"skills/x/a","rule":"depth"},{"slug":"a","winner":"skills/a","loser":"managed/a","rule":"root"}],` +
		`"digest":"` + s.Digest.String() + `","digest_form":2,"added":["a","b"],"changed":[],"removed":[]}`
	if string(text) != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

// TestRuleOfACollision: the first rule that tells two skills apart is the one that decided.
func TestRuleOfACollision(t *testing.T) {
	slug := func(s *pannier.Skill) { s.Slug = "pdf" }
	for want, tt := range map[pannier.CollisionRule]struct {
		winner, loser *pannier.Skill
		list          pannier.Workspace
	}{
		pannier.RuleReadable: {skillAt("managed/pdf"), skillAt("skills/pdf", broken), pannier.Workspace{}},
		pannier.RuleRoot:     {skillAt("skills/x/pdf"), skillAt("managed/pdf"), pannier.Workspace{}},
		pannier.RuleLocked:   {skillAt("skills/x/pdf", locked), skillAt("skills/pdf"), pannier.Workspace{}},
		pannier.RuleListed:   {skillAt("skills/x/pdf"), skillAt("skills/pdf"), listing("x/pdf")},
		pannier.RuleFolder:   {skillAt("skills/x/pdf"), skillAt("skills/a", slug), pannier.Workspace{}},
		pannier.RuleDepth:    {skillAt("skills/pdf"), skillAt("skills/a/pdf"), pannier.Workspace{}},
		pannier.RulePath:     {skillAt("skills/a/pdf"), skillAt("skills/b/pdf"), pannier.Workspace{}},
	} {
		for _, skills := range [][]*pannier.Skill{{tt.winner, tt.loser}, {tt.loser, tt.winner}} {
			got := registry.Diff(nil, build(t, of(tt.list, skills...)), pannier.DiscoveryRules{}).Collisions
			if len(got) != 1 || got[0] != (pannier.Collision{Slug: "pdf", Winner: tt.winner.Path, Loser: tt.loser.Path, Rule: want}) {
				t.Errorf("%s: %+v", want, got)
			}
		}
	}
}
