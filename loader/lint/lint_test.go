package lint_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/loader/lint"
)

const fine = "---\nname: %s\ndescription: d\nversion: 1.0.0\n---\nDo it.\n"

// treeOf writes files below a new directory and returns it.
func treeOf(tb testing.TB, files map[string]string) string {
	tb.Helper()
	dir, err := filepath.EvalSymlinks(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	for name, text := range files {
		write(tb, filepath.Join(dir, name), text)
	}
	return dir
}

func write(tb testing.TB, path, text string) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		tb.Fatal(err)
	}
}

// optionsFor audit the directory skills of a workspace, with the list of its config.yaml.
func optionsFor(dir string, listed ...string) lint.Options {
	return lint.Options{
		Rules: pannier.DiscoveryRules{
			Workspace: dir, Roots: []pannier.Root{{Path: filepath.Join(dir, "skills"), Name: "skills", Kind: pannier.SourceWorkspace}},
			MaxDepth: 6, MaxDirs: 20_000, MaxSkillBytes: 1 << 20, MaxFrontmatterBytes: 64 << 10,
		},
		Workspace: pannier.Workspace{Listed: listed != nil, Skills: listed},
		Profile:   lint.ProfileMolecule,
	}
}

func audit(tb testing.TB, o lint.Options) lint.Report {
	tb.Helper()
	r, err := lint.Audit(tb.Context(), o)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// words returns a report in a few words: a line for each skill, with the codes of its problems.
func words(r lint.Report) string {
	var b strings.Builder
	for _, s := range r.Skills {
		fmt.Fprintf(&b, "%s %s %s", s.Status, s.Slug, s.Path)
		if !s.Listed {
			b.WriteString(" unlisted")
		}
		for _, p := range s.Problems {
			b.WriteString(" " + p.Code)
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%d/%d, %d errors, %d warnings\n", r.Summary.Failed, r.Summary.Checked, r.Summary.Errors, r.Summary.Warnings)
	return b.String()
}

// checkProblem fails for a problem without a remedy, and for one that only an audit would have that reads otherwise
// than the loader does.
func checkProblem(tb testing.TB, p pannier.Problem) {
	tb.Helper()
	if p.Code == "" || p.Severity == "" || p.Path == "" || p.Message == "" || p.Hint == "" || p.Line < 0 || p.Column < 0 {
		tb.Errorf("%#v", p)
	}
	if p.Message == "the frontmatter is missing or unreadable" {
		tb.Errorf("the loader has found one: %v", p)
	}
}

func TestAudit(t *testing.T) {
	dir := treeOf(t, map[string]string{
		"config.yaml":             "name: Desk\nskills:\n  - b\n  - gone\n  - name: a # kept\n  - deep/c\n",
		"skills/a/SKILL.md":       fmt.Sprintf(fine, "a"),
		"skills/b/SKILL.md":       "---\nname: b\nname: b\n---\nDo it.\n",
		"skills/x/c/SKILL.md":     fmt.Sprintf(fine, "c"),
		"skills/deep/c/read":      "no skill",
		"skills/z/skill.md":       "no frontmatter\n",
		"skills/tools/tools/x.py": "",
	})
	b := " molecule.description.missing molecule.version.missing molecule.frontmatter.invalid skill.description.missing"
	outside := " molecule.description.missing molecule.frontmatter.invalid skill.description.missing molecule.version.missing" // without config.yaml
	tests := []struct {
		name   string
		change func(*lint.Options)
		want   string
	}{
		{"no list", func(o *lint.Options) { o.Workspace = pannier.Workspace{} }, "PASS a skills/a\nFAIL b skills/b" + outside + `
FAIL tools skills/tools molecule.file.missing skill.tools_only
PASS c skills/x/c
FAIL z skills/z molecule.file.name skill.frontmatter.missing skill.file.case
3/5, 5 errors, 3 warnings
`},
		{"empty list", func(o *lint.Options) { o.Workspace = pannier.Workspace{Listed: true} }, "PASS a skills/a unlisted\nFAIL b skills/b unlisted" + b + `
FAIL tools skills/tools unlisted molecule.file.missing skill.tools_only
PASS c skills/x/c unlisted
FAIL z skills/z unlisted molecule.file.name skill.frontmatter.missing skill.file.case
0/0, 0 errors, 0 warnings
`},
		{"list", func(*lint.Options) {}, "FAIL b skills/b" + b + `
FAIL gone skills/gone audit.skill_missing
PASS a skills/a
FAIL c skills/deep/c audit.skill_missing
FAIL tools skills/tools unlisted molecule.file.missing skill.tools_only
PASS c skills/x/c unlisted
FAIL z skills/z unlisted molecule.file.name skill.frontmatter.missing skill.file.case
3/4, 5 errors, 1 warnings
`},
		{"all", func(o *lint.Options) { o.All, o.Workspace.Skills = true, []string{"c", "z"} }, `PASS c skills/x/c
FAIL z skills/z molecule.file.name skill.frontmatter.missing skill.file.case
PASS a skills/a unlisted
FAIL b skills/b unlisted` + b + `
FAIL tools skills/tools unlisted molecule.file.missing skill.tools_only
3/5, 6 errors, 2 warnings
`},
		{"one folder", func(o *lint.Options) { o.Only, o.Workspace = "b", pannier.Workspace{} }, "FAIL b ." + outside + "\n1/1, 2 errors, 2 warnings\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := optionsFor(dir, "b", "gone", "a", "deep/c")
			tt.change(&o)
			r := audit(t, o)
			if diff := cmp.Diff(tt.want, words(r)); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
			for _, s := range r.Skills {
				for _, p := range s.Problems {
					checkProblem(t, p)
					if p.Code == "audit.skill_missing" && (p.Line == 0 || p.Path != "config.yaml") {
						t.Errorf("%#v", p)
					}
					if o.Only != "" && p.Path != "SKILL.md" {
						t.Errorf("path %s", p.Path)
					}
				}
			}
		})
	}
}

// TestStrict fails a skill for a warning.
func TestStrict(t *testing.T) {
	o := optionsFor(treeOf(t, map[string]string{"skills/a/SKILL.md": "---\nname: a\ndescription: d\nversion: 1.0.0\n---\n"}))
	for _, strict := range []bool{false, true} {
		o.Strict = strict
		want := map[bool]string{false: "PASS a skills/a skill.body.empty\n0/1, 0 errors, 1 warnings\n", true: "FAIL a skills/a skill.body.empty\n1/1, 0 errors, 1 warnings\n"}
		if got := words(audit(t, o)); got != want[strict] {
			t.Errorf("strict %v: %s", strict, got)
		}
	}
}

func TestProfiles(t *testing.T) {
	o := optionsFor(treeOf(t, map[string]string{
		"skills/a/SKILL.md": "---\nname: B\ndescription: d\nlicense: MIT\nx: y\n---\nDo it.\n", "skills/a/data": "a\x00b", "skills/a/.clawhubignore": "x\n",
	}))
	codes := map[string]string{
		lint.ProfileMolecule:    "molecule.name.invalid molecule.version.missing",
		lint.ProfileAgentSkills: "strict.field.unknown strict.name.folder strict.name.lowercase",
		lint.ProfileOpenClaw:    "openclaw.name.snake_case",
		lint.ProfileClawHub:     "clawhub.file.binary clawhub.license.other",
		lint.ProfileAll:         "clawhub.file.binary clawhub.license.other molecule.name.invalid molecule.version.missing openclaw.name.snake_case strict.field.unknown strict.name.folder strict.name.lowercase",
	}
	for _, o.Profile = range lint.Profiles() {
		var got []string
		for _, p := range audit(t, o).Skills[0].Problems {
			got = append(got, p.Code)
		}
		slices.Sort(got)
		if want := codes[o.Profile]; strings.Join(slices.Compact(got), " ") != want {
			t.Errorf("%s: %v, want %s", o.Profile, got, want)
		}
	}
	o.Profile = "other"
	if _, err := lint.Audit(t.Context(), o); err == nil || !strings.Contains(err.Error(), "molecule, agentskills") {
		t.Errorf("error %v", err)
	}
}

// TestScan shows findings where they are, and the secret in them nowhere.
func TestScan(t *testing.T) {
	o := optionsFor(treeOf(t, map[string]string{
		"skills/a/SKILL.md": fmt.Sprintf(fine, "a"), "skills/a/scripts/x.sh": "one\nexport KEY=AKIA" + "Q7W2E9R4T6Y1U8I3\n",
	}))
	if got := words(audit(t, o)); !strings.HasPrefix(got, "PASS") {
		t.Error(got)
	}
	o.Scan = true
	s := audit(t, o).Skills[0]
	if s.Status != lint.Fail || s.Problems[0].Path != "skills/a/scripts/x.sh" || s.Problems[0].Line != 2 || !strings.HasPrefix(s.Problems[0].Code, "scan.") {
		t.Errorf("%+v", s)
	}
	if strings.Contains(fmt.Sprint(s.Problems), "Q7W2E9") {
		t.Errorf("%v", s.Problems)
	}
}

// TestSameWords tells once what several rules say of one place, as the graver has it.
func TestSameWords(t *testing.T) {
	o := optionsFor(treeOf(t, map[string]string{"skills/a/SKILL.md": "\ufeff---\nname: a\ndescription: d\nversion: 1.0.0\n---\n"}))
	o.Profile = lint.ProfileAll
	seen := map[string]bool{}
	for _, p := range audit(t, o).Skills[0].Problems {
		if seen[p.Message] {
			t.Errorf("told again: %v", p)
		}
		seen[p.Message] = true
		if strings.Contains(p.Message, "byte order mark") && p.Severity != pannier.SeverityError {
			t.Errorf("%v", p)
		}
	}
	if !seen["the file begins with a byte order mark"] || !seen["there are no instructions after the frontmatter"] {
		t.Errorf("%v", seen)
	}
}

func TestText(t *testing.T) {
	o := optionsFor("/nowhere")
	o.Profile = lint.ProfileAll
	for text, want := range map[string]string{
		"---\nname: pdf-tools\ndescription: d\nversion: 1.0.0\nmetadata:\n  openclaw:\n    os:\n      - linux\n---\nx\n": "FAIL pdf-tools stdin strict.field.unknown audit.profile_conflict\n1/1, 1 errors, 0 warnings\n",
		"no frontmatter":             "FAIL stdin stdin skill.frontmatter.missing\n1/1, 1 errors, 0 warnings\n",
		strings.Repeat("x", 1<<20+1): "FAIL stdin stdin skill.file.too_long\n1/1, 1 errors, 0 warnings\n",
	} {
		r, err := lint.Text(t.Context(), []byte(text), "stdin", o)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, words(r)); diff != "" {
			t.Errorf("%.40q: want -, got +:\n%s", text, diff)
		}
		for _, p := range r.Skills[0].Problems {
			if p.Path != "stdin" {
				t.Errorf("path %s", p.Path)
			}
		}
	}
}

// TestSlugOfText asks what a text is called that lies in no folder.
func TestSlugOfText(t *testing.T) {
	for text, want := range map[string]string{
		"---\nname: Bar Baz\nslug: Foo\ndescription: d\n---\nx\n": "foo",
		"---\nname: x\nslug: stdin\ndescription: d\n---\nx\n":     "stdin",
		"---\nname: Bar Baz\ndescription: d\n---\nx\n":            "bar-baz",
		"---\nname: 技能\nslug: 技\ndescription: d\n---\nx\n":        "stdin",
		"---\nslug: foo\nx: [\n---\nx\n":                          "stdin",
	} {
		r, err := lint.Text(t.Context(), []byte(text), "stdin", optionsFor("/nowhere"))
		if err != nil || len(r.Skills) != 1 || r.Skills[0].Slug != want {
			t.Errorf("%q: %+v, error %v, want %s", text, r.Skills, err, want)
		}
	}
}

// TestLongFrontmatter counts what is allocated for a frontmatter past its bound, which must not be parsed.
func TestLongFrontmatter(t *testing.T) {
	text := []byte("---\nname: a\n" + strings.Repeat("k: v\n", 150_000) + "---\nx\n")
	allocated := testing.AllocsPerRun(1, func() {
		r, err := lint.Text(t.Context(), text, "stdin", optionsFor("/nowhere"))
		if err != nil || r.Skills[0].Status != lint.Fail {
			t.Errorf("%+v, error %v", r.Skills, err)
		}
	})
	if most := 100_000.0; allocated > most {
		t.Errorf("%.0f allocations, more than %.0f", allocated, most)
	}
}

// TestUnreadable tells of what cannot be looked at.
func TestUnreadable(t *testing.T) {
	dir := treeOf(t, map[string]string{"skills": "no directory"})
	if r := audit(t, optionsFor(dir, "a")); len(r.Problems) != 1 || r.Problems[0].Severity != pannier.SeverityError || len(r.Skills) != 1 {
		t.Errorf("%+v", r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := lint.Audit(ctx, optionsFor(treeOf(t, map[string]string{"skills/a/SKILL.md": "x"}))); err == nil {
		t.Error("no error after the end of the context")
	}
}
