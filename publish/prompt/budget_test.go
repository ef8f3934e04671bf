package prompt_test

import (
	"fmt"
	"strings"
	"testing"

	"pannier"
	"pannier/publish/prompt"
)

// TestNamesByTag groups the names of a section that has no room for all descriptions, if most skills have a tag in common with others.
func TestNamesByTag(t *testing.T) {
	tagged := func(tags ...[]string) []*pannier.Entry {
		entries := many(len(tags), 200)
		for i := range entries {
			entries[i].Tags = tags[i]
		}
		return entries
	}
	office, web, both := []string{"Office"}, []string{"[Skills] & web"}, []string{"office", "all"}
	groups := tagged(both, web, nil, web, office, web, both, []string{"rare"}, []string{strings.Repeat("x", 33)})
	for _, format := range []string{prompt.Compact, prompt.SkillsXML, prompt.Molecule} {
		p := renderAs(format, 800, nil, groups...)
		want := "\noffice: s00000, s00004, s00006\nskills-web: s00001, s00003, s00005\nother: s00002, s00007, s00008\n"
		if !strings.Contains(p.Text, want) || len(p.Omitted) > 0 {
			t.Errorf("%s: got\n%s\nwant %s", format, p.Text, want)
		}
		for what, entries := range map[string][]*pannier.Entry{
			"few have a tag":   tagged(office, office, office, nil, nil, nil, nil, nil, nil),
			"all have one tag": tagged(office, office, office, office, office, office, office, office, office),
			"a tag for each":   tagged([]string{"a"}, []string{"b"}, []string{"c"}, []string{"d"}, []string{"e"}, []string{"f"}, nil, nil, nil),
		} {
			if p := renderAs(format, 800, nil, entries...); !strings.Contains(p.Text, "\ns00000, s00001, s00002, s00003, s00004, s00005, s00006, s00007, s00008\n") {
				t.Errorf("%s, %s: got\n%s", format, what, p.Text)
			}
		}
		// A turn that names another skill moves none of them, and adds it to the last line.
		hidden := skill("hidden", "Hidden", "")
		hidden.Tags, hidden.Policy.AllowImplicit = office, false
		r := pannier.Resolution{Active: []pannier.ActiveSkill{{Slug: "hidden", Reason: pannier.ViaReference}}}
		for _, e := range groups {
			r.Active = append(r.Active, pannier.ActiveSkill{Slug: e.Slug, Reason: pannier.ViaImplicit})
		}
		s := &pannier.Snapshot{Entries: append([]*pannier.Entry{hidden}, groups...)}
		named := prompt.Render(s, r, nil, prompt.Options{Format: format, MaxChars: 1000})
		want = strings.TrimSuffix(want, "\n") + ", hidden\n"
		if !strings.Contains(named.Text, want) {
			t.Errorf("%s: got\n%s\nwant %s", format, named.Text, want)
		}
		// Where the labels do not fit, one line names more.
		for limit := 1; limit < 800; limit++ {
			p := renderAs(format, limit, nil, groups...)
			if runes(p) > limit || strings.Contains(p.Text, "office: ") && len(p.Omitted) > 0 {
				t.Fatalf("%s, limit %d: omitted %v of\n%s", format, limit, p.Omitted, p.Text)
			}
		}
	}
}

// TestNoRoomForNames says that there are skills, if that fits, and omits all of them.
func TestNoRoomForNames(t *testing.T) {
	entries := many(300, 200)
	for _, format := range prompt.Formats() {
		if format == prompt.AvailableSkillsReference || format == prompt.MoleculeSystem {
			continue
		}
		for tokens, says := range map[int]bool{1: false, 50: true} {
			p := renderVia(pannier.ViaImplicit, prompt.Options{Format: format, MaxTokens: tokens}, nil, entries...)
			if strings.Contains(p.Text, "find_skills") != says || p.TokensEstimate > tokens || len(p.Omitted)+len(p.Shortened) != 300 {
				t.Errorf("%s, %d tokens: %d omitted, %d shortened, %q", format, tokens, len(p.Omitted), len(p.Shortened), p.Text)
			}
		}
	}
}

// TestUnreadBodies describes skills whose bodies were not read, and says why.
func TestUnreadBodies(t *testing.T) {
	entries := []*pannier.Entry{skill("a", "A", "Does a."), skill("b", "B", "Does b."), skill("c", "C", "Does c.")}
	for _, format := range []string{prompt.SkillsXML, prompt.Molecule} {
		o := prompt.Options{Format: format, Unread: map[string]bool{"c": true}}
		for _, o.MaxChars = range []int{0, 600} {
			p := renderVia(pannier.ViaReference, o, map[string]string{"a": "The body of a."}, entries...)
			if got := fmt.Sprint(p.Shortened); len(p.Omitted) > 0 || got != "[{b body limit} {c body not_read}]" {
				t.Errorf("%s, limit %d: omitted %v, shortened %s in\n%s", format, o.MaxChars, p.Omitted, got, p.Text)
			}
			if strings.Count(p.Text, "Does ") != 2+strings.Count(p.Text, "Does a.") {
				t.Errorf("%s: not described in\n%s", format, p.Text)
			}
		}
	}
}
