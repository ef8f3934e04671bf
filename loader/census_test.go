package loader_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/loader"
)

func TestCensus(t *testing.T) {
	tests := []struct {
		name string
		dirs []string
		want map[string][]string
	}{
		{"nothing but skills", []string{"a", "b/c", ".d"}, nil},
		{"below a skill", []string{"a", "a/b", "a/b/c", "a/x/y/z", "b"}, map[string][]string{
			"root.nested_skills": {"a/b/SKILL.md", "a/b/c/SKILL.md", "a/x/y/z/SKILL.md"},
		}},
		{"skipped", []string{".d/a", ".d/a/b", "g/.e/c", "node_modules/m", "s"}, map[string][]string{
			"root.skipped_skills": {".d/a/SKILL.md", ".d/a/b/SKILL.md", "g/.e/c/SKILL.md", "node_modules/m/SKILL.md"},
		}},
		{"a skill in spite of its name", []string{".d", ".d/a", "node_modules", "node_modules/.x"}, map[string][]string{
			"root.nested_skills": {".d/a/SKILL.md", "node_modules/.x/SKILL.md"},
		}},
		{"skipped below a skill is nested", []string{"a", "a/.d/b"}, map[string][]string{"root.nested_skills": {"a/.d/b/SKILL.md"}}},
		{"too deep", []string{"1/2/3/4/5/6/7", "1/2/3/4/5/6/7/.8/9", "1/2/3/4/5/x", "1/2/3/4/5/x/7"}, map[string][]string{
			"root.nested_skills":    {"1/2/3/4/5/x/7/SKILL.md"},
			"root.unreached_skills": {"1/2/3/4/5/6/7/.8/9/SKILL.md", "1/2/3/4/5/6/7/SKILL.md"},
		}},
		{"order of bytes", []string{"a", "a/b", "a/b-c", "a/B", "a/ä"}, map[string][]string{
			"root.nested_skills": {"a/B/SKILL.md", "a/b-c/SKILL.md", "a/b/SKILL.md", "a/ä/SKILL.md"},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := tree(t, tt.dirs...)
			l := loader.New(loader.Options{Rules: rulesFor(root)})
			for range 2 {
				wantCensus(t, l, tt.want)
			}
			if c := load(t, l, pannier.Batch{Full: true}); len(c.Skills)+counted(tt.want) != len(tt.dirs) {
				t.Errorf("%d skills and %d counted of %d SKILL.md", len(c.Skills), counted(tt.want), len(tt.dirs))
			}
		})
	}
}

