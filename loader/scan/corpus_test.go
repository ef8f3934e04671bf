package scan_test

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pannier/internal/testbench/realskills"
	"pannier/loader/scan"
)

// corpora are the golden files of the directories of repositories that variables name. Most skills of the first lack the files
// beside SKILL.md.
var corpora = map[string]string{"PANNIER_CORPUS": "testdata/corpus.golden", "PANNIER_CORPUS_WHOLE": "testdata/corpus_whole.golden"}

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

// minPrecision is the least part of the blocking findings in published skills that has to be deserved.
const minPrecision = 0.9

// verdicts returns what the golden file says of each blocking finding: "deserved" or "undeserved", and why. A person has
// looked at each of them.
func verdicts(tb testing.TB) map[string]string {
	tb.Helper()
	m := map[string]string{}
	for _, file := range corpora {
		golden, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		for line := range strings.Lines(string(golden)) {
			if finding, verdict, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); ok {
				m[finding] = verdict
			}
		}
	}
	return m
}

// TestCorpusPrecision counts the verdicts. It needs no corpus: [TestCorpus] holds the findings against it.
func TestCorpusPrecision(t *testing.T) {
	deserved := 0
	all := verdicts(t)
	for finding, verdict := range all {
		kind, why, _ := strings.Cut(verdict, ": ")
		if kind != "deserved" && kind != "undeserved" || why == "" {
			t.Errorf("%s: verdict %q; write deserved or undeserved, and why", finding, verdict)
		}
		if kind == "deserved" {
			deserved++
		}
	}
	t.Logf("%d of %d blocking findings are deserved", deserved, len(all))
	if len(all) == 0 || float64(deserved) < minPrecision*float64(len(all)) {
		t.Errorf("%d of %d blocking findings are deserved", deserved, len(all))
	}
}

// TestCorpus scans skills as people publish them. How often each rule finds something, and what blocks, is pinned in a
// golden file: a rule that blocks what people do in good faith shows there. -update keeps the verdicts that are there.
func TestCorpus(t *testing.T) {
	for variable, golden := range corpora {
		t.Run(variable, func(t *testing.T) {
			t.Setenv("PANNIER_CORPUS", os.Getenv(variable))
			testCorpus(t, golden)
		})
	}
}

func testCorpus(t *testing.T, golden string) {
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
	judged := verdicts(t)
	for _, line := range blocking {
		fmt.Fprintf(&text, "%s\t%s\n", line, cmp.Or(judged[line], "not judged"))
	}
	realskills.CheckGolden(t, golden, text.String())
}
