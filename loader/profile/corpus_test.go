package profile_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pannier"
	"pannier/internal/testbench/realskills"
	"pannier/loader/profile"
)

const corpusGolden = "testdata/corpus.golden"

// TestCorpus judges skills as people publish them: $PANNIER_CORPUS is a directory of repositories. How many of them each
// profile holds how much against is pinned in a golden file.
func TestCorpus(t *testing.T) {
	corpus := realskills.Dir(t)
	skills, counts := 0, map[string]int{}
	for _, file := range corpusFiles(t, corpus) {
		s := corpusSkill(t, corpus, file)
		skills++
		for _, name := range profile.Names() {
			problems := profile.Check(name, s)
			checkProblems(t, problems)
			verdict := " compliant"
			if codesOf(problems, pannier.SeverityError) != "" {
				verdict = " not compliant"
			}
			counts[name+verdict]++
			codes := map[string]bool{}
			for _, p := range problems {
				codes[name+" "+string(p.Severity)+" "+p.Code] = true
				t.Logf("%s %s: %s: %s", p, p.Field, name, p.Hint)
			}
			for code := range codes {
				counts[code]++
			}
		}
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%5d skills\n", skills)
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&text, "%5d %s\n", counts[what], what)
	}
	realskills.CheckGolden(t, corpusGolden, text.String())
}

// corpusFiles returns every SKILL.md below a directory, in whatever case its name is written.
func corpusFiles(t *testing.T, corpus string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(corpus, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && strings.EqualFold(e.Name(), "SKILL.md") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// corpusSkill reads a skill with all of its files.
func corpusSkill(t *testing.T, corpus, file string) profile.Skill {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(file)
	s := skillOf(filepath.Base(dir), string(text))
	s.File = filepath.Base(file)
	if rel, err := filepath.Rel(corpus, file); err == nil {
		s.Path = filepath.ToSlash(rel)
	}
	for i := range s.Faults {
		s.Faults[i].Path = s.Path
	}
	s.Files = []pannier.File{}
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		s.Files = append(s.Files, pannier.File{Path: filepath.ToSlash(rel), Size: info.Size()})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	s.ReadFile = func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, filepath.FromSlash(name))) }
	return s
}