// wantCensus fails where a census counts other paths, or tells of other numbers.
func wantCensus(t *testing.T, l *loader.Loader, want map[string][]string) {
	t.Helper()
	got, err := l.CensusPaths(t.Context(), loader.Again{All: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(want) == 0 {
		want = map[string][]string{}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	problems := takeCensus(t, l)
	for _, p := range problems {
		severity := pannier.SeverityInfo
		if p.Code == "root.unreached_skills" { // these are meant to be found
			severity = pannier.SeverityWarning
		}
		if !strings.HasPrefix(p.Message, fmt.Sprint(len(want[p.Code]), " SKILL.md lie")) || p.Severity != severity || p.Path != "skills" || p.Hint == "" {
			t.Errorf("told %+v", p)
		}
	}
	if len(problems) != len(want) {
		t.Errorf("told %v", problems)
	}
}

func counted(paths map[string][]string) int {
	n := 0
	for _, p := range paths {
		n += len(p)
	}
	return n
}

func takeCensus(tb testing.TB, l *loader.Loader) []pannier.Problem {
	tb.Helper()
	problems, err := l.Census(tb.Context(), loader.Again{All: true})
	if err != nil {
		tb.Fatal(err)
	}
	return problems
}

func TestCensusLeavesOutOwnDirectory(t *testing.T) {
	root := tree(t, "a", ".pannier/x", ".pannier/y/z", "g/.pannier/n")
	wantCensus(t, loader.New(loader.Options{Rules: rulesFor(root)}), map[string][]string{"root.skipped_skills": {"g/.pannier/n/SKILL.md"}})
}

func TestCensusLeavesOutVolumes(t *testing.T) {
	root := tree(t, "g/.hidden/x")
	publish(t, root, "..2026_1", generation(1))
	wantCensus(t, loader.New(loader.Options{Rules: rulesFor(root)}), map[string][]string{"root.skipped_skills": {"g/.hidden/x/SKILL.md"}})
}

func TestCensusNamesTheFirst(t *testing.T) {
	root := tree(t, "s")
	for i := range 12 {
		writeSkill(t, root, fmt.Sprintf("s/%x", 11-i), good("d"))
	}
	writeSkill(t, root, "s/0/0", good("d")) // found last, named first
	writeSkill(t, root, ".d/a", good("d"))
	want := []string{
		"13 SKILL.md lie below a skill, which is not searched for further ones: s/0/0/SKILL.md, s/0/SKILL.md, s/1/SKILL.md, s/2/SKILL.md, s/3/SKILL.md, and 8 more",
		"1 SKILL.md lies in directories that are skipped: .d/a/SKILL.md",
	}
	var got []string
	for _, p := range takeCensus(t, loader.New(loader.Options{Rules: rulesFor(root)})) {
		got = append(got, p.Message)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCensusOtherCases(t *testing.T) {
	root := tree(t, "a")
	mkdir(t, filepath.Join(root, "SKILL.md"))         // no skill: it is in the root
	writeSkill(t, root, "b/SKILL.md/x", good("d"))    // b is a skill that cannot be read
	writeSkill(t, root, "c/skill.md/x", good("d"))    // c is none
	mkdir(t, filepath.Join(root, "a/b/SKILL.md/sub")) // nor is this a file
	for _, dir := range []string{"a/lower", ".d", "e", "e/f"} {
		mkdir(t, filepath.Join(root, dir))
		write(t, filepath.Join(root, dir, "skill.md"), good("d"))
	}
	link(t, "../../a/SKILL.md", filepath.Join(root, "a/b/Skill.md"))
	writeSkill(t, root, "a/link", good("d"))
	link(t, "a", filepath.Join(root, "to-a"))
	link(t, ".", filepath.Join(root, "a/loop"))
	link(t, "../..", filepath.Join(root, "a/up"))
	wantCensus(t, loader.New(loader.Options{Rules: rulesFor(root)}), map[string][]string{
		"root.nested_skills":  {"a/link/SKILL.md", "a/lower/skill.md", "b/SKILL.md/x/SKILL.md", "e/f/skill.md"},
		"root.skipped_skills": {".d/skill.md"},
	})
}

func TestCensusPastMaxDirs(t *testing.T) {
	root := tree(t, "a", "b", "b/n", "c/d", "c/d/n", "e/f")
	rules := rulesFor(root)
	rules.MaxDirs = 6 // the root, the four right in it, and c/d
	l := loader.New(loader.Options{Rules: rules})
	wantPaths(t, load(t, l, pannier.Batch{Full: true}), "a", "b", "c/d")
	wantCensus(t, l, map[string][]string{
		"root.nested_skills": {"b/n/SKILL.md", "c/d/n/SKILL.md"}, "root.unreached_skills": {"e/f/SKILL.md"},
	})
}

// TestCensusReadsAgainWhatIsNamed has a SKILL.md come below directories that a census is told of, and below others.
func TestCensusReadsAgainWhatIsNamed(t *testing.T) {
	root := tree(t, "a", "b", "c", "c/x")
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	l.SetCensusClock(time.Now().Add(time.Hour)) // so that equal stats prove that nothing changed
	takeCensus(t, l)
	for _, tt := range []struct {
		came, named string
		nested      int
	}{
		{"a/n", "b", 1}, {"b/n", "b", 2}, {"c/x/y", "c", 3}, {"d/n", "", 3}, {"d", "d", 4}, {"b/2", "..", 6},
	} {
		writeSkill(t, root, tt.came, good("d"))
		problems, err := l.Census(t.Context(), loader.Again{Dirs: []string{filepath.Join(root, tt.named)}})
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("%d SKILL.md", tt.nested); len(problems) != 1 || !strings.HasPrefix(problems[0].Message, want) {
			t.Errorf("with %s, told of %q: %+v, want %s", tt.came, tt.named, problems, want)
		}
	}
}

func TestCensusBounds(t *testing.T) {
	root := tree(t, "a", "a/1", "a/1/2", "a/1/2/3", "a/b/c", ".d/x", "s")
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	for _, tt := range []struct {
		dirs, depth int
		want        []string
	}{
		{6, 4, []string{"root.nested_skills 4", "root.skipped_skills 1"}},
		{3, 4, []string{"root.nested_skills 1", "root.skipped_skills 1", "root.uncounted 2"}},
		{100, 3, []string{"root.nested_skills 3", "root.skipped_skills 1", "root.uncounted 1"}},
		{2, 4, []string{"root.nested_skills 1", "root.skipped_skills 1", "root.uncounted 2"}},
		{100, 4, []string{"root.nested_skills 4", "root.skipped_skills 1"}},
	} {
		l.SetCensusBounds(tt.dirs, tt.depth)
		var got []string
		for _, p := range takeCensus(t, l) {
			number, _, _ := strings.Cut(p.Message, " ")
			got = append(got, p.Code+" "+number)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%d directories, %d deep: %s", tt.dirs, tt.depth, diff)
		}
	}
}

func TestCensusOfSeveralRoots(t *testing.T) {
	root := tree(t, "a", "a/n", ".managed/b", ".managed/b/n", ".other/c")
	rules := rulesFor(root)
	managed := filepath.Join(root, ".managed")
	rules.Roots = append(
		rules.Roots, pannier.Root{Path: managed, Name: "managed", Kind: pannier.SourceManaged},
		pannier.Root{Path: filepath.Join(root, "missing"), Name: "missing", Kind: pannier.SourceExtra},
	)
	var got []string
	for _, p := range takeCensus(t, loader.New(loader.Options{Rules: rules})) {
		_, names, _ := strings.Cut(p.Message, ": ")
		got = append(got, p.Path+": "+names)
	}
	if diff := cmp.Diff([]string{"skills: a/n/SKILL.md", "skills: .other/c/SKILL.md", "managed: b/n/SKILL.md"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestCensusUnreadable(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	root := tree(t, "a", "a/n/m", "b/c")
	for _, dir := range []string{"a/n", "b"} {
		dir = filepath.Join(root, dir)
		if err := os.Chmod(dir, 0); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(dir, 0o755)
	}
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	problems := takeCensus(t, l)
	wantCodes(t, problems, "root.uncounted")
	if !strings.HasPrefix(problems[0].Message, "2 directories") {
		t.Errorf("told %v", problems[0])
	}
}

func TestCensusIsInterrupted(t *testing.T) {
	root := tree(t, "a", "a/b")
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if problems, err := l.Census(ctx, loader.Again{All: true}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, error %v", problems, err)
	}
	wantCensus(t, l, map[string][]string{"root.nested_skills": {"a/b/SKILL.md"}})
}

func TestCensusWhileLoading(t *testing.T) {
	root := tree(t, "a", "a/n", "b", ".d/c")
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	var others sync.WaitGroup
	for range 2 {
		others.Go(func() {
			for range 50 {
				if _, err := l.Census(t.Context(), loader.Again{All: true}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 50 {
		writeSkill(t, root, fmt.Sprint("b/n", i%3), good("d"))
		load(t, l, pannier.Batch{Full: true})
		remove(t, filepath.Join(root, fmt.Sprint("b/n", i%3)))
	}
	others.Wait()
	wantCensus(t, l, map[string][]string{"root.nested_skills": {"a/n/SKILL.md"}, "root.skipped_skills": {".d/c/SKILL.md"}})
}

// sameCensus compares what a loader that has taken a census before counts with what an independent walk does.
func (d *disk) sameCensus(l *loader.Loader, again loader.Again) bool {
	d.t.Helper()
	got, err := l.CensusPaths(d.t.Context(), again)
	if err != nil {
		d.t.Fatal(err)
	}
	want := map[string][]string{}
	walkRest(d.root, "", "", want)
	for _, paths := range want {
		slices.Sort(paths)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		d.t.Errorf("census: want -, got +:\n%s", diff)
		return false
	}
	return true
}

// walkRest notes every SKILL.md that makes no skill, by the code of the problem that tells of it. code is what those in
// rel have, empty where they make skills. It knows no bound but the one on depth.
func walkRest(root, rel, code string, found map[string][]string) {
	entries, err := os.ReadDir(filepath.Join(root, rel))
	if err != nil {
		return
	}
	exact := slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == "SKILL.md" })
	file := ""
	for _, e := range entries {
		if strings.EqualFold(e.Name(), "SKILL.md") && !e.IsDir() && (!exact || e.Name() == "SKILL.md") {
			file = e.Name()
		}
	}
	base := filepath.Base(rel)
	skips := rel != "" && (strings.HasPrefix(base, ".") || base == "node_modules")
	switch {
	case rel == "", code != "":
	case exact, file != "" && !skips:
		code, file = "root.nested_skills", ""
	case skips:
		code = "root.skipped_skills"
	}
	if code != "" && file != "" {
		found[code] = append(found[code], filepath.Join(rel, file))
	}
	if rel == pannier.OwnDir {
		return
	}
	for _, e := range entries {
		below := code
		if code == "" && rel != "" && strings.Count(rel, "/")+1 >= 6 {
			below = "root.unreached_skills"
		}
		if e.IsDir() {
			walkRest(root, filepath.Join(rel, e.Name()), below, found)
		}
	}
}

func BenchmarkCensus(b *testing.B) {
	root := benchRoot(b)
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			takeCensus(b, benchLoader(root))
		}
	})
	b.Run("again", func(b *testing.B) {
		l := benchLoader(root)
		l.SetClock(func() time.Time { return time.Now().Add(time.Hour) })
		takeCensus(b, l)
		for b.Loop() {
			takeCensus(b, l)
		}
	})
}
