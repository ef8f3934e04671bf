package lint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
)

// TestUnmade reports each SKILL.md that no skill is made of, by the reason why discovery does not read it.
func TestUnmade(t *testing.T) {
	tests := []struct {
		name  string
		dirs  []string // with a SKILL.md
		links map[string]string
		max   int // directories
		want  map[string]string
	}{
		{"only skills", []string{"a", "b/c", ".d"}, nil, 0, nil},
		{"below a skill", []string{"a", "a/b", "a/b/c", "a/x/y/z", "b"}, nil, 0, map[string]string{
			"root.nested_skills": "3 SKILL.md lie below a skill, which is not searched for further ones: a/b/SKILL.md, a/b/c/SKILL.md, a/x/y/z/SKILL.md",
		}},
		{"skipped", []string{".d/a", ".d/a/b", "g/.e/c", "node_modules/m", "s"}, nil, 0, map[string]string{
			"root.skipped_skills": "4 SKILL.md lie in directories that are skipped: .d/a/SKILL.md, .d/a/b/SKILL.md, g/.e/c/SKILL.md, node_modules/m/SKILL.md",
		}},
		{"a skill in spite of its name", []string{".d", ".d/a"}, nil, 0, map[string]string{
			"root.nested_skills": "1 SKILL.md lies below a skill, which is not searched for further ones: .d/a/SKILL.md",
		}},
		{"too deep", []string{"1/2/3/4/5/6/7", "1/2/3/4/5/6/7/.8/9", "1/2/3/4/5/x", "1/2/3/4/5/x/7"}, nil, 0, map[string]string{
			"root.nested_skills":    "1 SKILL.md lies below a skill, which is not searched for further ones: 1/2/3/4/5/x/7/SKILL.md",
			"root.unreached_skills": "2 SKILL.md lie deeper than six directories, or past max_dirs: 1/2/3/4/5/6/7/.8/9/SKILL.md, 1/2/3/4/5/6/7/SKILL.md",
		}},
		{"too many", []string{"a", "b", "b/n", "c/d", "c/d/n", "e/f"}, nil, 6, map[string]string{
			"root.nested_skills":    "2 SKILL.md lie below a skill, which is not searched for further ones: b/n/SKILL.md, c/d/n/SKILL.md",
			"root.unreached_skills": "1 SKILL.md lies deeper than six directories, or past max_dirs: e/f/SKILL.md",
		}},
		{"many names", []string{"s", "s/1", "s/2", "s/3", "s/4", "s/5", "s/6", "s/7"}, nil, 0, map[string]string{
			"root.nested_skills": "7 SKILL.md lie below a skill, which is not searched for further ones: s/1/SKILL.md, s/2/SKILL.md, s/3/SKILL.md, s/4/SKILL.md, s/5/SKILL.md, and 2 more",
		}},
		{"pannier's own directory, and the generations of a volume", []string{".pannier/x", "..2026_1/a", "g/.pannier/n"}, map[string]string{"a": "..2026_1/a"}, 0, map[string]string{
			"root.skipped_skills": "1 SKILL.md lies in directories that are skipped: g/.pannier/n/SKILL.md",
		}},
		{"a link to a skill", []string{"zz"}, map[string]string{"aa": "zz", "zz/loop": "."}, 0, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]string{}
			for _, dir := range tt.dirs {
				files[filepath.Join("skills", dir, "SKILL.md")] = fmt.Sprintf(fine, "x")
			}
			dir := treeOf(t, files)
			for link, to := range tt.links {
				if err := os.Symlink(to, filepath.Join(dir, "skills", link)); err != nil {
					t.Fatal(err)
				}
			}
			o := optionsFor(dir)
			if tt.max > 0 {
				o.Rules.MaxDirs = tt.max
			}
			o.Rules.Skip = []string{"node_modules"}
			var got map[string]string
			for _, p := range audit(t, o).Problems {
				if strings.HasSuffix(p.Code, "_skills") {
					if got == nil {
						got = map[string]string{}
					}
					got[p.Code] = p.Message
					if warns := p.Severity == pannier.SeverityWarning; p.Path != "skills" || p.Hint == "" || warns != (p.Code == "root.unreached_skills") {
						t.Errorf("%+v", p)
					}
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

// TestUnmadeOfSeveralRoots leaves a root that lies in another one, or is the same, to itself.
func TestUnmadeOfSeveralRoots(t *testing.T) {
	text := fmt.Sprintf(fine, "x")
	dir := treeOf(t, map[string]string{"skills/a/SKILL.md": text, "skills/deep/SKILL.md": text, "skills/deep/more/b/SKILL.md": text})
	if err := os.Symlink("skills", filepath.Join(dir, "again")); err != nil {
		t.Fatal(err)
	}
	o := optionsFor(dir)
	for _, name := range []string{"skills/deep/more", "again"} {
		o.Rules.Roots = append(o.Rules.Roots, pannier.Root{Path: filepath.Join(dir, name), Name: name, Kind: pannier.SourceExtra})
	}
	for _, p := range audit(t, o).Problems {
		if strings.HasSuffix(p.Code, "_skills") || p.Code == "root.uncounted" {
			t.Errorf("%+v", p)
		}
	}
}

// TestUnmadeUnreadable counts directories that cannot be read.
func TestUnmadeUnreadable(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads every directory")
	}
	dir := treeOf(t, map[string]string{"skills/a/SKILL.md": fmt.Sprintf(fine, "a"), "skills/a/closed/x": ""})
	if err := os.Chmod(filepath.Join(dir, "skills/a/closed"), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "skills/a/closed"), 0o755) })
	problems := audit(t, optionsFor(dir)).Problems
	if !slices.ContainsFunc(problems, func(p pannier.Problem) bool {
		return p.Code == "root.uncounted" && strings.HasPrefix(p.Message, "1 directories")
	}) {
		t.Errorf("%+v", problems)
	}
}
