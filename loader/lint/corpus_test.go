package lint_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pannier"
	"pannier/internal/testbench/realskills"
	"pannier/loader/lint"
)

const corpusGolden = "testdata/corpus.golden"

// corpusOptions audit $PANNIER_CORPUS, a directory of repositories, as one directory of skills.
func corpusOptions(tb testing.TB) lint.Options {
	tb.Helper()
	corpus := realskills.Dir(tb)
	o := optionsFor(corpus)
	o.Rules.Roots = []pannier.Root{{Path: corpus, Name: ".", Kind: pannier.SourceWorkspace}}
	o.Profile = lint.ProfileAll
	return o
}

// TestCorpus audits skills as people publish them. How many pass which profile, and what could be mended in them, is
// pinned in a golden file.
func TestCorpus(t *testing.T) {
	o := corpusOptions(t)
	var text strings.Builder
	for _, o.Profile = range lint.Profiles() {
		r := audit(t, o)
		fmt.Fprintf(&text, "%s: %d skills, %d fail: %d errors, %d warnings\n", o.Profile, r.Summary.Checked, r.Summary.Failed, r.Summary.Errors, r.Summary.Warnings)
		for _, s := range r.Skills {
			for _, p := range s.Problems {
				if !strings.HasPrefix(p.Path, s.Path) || p.Code == "audit.changed" {
					t.Errorf("%#v", p)
				}
				checkProblem(t, p)
			}
		}
	}
	o.Profile = lint.ProfileAgentSkills
	counts := map[string]int{}
	fixes, left := planned(t, o)
	for _, f := range fixes {
		for _, c := range f.Changes {
			counts[strings.Join(strings.FieldsFunc(c.What, func(r rune) bool { return '0' <= r && r <= '9' }), "N")]++
		}
		before := readFile(t, filepath.Join(o.Rules.Workspace, f.Path))
		checkFix(t, before, filepath.Base(filepath.Dir(f.Path)))
	}
	for _, s := range audit(t, o).Skills {
		if before := filepath.Join(o.Rules.Workspace, s.Path, pannier.SkillFile); isFile(before) {
			checkFix(t, readFile(t, before), "")
			checkMended(t, readFile(t, before))
		}
	}
	fmt.Fprintf(&text, "could be mended: %d files, left alone: %d\n", len(fixes), len(left))
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&text, "%5d %s\n", counts[what], what)
	}
	realskills.CheckGolden(t, corpusGolden, text.String())
}

// BenchmarkCorpus audits it by all profiles.
func BenchmarkCorpus(b *testing.B) {
	o := corpusOptions(b)
	skills := 0
	for b.Loop() {
		skills = audit(b, o).Summary.Checked
	}
	b.ReportMetric(float64(skills), "skills")
}

// BenchmarkFixText mends a text of usual length in three places.
func BenchmarkFixText(b *testing.B) {
	text := []byte("\ufeff---\nname: a\ndescription: a: b\nversion: 1\n---# Title\n" + strings.Repeat("A line of a body as it is.\n", 200))
	for b.Loop() {
		if _, changes := lint.FixText(text, "a"); len(changes) != 3 {
			b.Fatal(changes)
		}
	}
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
