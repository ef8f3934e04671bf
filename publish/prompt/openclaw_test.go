package prompt_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pannier"
	"pannier/publish/prompt"
)

// many returns n skills whose names and locations have the same length.
func many(n, description int) []*pannier.Entry {
	var entries []*pannier.Entry
	for i := range n {
		slug := fmt.Sprintf("s%05d", i)
		entries = append(entries, skill(slug, slug, strings.Repeat("d", description)))
	}
	return entries
}

// TestOpenClawTiers has what the tiers cost: 97 characters for a skill, 65 without its description, and 150 set aside.
func TestOpenClawTiers(t *testing.T) {
	const name, location = 6, len("/workspace/skills/s00000/SKILL.md")
	head := runes(renderAs(prompt.OpenClaw, 0, nil, many(1, 10)...)) - 97 - name - 10 - location
	full := head + 100*(97+name+10+location)
	compact := head - len("description") + len("name") + 100*(65+name+location) + 150
	for _, tt := range []struct {
		what                      string
		skills, limit             int
		included, omitted, length int
		notice                    string
	}{
		{"full", 100, full, 100, 0, full, ""},
		{"compact", 100, full - 1, 100, 100, 0, "⚠️ Skills catalog using compact format (descriptions omitted). Run `openclaw skills check` to audit.\n\n\n"},
		{"compact to the reserve", 100, compact, 100, 100, 0, "⚠️ Skills catalog using compact format (descriptions omitted). Run `openclaw skills check` to audit.\n\n\n"},
		{"prefix", 100, compact - 1, 99, 100, 0, "⚠️ Skills truncated: included 99 of 100 (compact format, descriptions omitted). Run `openclaw skills check` to audit.\n\n\n"},
		{"prefix of one", 100, compact - 99*(65+name+location), 1, 100, 0, "⚠️ Skills truncated: included 1 of 100 (compact format, descriptions omitted). Run `openclaw skills check` to audit.\n\n\n"},
		{"notice alone", 100, compact - 99*(65+name+location) - 1, 0, 100, 0, "⚠️ Skills truncated: included 0 of 100 (compact format, descriptions omitted). Run `openclaw skills check` to audit."},
		{"nothing", 100, 10, 0, 100, 0, ""},
		{"as many as there may be", 150, 0, 150, 0, 0, ""},
		{"too many", 200, 0, 150, 50, 0, "⚠️ Skills truncated: included 150 of 200. Run `openclaw skills check` to audit.\n\n\n"},
	} {
		p := renderAs(prompt.OpenClaw, tt.limit, nil, many(tt.skills, 10)...)
		if n := strings.Count(p.Text, "<skill>"); n != tt.included || len(p.Omitted) != tt.omitted || p.Truncated != (tt.omitted > 0) || !strings.HasPrefix(p.Text, tt.notice) {
			t.Errorf("%s: %d skills, omitted %d, text %.200q", tt.what, n, len(p.Omitted), p.Text)
		}
		if tt.notice == "" && strings.Contains(p.Text, "⚠") || tt.length > 0 && runes(p) != tt.length || tt.limit > 0 && runes(p) > tt.limit {
			t.Errorf("%s: %d characters", tt.what, runes(p))
		}
		if described := strings.Contains(p.Text, "<description>"); described == strings.Contains(p.Text, "matches its name") && tt.included > 0 {
			t.Errorf("%s: described %t, text %.300q", tt.what, described, p.Text)
		}
	}
}

// The notice of too many skills counts too: where it does not fit, descriptions go.
func TestOpenClawNoticeIsWithinTheLimit(t *testing.T) {
	whole := renderAs(prompt.OpenClaw, 0, nil, many(200, 10)...)
	p := renderAs(prompt.OpenClaw, runes(whole)-1, nil, many(200, 10)...)
	if strings.Contains(p.Text, "<description>") || strings.Count(p.Text, "<skill>") != 150 || len(p.Omitted) != 200 {
		t.Errorf("%d skills in %.200q", strings.Count(p.Text, "<skill>"), p.Text)
	}
}

func TestOpenClawOrder(t *testing.T) {
	s := &pannier.Snapshot{Entries: []*pannier.Entry{
		skill("a", "zebra", ""), skill("b", "ape", ""), skill("c", "named", ""), skill("d", "ape", ""), skill("e", "also named", ""),
	}}
	var r pannier.Resolution
	for _, named := range []string{"e", "c"} {
		r.Active = append(r.Active, pannier.ActiveSkill{Slug: named, Reason: pannier.ViaReference})
	}
	for _, implicit := range []string{"a", "b", "d"} {
		r.Active = append(r.Active, pannier.ActiveSkill{Slug: implicit, Reason: pannier.ViaImplicit})
	}
	p := prompt.Render(s, r, nil, prompt.Options{Format: prompt.OpenClaw, Workspace: "/w"})
	var got []string
	for part := range strings.SplitSeq(p.Text, "<location>/w/skills/") {
		got = append(got, part[:1])
	}
	if want := []string{"e", "c", "b", "d", "a"}; !slices.Equal(got[1:], want) {
		t.Errorf("got %v, want %v", got[1:], want)
	}
}
