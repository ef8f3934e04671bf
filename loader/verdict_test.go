package loader_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/loader"
	"pannier/loader/profile"
)

func TestBlockingProfiles(t *testing.T) {
	tests := []struct {
		name, dir, text string
		block           []string
		blocked         []string
	}{
		{"no profile blocks", "PDF", good("d"), nil, nil},
		{"sound", "pdf", "---\nname: pdf\ndescription: d\n---\nbody\n", []string{profile.NameAgentSkills}, nil},
		{"name and folder differ", "pdf", good("d"), []string{profile.NameAgentSkills}, []string{profile.NameAgentSkills}},
		{"no version", "pdf", "---\nname: pdf\ndescription: d\n---\nbody\n", []string{profile.NameAgentSkills, profile.NameMolecule}, []string{profile.NameMolecule}},
		{"repaired", "pdf", "---\nname: pdf\ndescription: Use when: asked\n---\nbody\n", []string{profile.NameAgentSkills}, []string{profile.NameAgentSkills}},
		{"repeated key", "pdf", "---\nname: pdf\ndescription: c\ndescription: d\n---\nbody\n", []string{profile.NameAgentSkills}, []string{profile.NameAgentSkills}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			writeSkill(t, root, tt.dir, tt.text)
			rules := rulesFor(root)
			rules.Block = tt.block
			s := only(t, load(t, loader.New(loader.Options{Rules: rules}), pannier.Batch{Full: true}))
			if diff := cmp.Diff(tt.blocked, s.Blocked); diff != "" || s.Broken {
				t.Errorf("broken %t, want -, got +:\n%s\n%v", s.Broken, diff, s.Problems)
			}
			failed := slices.ContainsFunc(s.Problems, func(p pannier.Problem) bool {
				return p.Severity == pannier.SeverityError && p.Path == s.FilePath()
			})
			if failed != (tt.blocked != nil) {
				t.Errorf("problems %v", s.Problems)
			}
		})
	}
}

func TestBlockedSkillIsMended(t *testing.T) {
	root := t.TempDir()
	rules := rulesFor(root)
	rules.Block = []string{profile.NameAgentSkills}
	l := loader.New(loader.Options{Rules: rules})
	writeSkill(t, root, "pdf", good("d"))
	blocked := only(t, load(t, l, pannier.Batch{Full: true}))
	writeSkill(t, root, "pdf", broken)
	held := only(t, load(t, l, pannier.Batch{Full: true}))
	writeSkill(t, root, "pdf", strings.Replace(good("d"), "name: N", "name: pdf", 1))
	mended := only(t, load(t, l, pannier.Batch{Full: true}))
	if blocked.Blocked == nil || !held.LastGood || held.Blocked == nil || mended.Blocked != nil || len(mended.Problems) > 0 {
		t.Errorf("blocked %v, held %v, mended %v with %v", blocked.Blocked, held.Blocked, mended.Blocked, mended.Problems)
	}
}
