package registry_test

import (
	"fmt"
	"strings"
	"testing"

	"pannier"
	"pannier/registry"
)

// pdfForms returns a skill at a path that claims the slug pdf-forms.
func pdfForms(where string, change ...func(*pannier.Skill)) *pannier.Skill {
	return skillAt(where, append([]func(*pannier.Skill){func(s *pannier.Skill) { s.Slug = "pdf-forms" }}, change...)...)
}

// named returns a skill at a path that shows a name.
func named(where, name string, change ...func(*pannier.Skill)) *pannier.Skill {
	return skillAt(where, append([]func(*pannier.Skill){func(s *pannier.Skill) { s.Name = name }}, change...)...)
}

// contested returns the contested slugs of a snapshot with their messages, one a line.
func contested(s *pannier.Snapshot) string {
	var lines []string
	for _, p := range s.Problems {
		if p.Code == "slug_contested" {
			lines = append(lines, p.Path+": "+p.Message)
		}
	}
	return strings.Join(lines, "\n")
}

func TestContests(t *testing.T) {
	yes, no := true, false
	implicit := pannier.Switches{AllowImplicit: &yes}
	set := func(path string, s pannier.Switches) map[pannier.PolicyKey]pannier.PolicyEntry {
		return map[pannier.PolicyKey]pannier.PolicyEntry{{Slug: "pdf-forms", SourceKind: pannier.SourceWorkspace}: {Switches: s, Path: path}}
	}
	lock := []pannier.LockedSlug{{Slug: "pdf-forms", Path: "skills/pdf-forms"}}
	original := pdfForms("skills/pdf-forms", locked)
	const keeps, taken = `%s claims the slug "pdf-forms", which skills/pdf-forms holds`, `%s holds the slug "pdf-forms" of skills/pdf-forms, which`
	for _, tt := range []struct {
		name   string
		skills []*pannier.Skill
		policy map[pannier.PolicyKey]pannier.PolicyEntry
		lock   []pannier.LockedSlug
		want   string // empty: not contested
	}{
		{"one skill", []*pannier.Skill{original}, nil, lock, ""},
		{"two ordinary skills of one root", []*pannier.Skill{pdfForms("skills/aaa"), pdfForms("skills/pdf-forms")}, nil, nil, ""},
		{"installed, and a claim by files", []*pannier.Skill{original, pdfForms("skills/aaa")}, nil, lock, fmt.Sprintf(keeps, "skills/aaa")},
		{"installed, and a folder in capitals", []*pannier.Skill{original, pdfForms("skills/PDF-Forms")}, nil, lock, fmt.Sprintf(keeps, "skills/PDF-Forms")},
		{"installed, and the same folder in another root", []*pannier.Skill{original, pdfForms("managed/pdf-forms")}, nil, lock, ""},
		{"installed, and a claim in another root", []*pannier.Skill{original, pdfForms("managed/aaa", locked)}, nil, lock, fmt.Sprintf(keeps, "managed/aaa")},
		{"allowed, and a claim", []*pannier.Skill{pdfForms("skills/pdf-forms"), pdfForms("skills/aaa")}, set("skills/pdf-forms", implicit), nil, fmt.Sprintf(keeps, "skills/aaa")},
		{"refused, and a claim", []*pannier.Skill{pdfForms("skills/pdf-forms"), pdfForms("skills/aaa")}, set("skills/pdf-forms", pannier.Switches{Enabled: &no}), nil, ""},
		{"removed by hand, and a stranger", []*pannier.Skill{pdfForms("skills/aaa")}, nil, lock, fmt.Sprintf(taken, "skills/aaa")},
		{"installed, changed by hand", []*pannier.Skill{pdfForms("skills/pdf-forms", func(s *pannier.Skill) { s.Managed = true })}, nil, lock, ""},
		{"allowed and removed, and a stranger", []*pannier.Skill{pdfForms("skills/aaa")}, set("skills/pdf-forms", implicit), nil, fmt.Sprintf(taken, "skills/aaa")},
		{"allowed, and an installed stranger", []*pannier.Skill{pdfForms("skills/aaa", locked)}, set("skills/pdf-forms", implicit), nil, fmt.Sprintf(taken, "skills/aaa")},
		{"broken, and a stranger", []*pannier.Skill{pdfForms("skills/pdf-forms", broken), pdfForms("skills/aaa")}, nil, lock, fmt.Sprintf(taken, "skills/aaa")},
		{"installed, and its name", []*pannier.Skill{original, named("skills/aaa", "PDF\u200b Forms")}, nil, lock, `skills/aaa shows the name "PDF\u200b Forms", which a model can take for skills/pdf-forms`},
		{"allowed, and its name", []*pannier.Skill{pdfForms("skills/pdf-forms"), named("skills/aaa", "pdf-forms")}, set("skills/pdf-forms", implicit), nil, `skills/aaa shows the name "pdf-forms", which a model can take for skills/pdf-forms`},
		{"installed, and its name in an installed skill", []*pannier.Skill{original, named("skills/aaa", "pdf-forms", locked)}, nil, lock, ""},
		{"neither installed nor allowed, and its name", []*pannier.Skill{pdfForms("skills/pdf-forms"), named("skills/aaa", "pdf-forms")}, nil, nil, ""},
		{"a stranger that a client accepted", []*pannier.Skill{pdfForms("skills/aaa")}, set("skills/aaa", implicit), lock, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := of(pannier.Workspace{}, tt.skills...)
			in.Policies.Workspace, in.Catalog.Locks = tt.policy, [][]pannier.LockedSlug{tt.lock}
			s := build(t, in)
			got := contested(s)
			if (tt.want == "") != (got == "") || !strings.HasPrefix(got, strings.TrimSuffix("pdf-forms: "+tt.want, "pdf-forms: ")) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			warnings := registry.Warnings(nil, s)
			if tt.want != "" && (len(warnings) == 0 || warnings[0].Kind != "slug_contested" || warnings[0].Name != "pdf-forms" || !strings.HasPrefix(warnings[0].Detail, tt.want)) {
				t.Errorf("events %+v", warnings)
			}
			for _, w := range registry.Warnings(s, s) {
				t.Errorf("reported twice: %+v", w)
			}
		})
	}
}

