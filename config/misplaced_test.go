package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/config"
)

func TestMisplaced(t *testing.T) {
	for _, test := range []struct {
		name  string
		files []string
		root  string
		want  []string
	}{
		{"none", []string{"config.yaml", "skills/a/SKILL.md", "configs/own.json", "docs/SKILL.md"}, "skills", nil},
		{"config.yaml", []string{"configs/config.yaml", "configs/skills/a/SKILL.md"}, "skills", []string{"configs/config.yaml"}},
		{"skills", []string{"configs/skills/a/SKILL.md"}, "skills", []string{"configs/skills"}},
		{"prompt", []string{"configs/system-prompt.md"}, "skills", []string{"configs/system-prompt.md"}},
		{"upload", []string{"SKILL.md"}, "skills", []string{"SKILL.md"}},
		{"upload one too deep", []string{"configs/SKILL.md", "SKILL.md"}, "skills", []string{"configs/SKILL.md", "SKILL.md"}},
		{"root below", []string{"configs/skills/a/SKILL.md"}, "configs/skills", nil},
		{"root at the top", []string{"SKILL.md"}, ".", nil},
		{"a directory", []string{"SKILL.md/a", "configs"}, "skills", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, file := range test.files {
				path := filepath.Join(dir, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var got []string
			for _, p := range config.Misplaced(pannier.DiscoveryRules{Workspace: dir, Roots: []pannier.Root{{Path: filepath.Join(dir, test.root)}}}) {
				got = append(got, p.Path)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
