package prompt_test

import (
	"slices"
	"strings"
	"testing"

	"pannier"
	"pannier/publish/prompt"
)

// via returns a resolution with skills that became active in these ways.
func via(reasons ...string) pannier.Resolution {
	var r pannier.Resolution
	for i, reason := range reasons {
		r.Active = append(r.Active, pannier.ActiveSkill{Slug: string(rune('a' + i)), Reason: reason})
	}
	return r
}

func TestBodies(t *testing.T) {
	few := via(pannier.ViaCapability, pannier.ViaPath, pannier.ViaReference, pannier.ViaPath, pannier.ViaImplicit)
	seven := via(slices.Repeat([]string{pannier.ViaPath}, 7)...)
	for _, tt := range []struct {
		format string
		r      pannier.Resolution
		want   string
	}{
		{"", few, "b d"},
		{prompt.Compact, few, "b d"},
		{prompt.Compact, seven, "a b c d e f g"},
		{prompt.AvailableSkills, few, ""},
		{prompt.AvailableSkillsReference, few, ""},
		{prompt.OpenClaw, few, ""},
		{prompt.SkillsXML, few, "a b c d e"},
		{prompt.Molecule, seven, "a b c d e f g"},
		{prompt.MoleculeSystem, few, "a b c d e"},
		{prompt.Molecule, pannier.Resolution{}, ""},
	} {
		if got := strings.Join(prompt.Bodies(tt.format, prompt.Active{Named: tt.r.Active}), " "); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.format, got, tt.want)
		}
	}
}

// TestCompactBodyAmongManyImplicitSkills holds to the sentence "Full bodies are eligible only for path-matched skills when
// the prompt budget allows" (Pioneer skills architecture, "Turn Resolution"): how many other skills are active has no say.
func TestCompactBodyAmongManyImplicitSkills(t *testing.T) {
	entries := []*pannier.Entry{skill("a", "a", "")}
	r := pannier.Resolution{Active: []pannier.ActiveSkill{{Slug: "a", Reason: pannier.ViaPath}}}
	for i := range 12 {
		slug := "b" + string(rune('a'+i))
		entries = append(entries, skill(slug, slug, ""))
		r.Active = append(r.Active, pannier.ActiveSkill{Slug: slug, Reason: pannier.ViaImplicit})
	}
	bodies := map[string]string{"a": "The body of a."}
	if got := prompt.Bodies(prompt.Compact, prompt.Active{Named: r.Active}); !slices.Equal(got, []string{"a"}) {
		t.Errorf("bodies of %q are read, want that of a", got)
	}
	s := &pannier.Snapshot{Entries: entries}
	whole := prompt.Render(s, r, bodies, prompt.Options{MaxChars: 24000})
	if !strings.Contains(whole.Text, "[Skill Body: $a]\nThe body of a.\n") || whole.Truncated {
		t.Errorf("got %q, truncated %v, want the body of a", whole.Text, whole.Truncated)
	}
	tight := prompt.Render(s, r, bodies, prompt.Options{MaxChars: len([]rune(whole.Text)) - 1})
	if strings.Contains(tight.Text, "The body of a.") || !slices.Equal(tight.Omitted, []string{"a"}) {
		t.Errorf("over the budget: got %q, omitted %q, want no body", tight.Text, tight.Omitted)
	}
}

