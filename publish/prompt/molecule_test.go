package prompt_test

import (
	"slices"
	"strings"
	"testing"

	"pannier"
	"pannier/publish/prompt"
)

// For plain texts the section is what the platform's own runtime writes, to the byte, where it is joined with others.
func TestMoleculeBytes(t *testing.T) {
	one, two := skill("one", "Skill One", "Desc one"), skill("two", "Skill Two", "")
	p := renderAs(prompt.Molecule, 0, map[string]string{"one": "Body1", "two": "\nBody2\n"}, one, two)
	got := strings.Join([]string{"before", p.Text, "## Your Peers (workspaces you can delegate to)"}, "\n")
	const want = "before\n\n## Your Skills\n\n### Skill One\nDesc one\nBody1\n\n### Skill Two\nBody2\n\n## Your Peers (workspaces you can delegate to)"
	if got != want {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

func TestMoleculeWithoutBodies(t *testing.T) {
	const unread = "The instructions are not shown here. Read them with `GET /v1/skills/a/content`.\n"
	o := prompt.Options{Format: prompt.Molecule, Unread: map[string]bool{"a": true}}
	p := renderVia(pannier.ViaImplicit, o, map[string]string{"b": "text"}, skill("a", "a", "Does it."), skill("b", "b", ""))
	why := pannier.Shortened{Slug: "a", LeftOut: pannier.LeftOutBody, Why: pannier.ShortenedUnread}
	if p.Text != "\n## Your Skills\n\n### a\nDoes it.\n"+unread+"\n### b\ntext\n" || !slices.Equal(p.Shortened, []pannier.Shortened{why}) || len(p.Omitted) > 0 || !p.Truncated {
		t.Errorf("got %+v", p)
	}
	p = renderAs(prompt.Molecule, 0, nil, skill("a", "a", ""))
	why.Why = pannier.ShortenedByLimit
	if p.Text != "\n## Your Skills\n\n### a\n"+unread || !slices.Equal(p.Shortened, []pannier.Shortened{why}) {
		t.Errorf("got %+v", p)
	}
}

// TestMoleculeNamedFirst gives the room to what the turn names.
func TestMoleculeNamedFirst(t *testing.T) {
	first, second := skill("a", "first", ""), skill("b", "second", "")
	first.Rank, second.Rank = 0, 1
	s := &pannier.Snapshot{Entries: []*pannier.Entry{first, second}}
	long := strings.Repeat("long ", 40)
	bodies := map[string]string{"a": long, "b": long}
	r := pannier.Resolution{Active: []pannier.ActiveSkill{{Slug: "b", Reason: pannier.ViaReference}, {Slug: "a", Reason: pannier.ViaImplicit}}}
	p := prompt.Render(s, r, bodies, prompt.Options{Format: prompt.Molecule, MaxChars: 420})
	const names = "\na, b\nNot all are described here. Find the one for a task with find_skills (`POST /v1/find`), read one with `GET /v1/skills/NAME/content`.\n"
	want := "\n## Your Skills\n" + names + "\n### second\n" + strings.TrimSpace(long) + "\n"
	if p.Text != want || leftOut(p) != "a:body" {
		t.Errorf("got %+v", p)
	}
}

// TestBodyThatDoesNotFit in every format with bodies is left out, and what is left of the room goes to whole descriptions and to the
// bodies of others.
func TestBodyThatDoesNotFit(t *testing.T) {
	bodies := map[string]string{"big": strings.Repeat("x", 10_000), "small": "fits"}
	long := strings.Repeat("does much ", 60) + "more."
	for _, format := range []string{prompt.SkillsXML, prompt.Molecule, prompt.MoleculeSystem} {
		p := renderAs(format, 5000, bodies, skill("big", "Big", "It "+long), skill("small", "Small", "This "+long))
		if leftOut(p) != "big:body" || !strings.Contains(p.Text, "/v1/skills/big/content") || !strings.Contains(p.Text, "fits") || format != prompt.SkillsXML && strings.Count(p.Text, long) != 2 {
			t.Errorf("%s: truncated %t, omitted %v in\n%s", format, p.Truncated, p.Omitted, p.Text)
		}
	}
}

func TestMoleculeBody(t *testing.T) {
	for _, tt := range []struct{ what, body, want string }{
		{"lines", "a\r\nb\rc\vd\u2028e\u2029f\u0085g\fh", "a\nb\nc\nd\ne\nf\ng\nh"},
		{"blanks", "a\n\n\n\tb  c\u3000d\u00a0e \n", "a\n\n\n\tb  c\u3000d\u00a0e"},
		{"hidden", "a\x00b\x1b[1m\u202ec\u2066\u200b\U000e0041\ufeff\ue000d", "ab[1mcd"},
		{"not UTF-8", "a\xffb", "a\ufffdb"},
		{"templates", "<|im_start|>x<|eot_id|> <｜User｜> [INST]y[/INST] <<SYS>> <</SYS>> </s> <S> <start_of_turn> </System-Reminder>", "(|im_start|)x(|eot_id|) (｜User｜) (INST)y(/INST) (<SYS>) (</SYS>) (/s) (S) (start_of_turn) (/System-Reminder)"},
		{"split templates", "<|im\u200b_start|> <\x00/s> <|x<s>y|> <<s>/s>", "(|im_start|) (/s) <|x(s)y|> <(s)/s>"},
		{"code", "x |> f <| y; a<b>c; <div class=\"s\">; <| spaced |>; [TODO]; List<String>; a < s > b", "x |> f <| y; a<b>c; <div class=\"s\">; <| spaced |>; [TODO]; List<String>; a < s > b"},
		{"headings of its own", "# A\n## Usage\n### other thing\n#### Another\nSetext\n---", "# A\n## Usage\n### other thing\n#### Another\nSetext\n---"},
		{"headings of the prompt", "## Your Skills\n##\tYOUR  PEERS (x)\n   ## Your Team ##\n##Platform Rules\n# Platform Instructions\n## Y\u200bour\u200d Skills\n##\u00a0Parent\u00a0Context", "\\## Your Skills\n\\##\tYOUR  PEERS (x)\n   \\## Your Team ##\n\\##Platform Rules\n\\# Platform Instructions\n\\## Your\u200d Skills\n\\##\u00a0Parent\u00a0Context"},
		{"headings of skills", "x\r### Other\n### other ###\n## Other\n    ### Other", "x\n\\### Other\n\\### other ###\n\\## Other\n    ### Other"},
		{"headings like those of skills", "# Other!\n#### **o-t h_e`r`**\n<h3 class=x>Other</h3>\nOther\n---\n# a\n### a", "\\# Other!\n\\#### **o-t h_e`r`**\n\\<h3 class=x>Other</h3>\nOther\n\\---\n# a\n\\### a"},
	} {
		other := skill("other", "Other", "")
		other.Rank = 1
		p := renderAs(prompt.Molecule, 0, map[string]string{"a": tt.body, "other": "o"}, skill("a", "a", "d"), other)
		got := strings.TrimSuffix(strings.TrimPrefix(p.Text, "\n## Your Skills\n\n### a\nd\n"), "\n\n### Other\no\n")
		if got != tt.want {
			t.Errorf("%s: got\n%q\nwant\n%q", tt.what, got, tt.want)
		}
	}
}

func TestMoleculeDescription(t *testing.T) {
	for description, want := range map[string]string{
		"## Your Peers\nobey": "\\## Your Peers obey\n",
		"x\n\n## Your Peers":  "x ## Your Peers\n",
		"<|im_end|> \u202e":   "(|im_end|)\n",
		" \u200b":             "",
	} {
		p := renderAs(prompt.Molecule, 0, map[string]string{"a": "body"}, skill("a", "</s>\nn", description))
		if p.Text != "\n## Your Skills\n\n### (/s) n\n"+want+"body\n" {
			t.Errorf("%q: got %q", description, p.Text)
		}
	}
}

// TestMoleculeSystem has the section to the byte, whatever the limit leaves of it, and the files as they are.
func TestMoleculeSystem(t *testing.T) {
	whole := renderAs(prompt.Molecule, 0, shelfBodies(), shelf()...)
	for limit := range runes(whole) + 2 {
		section := renderAs(prompt.Molecule, limit, shelfBodies(), shelf()...)
		want := before
		if section.Text != "" {
			want += "\n" + section.Text
		}
		p := renderAs(prompt.MoleculeSystem, limit, shelfBodies(), shelf()...)
		if p.Text != want || !slices.Equal(p.Omitted, section.Omitted) || p.Truncated != section.Truncated {
			t.Fatalf("limit %d: omitted %v, got\n%s\nwant\n%s", limit, p.Omitted, p.Text, want)
		}
	}
}

// TestMoleculeSystemOfLittle has no line feed where there is nothing to part.
func TestMoleculeSystemOfLittle(t *testing.T) {
	a := skill("a", "a", "")
	active := pannier.Resolution{Active: []pannier.ActiveSkill{{Slug: "a"}}}
	const unread = "\n## Your Skills\n\n### a\nThe instructions are not shown here. Read them with `GET /v1/skills/a/content`.\n"
	for _, tt := range []struct {
		files  []pannier.PromptFile
		bodies map[string]string
		want   string
	}{
		{nil, nil, unread},
		{[]pannier.PromptFile{{Path: "x.md"}}, nil, unread},
		{[]pannier.PromptFile{{Text: "x"}}, nil, "x\n" + unread},
		{[]pannier.PromptFile{{Text: "x"}, {}, {Text: "y"}}, nil, "x\ny\n" + unread},
		{nil, map[string]string{"a": "b"}, "\n## Your Skills\n\n### a\nb\n"},
		{[]pannier.PromptFile{{Text: "x"}}, map[string]string{"a": "b"}, "x\n\n## Your Skills\n\n### a\nb\n"},
	} {
		s := &pannier.Snapshot{Entries: []*pannier.Entry{a}, Workspace: pannier.Workspace{Prompts: tt.files}}
		if p := prompt.Render(s, active, tt.bodies, prompt.Options{Format: prompt.MoleculeSystem}); p.Text != tt.want || p.Truncated != (tt.bodies == nil) {
			t.Errorf("%v: got %+v, want %q", tt, p, tt.want)
		}
	}
	s := &pannier.Snapshot{Workspace: pannier.Workspace{Prompts: []pannier.PromptFile{{Text: "x"}, {}, {Text: "y"}}}}
	if p := prompt.Render(s, pannier.Resolution{}, nil, prompt.Options{Format: prompt.MoleculeSystem}); p.Text != "x\ny" {
		t.Errorf("without a skill: got %+v", p)
	}
}

func BenchmarkMolecule(b *testing.B) {
	for name, unit := range map[string]string{"prose": "Read the form first, then fill it in.\n", "marks": "<|<s>|><|x|>\n### other\n", "heads": "## your skills\n"} {
		b.Run(name, func(b *testing.B) {
			bodies := map[string]string{"a": strings.Repeat(unit, 1<<20/len(unit))}
			b.SetBytes(1 << 20)
			for b.Loop() {
				renderAs(prompt.Molecule, 0, bodies, skill("a", "a", ""))
			}
		})
	}
}
