package oracle_test

import (
	"strings"
	"testing"

	"pannier/internal/testbench/oracle"
)

// shown is a list with two skills, as a sidecar shows the tree of the tests here.
func shown(tree oracle.Tree) oracle.List {
	return oracle.List{TreeDigest: tree.Digest(), Skills: []oracle.Listed{
		{Slug: "a", Path: "skills/a", Digest: "sha256:" + tree[0].Text},
		{Slug: "b", Path: "skills/b", Digest: "sha256:" + tree[1].Text},
	}}
}

func TestCompareSaysWhatDiffers(t *testing.T) {
	tree := oracle.Tree{{Path: "skills/a", Text: sumOf("a")}, {Path: "skills/b", Text: sumOf("b")}}
	for _, test := range []struct {
		name   string
		change func(l *oracle.List)
		want   string // "" means that nothing differs
	}{
		{"nothing", func(*oracle.List) {}, ""},
		{"missing", func(l *oracle.List) { l.Skills = l.Skills[:1] }, "missing: skills/b"},
		{"extra", func(l *oracle.List) { l.Skills = append(l.Skills, oracle.Listed{Slug: "c", Path: "skills/c"}) }, "extra: skills/c"},
		{"twice", func(l *oracle.List) { l.Skills = append(l.Skills, l.Skills[0]) }, "twice: skills/a"},
		{"other digest", func(l *oracle.List) { l.Skills[0].Digest = "sha256:00" }, "other digest: skills/a"},
		{"other kind", func(l *oracle.List) { l.Skills[0].ToolsOnly = true }, "other kind: skills/a"},
		{"other tree digest", func(l *oracle.List) { l.TreeDigest = "sha256:00" }, "tree_digest sha256:00"},
		{"in its grace", func(l *oracle.List) {
			l.Skills = append(l.Skills, oracle.Listed{Slug: "c", Path: "skills/c", Deleting: true})
			l.Held.Deleting = []string{"c"}
		}, ""},
		{"in its grace and not named", func(l *oracle.List) {
			l.Skills = append(l.Skills, oracle.Listed{Slug: "c", Path: "skills/c", Deleting: true})
		}, "held: deleting"},
		{"in its grace and there", func(l *oracle.List) {
			l.Skills[0].Deleting = true
			l.Held.Deleting = []string{"a"}
		}, "deleting though it is there: skills/a"},
		{"held as it was", func(l *oracle.List) {
			l.Skills[0].LastGood, l.Skills[0].Digest = true, "sha256:00"
			l.Held.LastGood = []string{"a"}
		}, ""},
		{"held and not named", func(l *oracle.List) { l.Skills[0].LastGood = true }, "held: last_good"},
		{"named and not held", func(l *oracle.List) { l.Held.LastGood = []string{"a"} }, "held: last_good"},
		{"held, and the disk is not seen", func(l *oracle.List) {
			l.Skills[0].LastGood, l.TreeDigest = true, "sha256:00"
			l.Held.LastGood = []string{"a"}
		}, "tree_digest sha256:00"},
	} {
		t.Run(test.name, func(t *testing.T) {
			list := shown(tree)
			test.change(&list)
			err := list.Against(tree)
			if (err == nil) != (test.want == "") || err != nil && !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}