// TestCompactBodies shows the bodies of what matches a path alone, ordered by slug, and tells which of them it does not.
func TestCompactBodies(t *testing.T) {
	const unread = "These match the files of this turn, and their instructions are not shown here; read them with `read_skill`: "
	entries := []*pannier.Entry{skill("a", "a", ""), skill("b", "b", ""), skill("c", "c", "")}
	all := via(pannier.ViaPath, pannier.ViaReference, pannier.ViaPath)
	slices.Reverse(all.Active)
	many := all
	for range 4 {
		many.Active = append(many.Active, pannier.ActiveSkill{Slug: "gone", Reason: pannier.ViaImplicit})
	}
	texts := map[string]string{"a": "\nfirst\n", "b": "second", "c": "third"}
	for _, tt := range []struct {
		what          string
		r             pannier.Resolution
		bodies        map[string]string
		shown, unread string
		limit         int
	}{
		{what: "all", r: all, bodies: texts, shown: "a c"},
		{what: "none is read", r: all, unread: "c a"},
		{what: "one cannot be read", r: all, bodies: map[string]string{"c": "x"}, shown: "c", unread: "a"},
		{what: "nothing is said", r: all, bodies: map[string]string{"a": " \n\u200b", "c": ""}},
		{what: "with many implicit skills", r: many, bodies: texts, shown: "a c"},
		{what: "no room", r: all, bodies: map[string]string{"a": strings.Repeat("long ", 100), "c": "x"}, limit: 600, shown: "c", unread: "a"},
		{what: "no room, and not in ASCII", r: all, bodies: map[string]string{"a": strings.Repeat("é", 500), "c": "x"}, limit: 600, shown: "c", unread: "a"},
	} {
		p := prompt.Render(&pannier.Snapshot{Entries: entries}, tt.r, tt.bodies, prompt.Options{MaxChars: tt.limit})
		for _, slug := range []string{"a", "b", "c"} {
			if shown := strings.Contains(p.Text, "\n\n[Skill Body: $"+slug+"]\n"); shown != strings.Contains(tt.shown, slug) {
				t.Errorf("%s: the body of %s is shown: %t", tt.what, slug, shown)
			}
		}
		if strings.Join(p.Omitted, " ") != tt.unread || strings.Contains(p.Text, unread) != (tt.unread != "") || strings.Count(p.Text, "Skill slug for") != 3 {
			t.Errorf("%s: %+v", tt.what, p)
		}
		if strings.Index(p.Text, "[Skill Body: $c]") < strings.Index(p.Text, "[Skill Body: $a]") && tt.shown == "a c" {
			t.Errorf("%s: order of\n%s", tt.what, p.Text)
		}
	}
}

func TestCompactBody(t *testing.T) {
	for _, tt := range []struct{ what, body, want string }{
		{"lines", "\na\r\nb\u2028c\td  \n\n", "a\nb\nc\td"},
		{"hidden", "a\x00\u202eb<|im_start|>[INST]</s>", "ab(|im_start|)(INST)(/s)"},
		{"lines of the section", "[Skills]\n  [skill Body: $b]\n\u3000**[SKILLS]**\nSkill  slug for `read_skill`: x", "\\[Skills]\n  \\[skill Body: $b]\n\\\u3000**[SKILLS]**\n\\Skill  slug for `read_skill`: x"},
		{"other lines", "[TODO]\n- a\n[a](b)\nsee [Skills]", "[TODO]\n- a\n[a](b)\nsee [Skills]"},
	} {
		p := prompt.Render(&pannier.Snapshot{Entries: []*pannier.Entry{skill("a", "a", "")}}, via(pannier.ViaPath), map[string]string{"a": tt.body}, prompt.Options{})
		_, below, _ := strings.Cut(p.Text, "\n[Skill Body: $a]\n")
		if got, _, _ := strings.Cut(below, "\n\nBefore you do"); got != tt.want {
			t.Errorf("%s: got\n%q\nwant\n%q", tt.what, got, tt.want)
		}
	}
}

// TestCompactTellsOfTheCut keeps room for the notice, and counts what has no room in the list.
func TestCompactTellsOfTheCut(t *testing.T) {
	entries := []*pannier.Entry{skill("a", "a", strings.Repeat("ä", 300)), skill("b", "b", "日本語"), skill("c", "c", "x")}
	p := renderAs(prompt.Compact, 450, nil, entries...)
	if strings.Join(p.Omitted, " ") != "a" || !strings.HasSuffix(p.Text, "\nThis list is cut: it has no room for 1 of the skills.") {
		t.Errorf("got %+v", p)
	}
	if p := renderAs(prompt.Compact, 100, nil, entries...); p.Text != "" || len(p.Omitted) != 3 {
		t.Errorf("got %+v", p)
	}
}
