package lint_test

import (
	"slices"
	"strings"
	"testing"

	"pannier"
	"pannier/loader/lint"
)

const described = "---\nname: a\ndescription: d\n---\nDo it.\n"

// TestMissingVersion is an error in a workspace with a config.yaml, and a warning elsewhere.
func TestMissingVersion(t *testing.T) {
	dir := treeOf(t, map[string]string{"skills/a/SKILL.md": described})
	o := optionsFor(dir)
	if s := audit(t, o).Skills[0]; s.Status != lint.Pass || len(s.Problems) != 1 || s.Problems[0].Severity != pannier.SeverityWarning {
		t.Errorf("%+v", s)
	}
	o.Configured = true
	if s := audit(t, o).Skills[0]; s.Status != lint.Fail {
		t.Errorf("%+v", s)
	}
}

// TestSharedSlug tells of each skill whose slug another one has, with the paths of the first few.
func TestSharedSlug(t *testing.T) {
	files := map[string]string{"skills/b/SKILL.md": described}
	for _, dir := range []string{"v", "w", "x", "y", "z"} {
		files["skills/"+dir+"/a/SKILL.md"] = described
	}
	o := optionsFor(treeOf(t, files))
	for _, inWorkspace := range []bool{false, true} {
		severity := pannier.SeverityInfo
		if inWorkspace {
			severity, o.Workspace.Fields = pannier.SeverityWarning, map[string]pannier.Digest{}
		}
		for _, s := range audit(t, o).Skills {
			i := slices.IndexFunc(s.Problems, func(p pannier.Problem) bool { return p.Code == "audit.slug_shared" })
			switch {
			case s.Slug == "b":
				if i >= 0 {
					t.Errorf("%s: %v", s.Path, s.Problems)
				}
			case i < 0 || s.Problems[i].Severity != severity || !strings.Contains(s.Problems[i].Message, " and 1 more; ") || strings.Contains(s.Problems[i].Message, s.Path):
				t.Errorf("%s: %v", s.Path, s.Problems)
			}
		}
	}
}

// TestHiddenRoots finds the directories of skills that discovery does not enter, and no others.
func TestHiddenRoots(t *testing.T) {
	dir := treeOf(t, map[string]string{
		".claude/skills/a/SKILL.md": described, ".agents/skills/a/SKILL.md": described, ".github/skills/a/SKILL.md": described, ".codex/skills/a/SKILL.md": described,
		".github/workflows/x": "", ".cursor/rules/x": "", ".git/skills/a/SKILL.md": described, ".hidden/a/SKILL.md": described,
		"skills/.curated/a/SKILL.md": described, "skills/b/SKILL.md": described, "skills/b/.claude/skills/c/SKILL.md": described,
		"packages/p/.claude/skills/.system/a/SKILL.md": described, "node_modules/p/.claude/skills/a/SKILL.md": described,
	})
	o := optionsFor(dir)
	o.Rules.Skip = []string{"node_modules"}
	var got []string
	for _, r := range lint.HiddenRoots(dir, o.Rules) {
		got = append(got, r.Name)
	}
	slices.Sort(got)
	want := []string{".agents/skills", ".claude/skills", ".codex/skills", ".github/skills", "packages/p/.claude/skills", "packages/p/.claude/skills/.system", "skills/.curated"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	o.Rules.MaxDirs = 1
	if few := lint.HiddenRoots(dir, o.Rules); len(few) >= len(want) {
		t.Errorf("%d roots within one directory", len(few))
	}
}
