package registry_test

import (
	"testing"

	"pannier"
	"pannier/registry"
)

func TestPreflight(t *testing.T) {
	here := func(slug string, conflicts ...string) *pannier.Skill {
		return &pannier.Skill{Slug: slug, Path: "skills/" + slug, PathBelowRoot: slug, Folder: slug, Name: slug, SourceKind: pannier.SourceWorkspace, Conflicts: conflicts}
	}
	old := here("pdf")
	r := registry.New(registry.Options{Inputs: registry.Inputs{
		Catalog:     pannier.Catalog{Skills: []*pannier.Skill{here("a"), old, here("z", "new")}},
		Workspace:   pannier.Workspace{Listed: true, Skills: []string{"a", "pdf", "z"}},
		Environment: pannier.Environment{OS: "linux"},
		Judges:      known{reasons: map[string][]pannier.Reason{"skills/pdf": reasons("security_blocked file.virus")}}.judges(),
	}})
	before := r.Update(func(*registry.Inputs) {})
	tests := []struct {
		name   string
		skill  *pannier.Skill
		state  pannier.State
		reason string
		skills int
	}{
		{"in the place of a blocked one", here("pdf"), pannier.StateEligible, "", 3},
		{"not listed yet", here("fresh"), pannier.StateEligible, "", 4},
		{"missing executable", func() *pannier.Skill {
			s := here("needy")
			s.Requirements.Bins = []string{"nowhere"}
			return s
		}(), pannier.StateIneligible, pannier.ReasonMissingBinary, 4},
		{"conflicts", here("cross", "a"), pannier.StateIneligible, pannier.ReasonConflict, 4},
		{"slug of another path", func() *pannier.Skill {
			s := here("a")
			s.Path, s.PathBelowRoot, s.Folder = "skills/other/a", "other/a", "a"
			return s
		}(), pannier.StateShadowed, "", 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, s := r.Preflight(tt.skill)
			if e.State != tt.state || len(s.Entries) != tt.skills {
				t.Errorf("%s of %d, %+v", e.State, len(s.Entries), e.Reasons)
			}
			if tt.reason != "" && (len(e.Reasons) == 0 || e.Reasons[0].Code != tt.reason) {
				t.Errorf("reasons %+v, want %s", e.Reasons, tt.reason)
			}
			if r.Current() != before {
				t.Error("it is served")
			}
		})
	}
}

// TestPreflightOfADescribedSkill judges a skill whose description is found in its files.
func TestPreflightOfADescribedSkill(t *testing.T) {
	skill := &pannier.Skill{Slug: "nd", Path: "skills/nd", PathBelowRoot: "nd", Folder: "nd", Name: "nd", SourceKind: pannier.SourceWorkspace}
	r := registry.New(registry.Options{Inputs: registry.Inputs{
		Catalog: pannier.Catalog{Skills: []*pannier.Skill{skill}},
		Judges:  known{found: map[string]*pannier.Contents{"skills/nd": {Description: "First line.", Digest: pannier.Digest{1}}}}.judges(),
	}})
	again := *skill
	if e, s := r.Preflight(&again); e.Path != skill.Path || e.Description != "First line." || len(s.Entries) != 1 {
		t.Errorf("%+v of %d", e, len(s.Entries))
	}
}
