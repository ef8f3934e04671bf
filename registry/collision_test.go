package registry_test

import (
	"fmt"
	"testing"

	"pannier"
	"pannier/registry"
)

func TestCollisions(t *testing.T) {
	as := func(slug string, change ...func(*pannier.Skill)) func(*pannier.Skill) {
		return func(s *pannier.Skill) {
			s.Slug = slug
			for _, c := range change {
				c(s)
			}
		}
	}
	needy := func(s *pannier.Skill) { s.Requirements.Bins = []string{"nowhere"} }
	for _, test := range []struct {
		name   string
		skills []*pannier.Skill
		list   pannier.Workspace
		want   string
	}{
		{
			"the root listed first", skillsAt("managed/pdf", "skills/deep/down/pdf"),
			pannier.Workspace{},
			"pdf skills/deep/down/pdf eligible\npdf managed/pdf shadowed by skills/deep/down/pdf",
		},
		{
			"the shallower path", skillsAt("skills/a/pdf", "skills/pdf"),
			pannier.Workspace{},
			"pdf skills/pdf eligible\npdf skills/a/pdf shadowed by skills/pdf",
		},
		{
			"the smaller path in bytes", skillsAt("skills/zeta/pdf", "skills/acme/pdf"),
			pannier.Workspace{},
			"pdf skills/acme/pdf eligible\npdf skills/zeta/pdf shadowed by skills/acme/pdf",
		},
		{
			"a folder and the slug of another",
			[]*pannier.Skill{skillAt("skills/a", as("b")), skillAt("skills/b")},
			pannier.Workspace{},
			"b skills/a eligible\nb skills/b shadowed by skills/a",
		},
		{
			"one that can not be read never wins",
			[]*pannier.Skill{skillAt("skills/pdf", broken), skillAt("/opt/skills/x/pdf")},
			pannier.Workspace{},
			"pdf /opt/skills/x/pdf eligible\npdf skills/pdf shadowed by /opt/skills/x/pdf",
		},
		{
			"of two that can not be read the usual one",
			[]*pannier.Skill{skillAt("managed/pdf", broken), skillAt("skills/pdf", broken)},
			pannier.Workspace{},
			"pdf skills/pdf ineligible\npdf managed/pdf shadowed by skills/pdf",
		},
		{
			"an ineligible one wins",
			[]*pannier.Skill{skillAt("skills/pdf", needy), skillAt("managed/pdf")},
			pannier.Workspace{},
			"pdf skills/pdf ineligible\npdf managed/pdf shadowed by skills/pdf",
		},
		{
			"what is listed beats what is not", skillsAt("skills/pdf", "managed/x/pdf"), listing("x/pdf"),
			"pdf managed/x/pdf eligible\npdf skills/pdf shadowed by managed/x/pdf",
		},
		{
			"even where it can not be read",
			[]*pannier.Skill{skillAt("skills/pdf"), skillAt("managed/x/pdf", broken)},
			listing("x/pdf"),
			"pdf managed/x/pdf ineligible\npdf skills/pdf shadowed by managed/x/pdf",
		},
		{
			"both listed: not the list's order", skillsAt("skills/pdf", "managed/x/pdf"), listing("x/pdf", "pdf"),
			"pdf skills/pdf eligible\npdf managed/x/pdf shadowed by skills/pdf",
		},
		{
			"none listed", skillsAt("skills/pdf", "managed/pdf"), listing(),
			"pdf skills/pdf unlisted\npdf managed/pdf shadowed by skills/pdf",
		},
		{
			"three, each loses to the winner", skillsAt("/opt/skills/pdf", "managed/pdf", "skills/a/pdf"),
			pannier.Workspace{},
			"pdf skills/a/pdf eligible\npdf managed/pdf shadowed by skills/a/pdf\npdf /opt/skills/pdf shadowed by skills/a/pdf",
		},
		{
			"neighbours are left alone", skillsAt("skills/a", "skills/x/b", "skills/b", "skills/c"),
			pannier.Workspace{},
			"a skills/a eligible\nb skills/b eligible\nb skills/x/b shadowed by skills/b\nc skills/c eligible",
		},
		{
			"one name is no collision", []*pannier.Skill{
				skillAt("skills/a", func(s *pannier.Skill) { s.Name = "Same" }), skillAt("skills/b", func(s *pannier.Skill) { s.Name = "Same" }),
			}, pannier.Workspace{}, "a skills/a eligible\nb skills/b eligible",
		},
		{
			"owners do not part them", []*pannier.Skill{
				skillAt("skills/a/x", func(s *pannier.Skill) { s.Owner = "a" }), skillAt("skills/b/x", func(s *pannier.Skill) { s.Owner = "b" }),
			}, pannier.Workspace{}, "x skills/a/x eligible\nx skills/b/x shadowed by skills/a/x",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := build(t, of(test.list, test.skills...))
			if got := states(s); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestLastGoodStillWins(t *testing.T) {
	held := skillAt("skills/pdf", func(s *pannier.Skill) {
		s.LastGood = true
		s.Problems = []pannier.Problem{{Code: "skill.frontmatter.syntax", Severity: pannier.SeverityError}}
	})
	s := build(t, of(pannier.Workspace{}, held, skillAt("managed/pdf")))
	if got := ranked(s); got != "skills/pdf" {
		t.Errorf("usable: %s", got)
	}
	if got := s.Held().LastGood; len(got) != 1 || got[0] != "pdf" {
		t.Errorf("held: %v", got)
	}
}

// BenchmarkOneSlug10k is what a hostile workspace can do at most: everybody wants one slug.
func BenchmarkOneSlug10k(b *testing.B) {
	var skills []*pannier.Skill
	for i := range 10_000 {
		skills = append(skills, skillAt(fmt.Sprintf("skills/%05d/pdf", i)))
	}
	for b.Loop() {
		if s := build(b, registry.Inputs{Catalog: pannier.Catalog{Skills: skills}}); s.Entries[9999].ShadowedBy != s.Entries[0].Path {
			b.Fatal(s.Entries[9999].ShadowedBy)
		}
	}
}
