package loader_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pannier"
	"pannier/loader"
)

// TestCorpus reads skills as people publish them: $PANNIER_CORPUS is a directory of repositories.
func TestCorpus(t *testing.T) {
	corpus := os.Getenv("PANNIER_CORPUS")
	if corpus == "" {
		t.Skip("PANNIER_CORPUS names no directory of repositories")
	}
	repositories, err := os.ReadDir(corpus)
	if err != nil {
		t.Fatal(err)
	}
	outcomes := map[string]int{}
	for _, repository := range repositories {
		root := filepath.Join(corpus, repository.Name())
		rules := rulesFor(root)
		rules.Skip, rules.MaxDepth, rules.MaxDirs = nil, 64, 1<<20
		l := loader.New(loader.Options{Rules: rules})
		c := load(t, l, pannier.Batch{Full: true})
		for _, s := range c.Skills {
			checkSkill(t, s)
			count(outcomes, s)
			if s.Broken {
				continue
			}
			if _, err := l.Read(t.Context(), s); err != nil {
				t.Errorf("%s: %v", s.Path, err)
			}
			if _, _, err := l.Files(t.Context(), s); err != nil {
				t.Errorf("%s: %v", s.Path, err)
			}
		}
		wantEvery(t, root, c)
	}
	for _, code := range slices.Sorted(maps.Keys(outcomes)) {
		t.Logf("%6d %s", outcomes[code], code)
	}
}

func count(outcomes map[string]int, s *pannier.Skill) {
	outcomes["skills"]++
	if s.Broken {
		outcomes["broken"]++
		if p := s.Problems[0]; p.Line == 0 && strings.HasPrefix(p.Code, "skill.frontmatter.") {
			outcomes["broken without a line"]++
		}
	}
	for _, p := range s.Problems {
		outcomes[string(p.Severity)+" "+p.Code]++
	}
}

// wantEvery fails where a SKILL.md is not in the catalog, but for those within another skill or a hidden directory.
func wantEvery(t *testing.T, root string, c pannier.Catalog) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if _, err := os.Lstat(filepath.Join(path, pannier.SkillFile)); err == nil && rel != "." {
			if !slices.Contains(paths(c), filepath.ToSlash(rel)) {
				t.Errorf("%s is not in the catalog", path)
			}
			return fs.SkipDir
		}
		if strings.HasPrefix(e.Name(), ".") && rel != "." {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
