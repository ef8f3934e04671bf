package pannier_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pannier"
)

func at(slug, owner, path string, state pannier.State, rank int) *pannier.Entry {
	return &pannier.Entry{
		Skill: &pannier.Skill{Slug: slug, Owner: owner, Path: path}, State: state, Usable: state == pannier.StateEligible, Rank: rank,
	}
}

var snapshot = &pannier.Snapshot{Entries: []*pannier.Entry{
	at("csv", "", "skills/csv", pannier.StateEligible, 2),
	at("pdf", "acme", "skills/acme/pdf", pannier.StateEligible, 0),
	at("pdf", "zeta", "skills/zeta/pdf", pannier.StateShadowed, 1),
	at("pdf", "", "managed/pdf", pannier.StateShadowed, 1),
	at("pdf-tools", "", "skills/pdf-tools", pannier.StateIneligible, 1),
	at("xls", "", "skills/xls", pannier.StateEligible, 2),
}}

func TestLookup(t *testing.T) {
	for _, test := range []struct{ ref, path, want string }{
		{"csv", "", "skills/csv"},
		{"CSV ", "", "skills/csv"},
		{"pdf", "", "skills/acme/pdf"},
		{"acme/pdf", "", "skills/acme/pdf"},
		{"Acme/PDF", "", "skills/acme/pdf"},
		{"zeta/pdf", "", ""}, // a wrong owner finds nothing
		{"acme/csv", "", ""},
		{"pdf-tools", "", "skills/pdf-tools"},
		{"pd", "", ""},
		{"pdfs", "", ""},
		{"zzz", "", ""},
		{"", "", ""},
		{"/", "", ""},
		{"acme/", "", ""},
		{"技能", "", ""},
		{"pdf", "skills/zeta/pdf", "skills/zeta/pdf"},
		{"zeta/pdf", "skills/zeta/pdf", "skills/zeta/pdf"},
		{"acme/pdf", "skills/zeta/pdf", ""},
		{"pdf", "managed/pdf", "managed/pdf"},
		{"pdf", "skills/acme/pdf", "skills/acme/pdf"},
		{"csv", "managed/pdf", ""},
		{"pdf", "managed", ""},
		{"none", "managed/pdf", ""},
	} {
		var e *pannier.Entry
		var ok bool
		if test.path == "" {
			e, ok = snapshot.Lookup(test.ref)
		} else {
			e, ok = snapshot.LookupPath(test.ref, test.path)
		}
		if ok != (e != nil) || ok != (test.want != "") || ok && e.Path != test.want {
			t.Errorf("%s at %q: got %+v, %t, want %q", test.ref, test.path, e, ok, test.want)
		}
	}
	if _, ok := new(pannier.Snapshot).Lookup("a"); ok {
		t.Error("there is something in nothing")
	}
}

func TestRanked(t *testing.T) {
	var got []string
	for _, e := range snapshot.Ranked() {
		got = append(got, e.Slug)
	}
	if want := "pdf csv xls"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if e := snapshot.Ranked()[0]; e != snapshot.Entries[1] {
		t.Error("it is a copy")
	}
}

func TestAutomatic(t *testing.T) {
	for bits := range 8 {
		e := &pannier.Entry{Skill: &pannier.Skill{DisableModelInvocation: bits&2 != 0}, Policy: pannier.EffectivePolicy{AllowImplicit: bits&1 != 0}, Usable: bits&4 != 0}
		if got, want := e.Automatic(), bits == 5; got != want {
			t.Errorf("usable %t, implicit %t, disabled %t: %t", e.Usable, e.Policy.AllowImplicit, e.DisableModelInvocation, got)
		}
	}
}

func TestProblemString(t *testing.T) {
	p := pannier.Problem{Code: "skill.x", Severity: pannier.SeverityError, Path: "skills/a/SKILL.md", Message: "it is wrong"}
	for _, test := range []struct {
		line, column int
		want         string
	}{
		{0, 0, "skills/a/SKILL.md: error: it is wrong (skill.x)"},
		{3, 0, "skills/a/SKILL.md:3: error: it is wrong (skill.x)"},
		{3, 7, "skills/a/SKILL.md:3:7: error: it is wrong (skill.x)"},
		{0, 7, "skills/a/SKILL.md: error: it is wrong (skill.x)"},
	} {
		p.Line, p.Column = test.line, test.column
		if got := p.String(); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
	p.Path, p.Message = "skills/a\n/etc:1: error: forged/SKILL.md", "two\r\nlines"
	if got := fmt.Sprint(p); strings.ContainsAny(got, "\r\n") {
		t.Errorf("several lines: %q", got)
	}
}

func TestIsSkillFile(t *testing.T) {
	for name, want := range map[string]bool{
		"SKILL.md": true, "skill.md": true, "Skill.MD": true,
		"SKILL.mdx": false, "SKILL": false, "": false, "S\u212aILL.md": false, "\u017fKILL.md": false, "ſkıll.md": false, " SKILL.md": false, "SKILL_md": false,
	} {
		if got := pannier.IsSkillFile(name); got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
}

func TestSkips(t *testing.T) {
	r := pannier.DiscoveryRules{Skip: []string{"node_modules", "Build"}}
	for name, want := range map[string]bool{
		".git": true, ".": true, "..": true, "node_modules": true, "Build": true,
		"build": false, "node_modules2": false, "git": false, "a.b": false, "": false,
	} {
		if got := r.Skips(name); got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
}

func TestNormalizeOS(t *testing.T) {
	for name, want := range map[string]string{"macos": "darwin", "osx": "darwin", "darwin": "darwin", "win": "windows", "win32": "windows", "windows": "windows", "linux": "linux", "": ""} {
		if got := pannier.NormalizeOS(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestPaths(t *testing.T) {
	s := pannier.Skill{Slug: "pdf", Path: "skills/pdf", File: "skill.md"}
	if s.Qualified() != "pdf" || s.FilePath() != "skills/pdf/skill.md" {
		t.Errorf("%s, %s", s.Qualified(), s.FilePath())
	}
	if s.Owner = "acme"; s.Qualified() != "acme/pdf" {
		t.Errorf("%s", s.Qualified())
	}
}

func TestListsNameEachOnce(t *testing.T) {
	if s := pannier.States(); len(slices.Compact(slices.Sorted(slices.Values(s)))) != 5 {
		t.Errorf("states %v", s)
	}
	if tr := pannier.Triggers(); len(slices.Compact(slices.Sorted(slices.Values(tr)))) != 7 {
		t.Errorf("triggers %v", tr)
	}
}
