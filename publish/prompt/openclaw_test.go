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

// OpenClaw shows at most 150 skills, whatever the limit is. The names of all come before them.
func TestOpenClawMost(t *testing.T) {
	for _, n := range []int{150, 151} {
		p := renderAs(prompt.OpenClaw, 0, nil, many(n, 10)...)
		if shown := strings.Count(p.Text, "<skill>"); shown != 150 || strings.Contains(p.Text, "<skill_names>") != (n > 150) || len(p.Shortened) != n-150 || len(p.Omitted) > 0 {
			t.Errorf("%d skills: %d shown, left out %q", n, shown, leftOut(p))
		}
	}
}

// TestOpenClawOrder has the skills by name where all are shown, so that the text does not depend on the turn.
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
	if want := []string{"e", "b", "d", "c", "a"}; !slices.Equal(got[1:], want) {
		t.Errorf("got %v, want %v", got[1:], want)
	}
}
