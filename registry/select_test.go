package registry_test

import (
	"fmt"
	"strings"
	"testing"

	"pannier"
)

func TestSelection(t *testing.T) {
	for _, test := range []struct {
		name      string
		found     []string
		workspace pannier.Workspace
		ranked    string // usable paths in the order of the card
		missing   []string
	}{
		{"no list selects all, by slug", []string{"skills/z/a", "skills/b"}, pannier.Workspace{}, "skills/z/a skills/b", nil},
		{"no list ignores entries", []string{"skills/a", "skills/b"}, pannier.Workspace{Skills: []string{"b"}}, "skills/a skills/b", nil},
		{"empty list selects none", []string{"skills/a"}, listing(), "", nil},
		{"the list orders", []string{"skills/a", "skills/b", "skills/c"}, listing("c", "a"), "skills/c skills/a", nil},
		{"path below the root", []string{"skills/acme/pdf", "skills/b"}, listing("acme/pdf"), "skills/acme/pdf", nil},
		{"folder", []string{"skills/acme/pdf"}, listing("pdf"), "skills/acme/pdf", nil},
		{"path before folder", []string{"skills/pdf-2/pdf", "skills/pdf"}, listing("pdf"), "skills/pdf", nil},
		{"exact, not by slug or case", []string{"skills/PDF_Tools"}, listing("pdf-tools", "pdf_tools"), "", []string{"pdf-tools", "pdf_tools"}},
		{"repeated: the first counts", []string{"skills/a", "skills/b"}, listing("b", "a", "b"), "skills/b skills/a", nil},
		{"named in two ways: the first counts", []string{"skills/x/b", "skills/a"}, listing("b", "a", "x/b"), "skills/x/b skills/a", nil},
		{"path named behind its folder", []string{"skills/x/b", "skills/a"}, listing("x/b", "a", "b"), "skills/x/b skills/a", nil},
		{"a folder in two places", []string{"skills/y/b", "skills/x/b"}, listing("b"), "skills/x/b", nil},
		{"missing", []string{"skills/a"}, listing("gone", "a", "lost"), "skills/a", []string{"gone", "lost"}},
		{"missing twice is told once", nil, listing("gone", "gone"), "", []string{"gone"}},
		{"path is not suffix", []string{"skills/x/y/b"}, listing("y/b"), "", []string{"y/b"}},
		{"the same path below two roots", []string{"skills/b", "managed/b"}, listing("b"), "skills/b", nil},
		{"entry with a line break", nil, listing("a\nb"), "", []string{"a\nb"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := build(t, of(test.workspace, skillsAt(test.found...)...))
			if got := ranked(s); got != test.ranked {
				t.Errorf("card has %q, want %q", got, test.ranked)
			}
			var want []string
			for _, name := range test.missing {
				want = append(want, fmt.Sprintf("config.yaml: warning: the list under skills names %q, and there is no such folder below a root (config.skill_missing)", name))
			}
			var got []string
			for _, p := range s.Problems {
				got = append(got, p.String())
				if p.Hint == "" || p.Field != "skills" {
					t.Errorf("problem without hint or field: %+v", p)
				}
			}
			if strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("problems %q, want %q", got, want)
			}
		})
	}
}

func TestUnlistedIsFoundAndNotUsable(t *testing.T) {
	s := build(t, of(listing("a"), skillsAt("skills/a", "skills/b")...))
	e, ok := s.Lookup("b")
	if !ok || e.State != pannier.StateUnlisted || e.Usable || len(e.Reasons) != 0 {
		t.Errorf("b is %+v", e)
	}
}

// Adding a skill that the list names is enough: the problem goes, the skill comes.
func TestListedSkillAppears(t *testing.T) {
	without := build(t, of(listing("a"), skillsAt("skills/b")...))
	with := build(t, of(listing("a"), skillsAt("skills/a", "skills/b")...))
	if len(without.Problems) != 1 || len(with.Problems) != 0 || ranked(with) != "skills/a" {
		t.Errorf("without %v, with %v, card %s", without.Problems, with.Problems, ranked(with))
	}
}

func TestProblemsOfWorkspaceAndRootsAreThere(t *testing.T) {
	in := of(pannier.Workspace{Listed: true, Skills: []string{"gone"}, Problems: []pannier.Problem{{Code: "w"}}})
	in.Catalog.Problems = []pannier.Problem{{Code: "r"}}
	s := build(t, in)
	var codes []string
	for _, p := range s.Problems {
		codes = append(codes, p.Code)
	}
	if got := strings.Join(codes, " "); got != "w r config.skill_missing" {
		t.Errorf("problems %s", got)
	}
	if len(in.Workspace.Problems) != 1 || len(in.Catalog.Problems) != 1 {
		t.Error("the inputs were written to")
	}
}

func TestCardIDs(t *testing.T) {
	slug := func(slug string) func(*pannier.Skill) { return func(s *pannier.Skill) { s.Slug = slug } }
	for _, test := range []struct {
		name   string
		skills []*pannier.Skill
		list   pannier.Workspace
		ids    string
	}{
		{"folders", skillsAt("skills/PDF_Tools", "skills/acme/a"), pannier.Workspace{}, "a PDF_Tools"},
		{"not the slug", []*pannier.Skill{skillAt("skills/pdf", slug("other"))}, pannier.Workspace{}, "pdf"},
		{"no ASCII", skillsAt("skills/技能"), pannier.Workspace{}, "技能"},
		{"one folder twice", []*pannier.Skill{skillAt("skills/a/x", slug("one")), skillAt("skills/b/x", slug("two"))}, pannier.Workspace{}, "x two"},
		{"the list's order decides who is first", []*pannier.Skill{skillAt("skills/a/x", slug("one")), skillAt("skills/b/x", slug("two"))}, listing("b/x", "a/x"), "x one"},
		{
			"the slug is a folder of another", []*pannier.Skill{
				skillAt("skills/a/x", slug("p")), skillAt("skills/q", slug("r")), skillAt("skills/b/x", slug("q")),
			}, listing("a/x", "q", "b/x"), "x q q-2",
		},
		{
			"and so is what comes after it", []*pannier.Skill{
				skillAt("skills/a/x", slug("p")), skillAt("skills/q", slug("r")), skillAt("skills/q-2"), skillAt("skills/b/x", slug("q")),
			}, listing("a/x", "q", "q-2", "b/x"), "x q q-2 q-3",
		},
		{"bytes that no card can show", skillsAt("skills/a\xff", "skills/a\xfe", "skills/b/ a", "skills/c/ "), pannier.Workspace{}, ""},
		{"unusable ones take no id", []*pannier.Skill{skillAt("skills/a/x", slug("one"), broken), skillAt("skills/b/x", slug("two"))}, pannier.Workspace{}, "x"},
	} {
		t.Run(test.name, func(t *testing.T) {
			seen := map[string]bool{}
			var ids []string
			for _, e := range build(t, of(test.list, test.skills...)).Ranked() {
				if seen[e.ID] || e.ID == "" || e.ID != strings.TrimSpace(strings.ToValidUTF8(e.ID, "?")) {
					t.Errorf("id %q of %q", e.ID, e.Path)
				}
				seen[e.ID] = true
				ids = append(ids, e.ID)
			}
			if got := strings.Join(ids, " "); test.ids != "" && got != test.ids {
				t.Errorf("ids %s, want %s", got, test.ids)
			}
		})
	}
}