// TestNoGrantPassesOn checks what a stranger has of an entry that was made for the skill before it.
func TestNoGrantPassesOn(t *testing.T) {
	yes, no := true, false
	in := of(pannier.Workspace{}, pdfForms("managed/aaa"))
	in.Policies.Gateway = map[string]pannier.Switches{"pdf-forms": {Enabled: &no}}
	key := pannier.PolicyKey{Slug: "pdf-forms", SourceKind: pannier.SourceManaged}
	in.Policies.Workspace = map[pannier.PolicyKey]pannier.PolicyEntry{
		key: {Switches: pannier.Switches{Enabled: &yes, AllowImplicit: &yes}, Path: "managed/pdf-forms"},
	}
	if s := build(t, in); s.Entries[0].Automatic() || s.Entries[0].State != pannier.StateDisabled {
		t.Errorf("the stranger has %+v", s.Entries[0].Policy)
	}
	in.Catalog.Skills = []*pannier.Skill{pdfForms("managed/aaa"), pdfForms("managed/pdf-forms")}
	if s := build(t, in); s.Entries[0].Path != "managed/pdf-forms" || !s.Entries[0].Automatic() {
		t.Errorf("the skill itself has %+v", s.Entries[0].Policy)
	}
}

func TestContestsAreBounded(t *testing.T) {
	var skills []*pannier.Skill
	for i := range 130 {
		slug := func(s *pannier.Skill) { s.Slug = fmt.Sprint("s", i) }
		skills = append(skills, skillAt(fmt.Sprint("skills/s", i), slug, locked), skillAt(fmt.Sprint("skills/x", i), slug))
	}
	s := build(t, of(pannier.Workspace{}, skills...))
	if lines := strings.Split(contested(s), "\n"); len(lines) != 101 || !strings.Contains(lines[100], "30 more slugs") {
		t.Errorf("%d problems, the last %s", len(lines), lines[len(lines)-1])
	}
}

// TestCollisionsAreWarnedOfOnce: "On name collision: deterministically pick a winner (by explicit precedence order), and emit a
// warning event containing both candidates (so replay is explainable)" (OpenSkills contract, "Discovery").
func TestCollisionsAreWarnedOfOnce(t *testing.T) {
	before := build(t, of(pannier.Workspace{}, skillAt("skills/pdf")))
	after := build(t, of(pannier.Workspace{}, skillAt("skills/pdf"), skillAt("managed/pdf")))
	want := pannier.SkillWarning{Name: "pdf", Kind: "skill.slug.shared", Detail: `skills/pdf and managed/pdf claim the slug "pdf"; skills/pdf holds it`}
	if got := registry.Warnings(before, after); len(got) != 1 || got[0] != want {
		t.Errorf("got %+v", got)
	}
	if got := registry.Warnings(after, after); len(got) > 0 {
		t.Errorf("again: %+v", got)
	}
	moved := build(t, of(pannier.Workspace{}, skillAt("skills/pdf"), skillAt("skills/x/pdf", func(s *pannier.Skill) { s.Deleting = true })))
	if got := registry.Warnings(before, moved); len(got) > 0 {
		t.Errorf("a skill that is about to go: %+v", got)
	}
}

// TestTakeovers follows a slug of skills that nothing protects.
func TestTakeovers(t *testing.T) {
	none := build(t, of(pannier.Workspace{}, pdfForms("skills/zzz")))
	taken := build(t, of(pannier.Workspace{}, pdfForms("skills/aaa"), pdfForms("skills/zzz")))
	over := build(t, of(pannier.Workspace{}, pdfForms("skills/aaa")))
	shadowed := build(t, of(pannier.Workspace{}, skillAt("managed/pdf-forms")))
	shadowing := build(t, of(pannier.Workspace{}, skillAt("skills/pdf-forms"), skillAt("managed/pdf-forms")))
	var tk registry.Takeovers
	for _, step := range []struct {
		name          string
		before, after *pannier.Snapshot
		want          string
	}{
		{"a start with a collision", nil, taken, ""},
		{"taken", none, taken, `skills/aaa took the slug "pdf-forms" from skills/zzz, which is still there`},
		{"nothing new", taken, taken, `skills/aaa took the slug "pdf-forms" from skills/zzz, which is still there`},
		{"given back", taken, none, ""},
		{"taken again", none, taken, `skills/aaa took the slug "pdf-forms" from skills/zzz, which is still there`},
		{"the former is gone", taken, over, ""},
		{"another root, the same folder", shadowed, shadowing, ""},
	} {
		tk.Observe(step.before, step.after)
		got := ""
		for _, c := range tk.Conditions(step.after) {
			if got += c.Message; c.Code != "slug_contested" || c.Subject != "pdf-forms" || c.Severity != pannier.SeverityWarning || c.Hint == "" {
				t.Errorf("%s: %+v", step.name, c)
			}
		}
		if got != step.want {
			t.Errorf("%s: got %q, want %q", step.name, got, step.want)
		}
	}
}
