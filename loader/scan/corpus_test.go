package scan_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pannier/internal/realskills"
	"pannier/loader/scan"
)

const corpusGolden = "testdata/corpus.golden"

// corpusSkills returns every directory with a SKILL.md below $PANNIER_CORPUS, a directory of repositories.
func corpusSkills(tb testing.TB) (string, []string) {
	tb.Helper()
	corpus := realskills.Dir(tb)
	var dirs []string
	err := filepath.WalkDir(corpus, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && strings.EqualFold(e.Name(), "SKILL.md") {
			rel, _ := filepath.Rel(corpus, filepath.Dir(path))
			dirs = append(dirs, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil || len(dirs) == 0 {
		tb.Fatalf("%d skills, error %v", len(dirs), err)
	}
	return corpus, dirs
}

// TestCorpus scans skills as people publish them. How often each rule finds something, and what blocks, is pinned in a
// golden file: a rule that blocks what people do in good faith shows there.
func TestCorpus(t *testing.T) {
	corpus, dirs := corpusSkills(t)
	root, err := os.OpenRoot(corpus)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	counts := map[string]int{}
	var blocking []string
	for _, dir := range dirs {
		report, err := scan.Directory(t.Context(), root, dir, scan.Options{})
		if err != nil || report.Truncated {
			t.Errorf("%s: truncated %v, error %v", dir, report.Truncated, err)
		}
		counts["decision "+report.Decision]++
		for _, f := range report.Findings {
			counts[f.Rule]++
			if f.Blocking {
				blocking = append(blocking, fmt.Sprintf("%s/%s:%d %s", dir, f.Path, f.Line, f.Rule))
			}
			if testing.Verbose() {
				t.Logf("%s/%s:%d: %s: %s", dir, f.Path, f.Line, f.Rule, f.Message)
			}
		}
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%d skills\n", len(dirs))
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&text, "%6d %s\n", counts[what], what)
	}
	for _, line := range blocking {
		fmt.Fprintln(&text, line)
	}
	realskills.CheckGolden(t, corpusGolden, text.String())
}
