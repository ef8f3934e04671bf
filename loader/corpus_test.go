package loader_test

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/internal/testbench/realskills"
	"pannier/loader"
)

const corpusGolden = "testdata/corpus.golden"

// corpusRules take a whole directory of repositories as one root of one workspace, so deep and so wide that no bound is met.
func corpusRules(t *testing.T) pannier.DiscoveryRules {
	t.Helper()
	corpus := realskills.Dir(t)
	rules := rulesFor(corpus)
	rules.Skip, rules.MaxDepth, rules.MaxDirs = nil, 64, 1<<20
	return rules
}

// TestCorpus reads skills as people publish them: $PANNIER_CORPUS is a directory of repositories. What becomes of each
// SKILL.md in it is pinned in a golden file.
func TestCorpus(t *testing.T) {
	rules := corpusRules(t)
	got := account(t, rules)
	sums := map[string]int{}
	for _, outcome := range got {
		kind, codes, _ := strings.Cut(outcome, " ")
		sums[kind]++
		for code := range strings.FieldsSeq(codes) {
			sums["  "+code]++
		}
	}
	for _, what := range slices.Sorted(maps.Keys(sums)) {
		t.Logf("%6d %s", sums[what], what)
	}

	var text strings.Builder
	for _, path := range slices.Sorted(maps.Keys(got)) {
		fmt.Fprintf(&text, "%s: %s\n", path, got[path])
	}
	realskills.CheckGolden(t, corpusGolden, text.String())
}

// TestCorpusWithinBounds accounts for the same files by the bounds that pannier has by itself, and by narrow ones.
func TestCorpusWithinBounds(t *testing.T) {
	for _, bounds := range []struct{ depth, dirs int }{{6, 20000}, {3, 20000}, {6, 500}} {
		rules := corpusRules(t)
		rules.MaxDepth, rules.MaxDirs = bounds.depth, bounds.dirs
		account(t, rules)
	}
}

// account returns what becomes of each SKILL.md of a root, by its path below that: "usable" or "broken" with the codes of
// its problems, or why no skill is made of it. It fails where the loader finds files that a walk of its own does not find.
func account(t *testing.T, rules pannier.DiscoveryRules) map[string]string {
	t.Helper()
	l := loader.New(loader.Options{Rules: rules})
	outcomes := map[string]string{}
	note := func(path, outcome string) {
		if before, ok := outcomes[path]; ok {
			t.Errorf("%s is %s and %s", path, before, outcome)
		}
		outcomes[path] = outcome
	}
	for _, s := range load(t, l, pannier.Batch{Full: true}).Skills {
		if s.ToolsOnly {
			note(s.PathBelowRoot+"/tools", outcomeOf(t, l, s))
			continue
		}
		note(s.PathBelowRoot+"/"+s.File, outcomeOf(t, l, s))
	}
	root := rules.Roots[0].Path
	walked := skillFiles(t, root)
	for _, path := range walked {
		if _, ok := outcomes[path]; !ok {
			outcomes[path] = notMade(rules, path, outcomes)
		}
	}
	for _, dir := range walkTools(root) {
		walked = append(walked, dir+"/tools")
	}
	slices.Sort(walked)
	if diff := cmp.Diff(walked, slices.Sorted(maps.Keys(outcomes))); diff != "" {
		t.Errorf("walked -, accounted for +:\n%s", diff)
	}
	t.Logf("%d SKILL.md", len(walked))
	return outcomes
}

// notMade returns why no skill is made of a SKILL.md.
func notMade(rules pannier.DiscoveryRules, file string, outcomes map[string]string) string {
	for dir := path.Dir(path.Dir(file)); dir != "."; dir = path.Dir(dir) {
		if _, ok := outcomes[dir+"/"+pannier.SkillFile]; ok {
			return "nested"
		}
	}
	if slices.ContainsFunc(strings.Split(path.Dir(file), "/"), rules.Skips) {
		return "skipped"
	}
	return "unreached"
}

// outcomeOf checks a skill in every way that pannier has to read it, and returns what becomes of it.
func outcomeOf(t *testing.T, l *loader.Loader, s *pannier.Skill) string {
	t.Helper()
	checkSkill(t, s)
	if _, _, err := l.Files(t.Context(), s); err != nil {
		t.Errorf("%s: %v", s.Path, err)
	}
	in, err := l.Inspect(t.Context(), s)
	if err != nil || len(in.Conformance) != 4 {
		t.Errorf("%s: verdicts %v, error %v", s.Path, in.Conformance, err)
	}
	outcome := "usable"
	switch {
	case s.Broken:
		outcome = "broken"
		if len(s.Problems) == 0 || s.Problems[0].Severity != pannier.SeverityError || s.Problems[0].Code == "" || s.Problems[0].Hint == "" {
			t.Errorf("%s cannot be used, and no problem says why: %v", s.Path, s.Problems)
		}
	case s.ToolsOnly:
		outcome = "tools"
	default:
		if _, err := l.Read(t.Context(), s); err != nil {
			t.Errorf("%s: %v", s.Path, err)
		}
	}
	return strings.Join(append([]string{outcome}, slices.Compact(slices.Sorted(slices.Values(codes(slices.Concat(s.Problems, in.Problems)))))...), " ")
}

// skillFiles returns every SKILL.md below a directory, in whatever case its name is written, by path in bytes.
func skillFiles(t *testing.T, root string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && strings.EqualFold(e.Name(), "SKILL.md") {
			rel, _ := filepath.Rel(root, path)
			files = append(files, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	return files
}
