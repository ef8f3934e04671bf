package registry_test

import (
	"fmt"
	"math/rand/v2"
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
			"b skills/b eligible\nb skills/a shadowed by skills/b",
		},
		{
			"one that cannot be read never wins",
			[]*pannier.Skill{skillAt("skills/pdf", broken), skillAt("/opt/skills/x/pdf")},
			pannier.Workspace{},
			"pdf /opt/skills/x/pdf eligible\npdf skills/pdf shadowed by /opt/skills/x/pdf",
		},
		{
			"of two that cannot be read the usual one",
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
			"what is listed beats what is not, in one root", skillsAt("skills/pdf", "skills/x/pdf"), listing("x/pdf"),
			"pdf skills/x/pdf eligible\npdf skills/pdf shadowed by skills/x/pdf",
		},
		{
			"but not the root listed first", skillsAt("skills/pdf", "managed/x/pdf"), listing("x/pdf"),
			"pdf skills/pdf unlisted\npdf managed/x/pdf shadowed by skills/pdf",
		},
		{
			"and not one that is installed",
			[]*pannier.Skill{skillAt("skills/pdf", locked), skillAt("skills/x/pdf")},
			listing("x/pdf"),
			"pdf skills/pdf unlisted\npdf skills/x/pdf shadowed by skills/pdf",
		},
		{
			"nor where it cannot be read",
			[]*pannier.Skill{skillAt("skills/pdf"), skillAt("skills/x/pdf", broken)},
			listing("x/pdf"),
			"pdf skills/pdf unlisted\npdf skills/x/pdf shadowed by skills/pdf",
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

// TestPrecedence takes each rule by itself: of two skills that differ in more than one, the rule listed first decides. The winner
// is the same in whatever order the skills come.
func TestPrecedence(t *testing.T) {
	slug := func(s *pannier.Skill) { s.Slug = "pdf-forms" }
	for _, tt := range []struct {
		name          string
		winner, loser *pannier.Skill
		list          pannier.Workspace
	}{
		{"readable over broken", skillAt("/opt/skills/zzz/zzz", slug), skillAt("skills/pdf-forms", slug, locked, broken), pannier.Workspace{}},
		{"root over lock", skillAt("skills/zzz/zzz", slug), skillAt("managed/pdf-forms", slug, locked), pannier.Workspace{}},
		{"lock over list", skillAt("skills/z/zzz", slug, locked), skillAt("skills/pdf-forms", slug), listing("pdf-forms")},
		{"lock over folder", skillAt("skills/z/zzz", slug, locked), skillAt("skills/pdf-forms", slug), pannier.Workspace{}},
		{"list over folder", skillAt("skills/z/zzz", slug), skillAt("skills/pdf-forms", slug), listing("zzz")},
		{"folder over a folder that becomes the slug", skillAt("skills/z/pdf-forms", slug), skillAt("skills/PDF-Forms", slug), pannier.Workspace{}},
		{"folder over a claim", skillAt("skills/z/pdf-forms", slug), skillAt("skills/aaa", slug), pannier.Workspace{}},
		{"a folder that becomes the slug over a claim", skillAt("skills/z/PDF_Forms", slug), skillAt("skills/aaa", slug), pannier.Workspace{}},
		{"depth", skillAt("skills/z/pdf-forms", slug), skillAt("skills/a/a/pdf-forms", slug), pannier.Workspace{}},
		{"bytes", skillAt("skills/A/pdf-forms", slug), skillAt("skills/a/pdf-forms", slug), pannier.Workspace{}},
		{
			"a disabled skill wins", skillAt("skills/pdf-forms", slug, func(s *pannier.Skill) { s.DisabledBy = "scope" }),
			skillAt("skills/aaa", slug),
			pannier.Workspace{},
		},
		{
			"a slug made of the path over a claim", skillAt("skills/z/\u6280\u80fd", func(s *pannier.Skill) {}),
			skillAt("skills/a", func(s *pannier.Skill) { s.Slug = pannier.FallbackSlug("z/\u6280\u80fd") }),
			pannier.Workspace{},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, skills := range [][]*pannier.Skill{{tt.winner, tt.loser}, {tt.loser, tt.winner}} {
				s := build(t, of(tt.list, skills...))
				if s.Entries[0].Path != tt.winner.Path || s.Entries[1].ShadowedBy != tt.winner.Path {
					t.Errorf("got\n%s", states(s))
				}
			}
		})
	}
}

// TestWinnerIsTheSameInEveryOrder draws skills that claim few slugs, and shuffles them.
func TestWinnerIsTheSameInEveryOrder(t *testing.T) {
	folders := []string{"pdf", "PDF", "aaa", "x/pdf", "x/y/pdf", "z/Pdf", "zzz"}
	for seed := range uint64(300) {
		d := rand.New(rand.NewPCG(seed, 1))
		var skills []*pannier.Skill
		for _, root := range []string{"skills", "managed", "/opt/skills"} {
			for _, folder := range folders {
				if d.IntN(2) == 0 {
					continue
				}
				skills = append(skills, skillAt(root+"/"+folder, func(s *pannier.Skill) {
					s.Slug = []string{"pdf", "aaa"}[d.IntN(2)]
					s.Locked = d.IntN(4) == 0
					if d.IntN(5) == 0 {
						broken(s)
					}
				}))
			}
		}
		list := pannier.Workspace{}
		if d.IntN(2) == 0 {
			list = listing(folders[d.IntN(len(folders))], folders[d.IntN(len(folders))])
		}
		want := build(t, of(list, skills...))
		for range 5 {
			d.Shuffle(len(skills), func(i, j int) { skills[i], skills[j] = skills[j], skills[i] })
			if got := build(t, of(list, skills...)); states(got) != states(want) || got.Digest != want.Digest {
				t.Fatalf("seed %d: got\n%s\nwant\n%s", seed, states(got), states(want))
			}
		}
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
