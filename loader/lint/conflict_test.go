package lint_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"pannier"
	"pannier/config"
	"pannier/loader/lint"
)

// TestProfileConflicts: what one profile reads and another forbids is told once, for information, where all profiles are asked.
func TestProfileConflicts(t *testing.T) {
	dir := treeOf(t, map[string]string{
		"config.yaml":               "skills: [one, two-words, BAD]\n",
		"skills/one/SKILL.md":       "---\nname: one\ndescription: d\nruntime: claude-code\nmetadata:\n  version: 1.0.0\n---\nDo it.\n",
		"skills/two-words/SKILL.md": "---\nname: two-words\ndescription: d\nversion: 1.0.0\n---\nDo it.\n",
		"skills/BAD/SKILL.md":       "---\nname: BAD-x\ndescription: d\nslug: bad\nmetadata:\n  version: 1.0.0\n---\nDo it.\n",
	})
	o := optionsFor(dir, "one", "two-words", "BAD")
	o.Profile = lint.ProfileAll
	want := `PASS one: info audit.profile_conflict runtime
FAIL two-words: error strict.field.unknown version, info audit.profile_conflict name
FAIL bad: error strict.name.lowercase name, error strict.name.folder name, error molecule.name.invalid name, warning openclaw.name.snake_case name, info audit.profile_conflict slug
`
	var got string
	for _, s := range audit(t, o).Skills {
		got += fmt.Sprintf("%s %s:", s.Status, s.Slug)
		for i, p := range s.Problems {
			if i > 0 {
				got += ","
			}
			got += fmt.Sprintf(" %s %s %s", p.Severity, p.Code, p.Field)
		}
		got += "\n"
	}
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	o.Profile = lint.ProfileAgentSkills
	if r := audit(t, o); r.Skills[0].Status != lint.Fail {
		t.Errorf("%s alone passes a field that it forbids", o.Profile)
	}
}

// TestExamplesPass: the skills of the sample workspace pass all profiles together, and each profile alone but for what only a
// platform reads: "version Yes Semantic version" (Molecule skills, "Frontmatter Fields").
func TestExamplesPass(t *testing.T) {
	dir, err := filepath.Abs("../../examples/workspace")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range lint.Profiles() {
		o := optionsFor(dir)
		o.Profile, o.All = name, true
		o.Workspace = config.NewWorkspaceReader(dir, 0).Read()
		for _, s := range audit(t, o).Skills {
			for _, p := range s.Problems {
				if p.Severity == pannier.SeverityError && (name != lint.ProfileAgentSkills || p.Field != "runtime") {
					t.Errorf("%s: %s", name, p)
				}
			}
			if s.Status == lint.Fail && s.Slug != "pair-review" {
				t.Errorf("%s: %s fails", name, s.Slug)
			}
		}
	}
}
