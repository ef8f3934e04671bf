package scan_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/internal/fsx"
	"pannier/loader/scan"
)

// files are the files of a skill by their path, with their content.
type files map[string]string

// write writes files below a directory, which it creates.
func write(tb testing.TB, dir string, fs files) {
	tb.Helper()
	for name, content := range fs {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
}

// skillIn returns a root with a skill directory "s" that holds a plain SKILL.md.
func skillIn(tb testing.TB) (root, dir string) {
	tb.Helper()
	root = tb.TempDir()
	dir = filepath.Join(root, "s")
	write(tb, dir, files{"SKILL.md": "---\nname: s\ndescription: d\n---\nbody\n"})
	return root, dir
}

// scanOf scans the skill "s" below a root, and checks what holds of every report.
func scanOf(tb testing.TB, root string, o scan.Options) scan.Report {
	tb.Helper()
	report, err := scan.Path(tb.Context(), fsx.Place{Path: root}, "s", o)
	if err != nil {
		tb.Fatal(err)
	}
	checkFindings(tb, report.Findings)
	return report
}

// ruleOf returns a rule by its code.
var ruleOf = func() map[string]scan.Rule {
	m := map[string]scan.Rule{}
	for _, r := range scan.Rules() {
		m[r.Code] = r
	}
	return m
}()

// checkFindings checks that each finding is of a rule, that it tells of a place and what to do, and that they are in order.
func checkFindings(tb testing.TB, found []pannier.Finding) {
	tb.Helper()
	for i, f := range found {
		rule, ok := ruleOf[f.Rule]
		if !ok || f.Severity != rule.Severity || f.Hint != rule.Hint || !strings.HasPrefix(f.Message, rule.Message) || f.Path == "" || f.Line < 0 {
			tb.Errorf("finding %+v, rule %+v", f, rule)
		}
		if strings.HasPrefix(f.Rule, "scan.secret.") && strings.TrimPrefix(f.Message, rule.Message) != "" && !strings.HasPrefix(f.Message[len(rule.Message):], ": and on ") {
			tb.Errorf("a message about a secret says more than its kind: %q", f.Message)
		}
		if i > 0 && compare(found[i-1], f) > 0 {
			tb.Errorf("%+v comes before %+v", found[i-1], f)
		}
	}
}

func compare(a, b pannier.Finding) int {
	if c := strings.Compare(a.Path, b.Path); c != 0 {
		return c
	}
	if a.Line != b.Line {
		return a.Line - b.Line
	}
	return strings.Compare(a.Rule, b.Rule)
}

// codesOf returns the rules of findings, each once, sorted.
func codesOf(found []pannier.Finding) []string {
	codes := map[string]bool{}
	for _, f := range found {
		codes[f.Rule] = true
	}
	return slices.Sorted(maps.Keys(codes))
}

func TestRulesAreComplete(t *testing.T) {
	for _, r := range scan.Rules() {
		if !strings.HasPrefix(r.Code, "scan.") || r.Message == "" || r.Hint == "" || r.Blocking != (r.Severity == pannier.SeverityError) {
			t.Errorf("rule %+v", r)
		}
	}
	covered := slices.Concat(slices.Collect(maps.Keys(textCases)), slices.Collect(maps.Keys(treeCases)), elsewhere)
	slices.Sort(covered)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(ruleOf)), covered); diff != "" {
		t.Errorf("rules -, rules with a test +:\n%s", diff)
	}
}

// elsewhere are the rules with tests of their own.
var elsewhere = []string{
	"scan.unicode.split_words",
	"scan.archive.absolute_path", "scan.archive.traversal", "scan.bound.bytes", "scan.bound.depth", "scan.bound.entries", "scan.bound.findings", "scan.bound.places",
	"scan.bound.time", "scan.command.described", "scan.command.printed", "scan.command.sample", "scan.secret.sample", "scan.file.size_limit", "scan.install.containment", "scan.install.path_unresolved", "scan.path.containment",
	"scan.path.root_missing", "scan.path.skill_missing", "scan.path.unreadable",
}

// treeCases make a skill with one finding of each rule about files and links.
var treeCases = map[string]func(t *testing.T, dir string){
	"scan.file.elf":                   writes("icon.png", "\x7fELF\x02\x01\x01"),
	"scan.file.macho":                 writes("assets/a.txt", "\xcf\xfa\xed\xfe\x07\x00\x00\x01"),
	"scan.file.pe":                    writes("notes.md", "MZ\x90\x00\x03\x00"),
	"scan.file.suspicious_executable": writes("scripts/Run.SH", "echo\n"),
	"scan.file.archive":               writes("assets/a.zip", "PK"),
	"scan.path.hidden":                writes(".profile", "x"),
	"scan.path.name":                  writes("a\u202etxt.md", "x"),
	"scan.file.setuid":                withMode("tool", 0o755|os.ModeSetuid),
	"scan.file.world_writable":        withMode("tool", 0o666),
	"scan.file.special":               func(t *testing.T, dir string) { fifo(t, filepath.Join(dir, "pipe")) },
	"scan.path.symlink_inside":        links("a", "SKILL.md"),
	"scan.path.symlink_present":       links("a", "../other"),
	"scan.path.symlink_escape":        links("a", "../../../etc"),
	"scan.path.symlink_broken":        links("a", "nowhere"),
}

func writes(name, content string) func(*testing.T, string) {
	return func(t *testing.T, dir string) { write(t, dir, files{name: content}) }
}

func withMode(name string, mode os.FileMode) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		write(t, dir, files{name: "x"})
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
}

func links(name, target string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		write(t, filepath.Dir(dir), files{"other/a": "x"})
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFiles(t *testing.T) {
	for code, build := range treeCases {
		t.Run(code, func(t *testing.T) {
			root, dir := skillIn(t)
			build(t, dir)
			report := scanOf(t, root, scan.Options{})
			if len(report.Findings) != 1 || report.Findings[0].Rule != code || report.Truncated {
				t.Fatalf("report %+v", report)
			}
			want := map[pannier.Severity]string{pannier.SeverityError: scan.Block, pannier.SeverityWarning: scan.Warn, pannier.SeverityInfo: scan.Allow}
			if report.Decision != want[ruleOf[code].Severity] {
				t.Errorf("decision %q", report.Decision)
			}
		})
	}
}

func TestOrdinaryFiles(t *testing.T) {
	root, dir := skillIn(t)
	write(t, dir, files{
		".gitignore": "x", ".env.example": "KEY=\n", "..data/a.md": "x", "..2026_11_21_10_00_00.123/a.md": "x", "Main.class": "\xca\xfe\xba\xbe\x00\x00\x00\x41", "mz.txt": "MZ is a name\n",
		"elf.md": "ELF is a format", "tools/a.py": "print()\n", "run.sh": "#!/bin/sh\n", "a b.md": "x", "naïve-技能-👩‍💻.md": "x", "fe.bin": "\xfe\xed\xfa", "empty": "",
	})
	if err := os.Chmod(dir, 0o2755|os.ModeSetgid); err != nil {
		t.Fatal(err)
	}
	if report := scanOf(t, root, scan.Options{}); report.Decision != scan.Allow || len(report.Findings) > 0 || report.Files != 14 {
		t.Errorf("report %+v", report)
	}
}

func TestPrograms(t *testing.T) {
	tests := map[string]string{
		"\xfe\xed\xfa\xce": "scan.file.macho", "\xce\xfa\xed\xfe": "scan.file.macho", "\xfe\xed\xfa\xcf": "scan.file.macho",
		"\xca\xfe\xba\xbe\x00\x00\x00\x02": "scan.file.macho", "\xbe\xba\xfe\xca\x02\x00\x00\x00": "scan.file.macho",
		"\xca\xfe\xba\xbf\x00\x00\x00\x02": "scan.file.macho", "\xbf\xba\xfe\xca\x02\x00\x00\x00": "scan.file.macho",
		"#!/bin/sh\ntail -n +2 $0 > x\n\x7fELF\x02\x01\x01": "scan.file.elf", strings.Repeat("\n", 4092) + "\x7fELF": "scan.file.elf",
		"MZ" + strings.Repeat("x", 300) + "PE\x00\x00": "scan.file.pe",
	}
	for magic, code := range tests {
		root, dir := skillIn(t)
		write(t, dir, files{"a": magic})
		if got := codesOf(scanOf(t, root, scan.Options{}).Findings); !slices.Equal(got, []string{code}) {
			t.Errorf("%q: %v", magic, got)
		}
	}
}

func TestLinks(t *testing.T) {
	root, dir := skillIn(t)
	write(t, root, files{"other/b/c": "x"})
	for name, target := range map[string]string{
		"inside": "./sub/../SKILL.md", "absolute": filepath.Join(root, "other"), "outside": "/etc/passwd", "loop": "loop", "up": "..",
		"top": "../..", "long": "../other/../s/SKILL.md", "through": "up/other/b", "file": "SKILL.md/x", "near": root + "-other", "dir": ".",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, dir, files{"sub/x": "x"})
	got := map[string]string{}
	for _, f := range scanOf(t, root, scan.Options{}).Findings {
		got[f.Path] = strings.TrimPrefix(f.Rule, "scan.path.symlink_")
	}
	want := map[string]string{
		"inside": "inside", "absolute": "present", "outside": "escape", "loop": "broken", "up": "present", "top": "escape",
		"long": "inside", "through": "present", "file": "broken", "near": "escape", "dir": "inside",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

func TestSkillDirectory(t *testing.T) {
	root, _ := skillIn(t)
	for name, target := range map[string]string{"in": "s", "out": os.TempDir()} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, root, files{"file": "x"})
	tests := []struct{ root, dir, code string }{
		{root, "s", ""},
		{root, "s/", ""},
		{root, "in", ""},
		{filepath.Join(root, "s"), ".", ""},
		{filepath.Join(root, "s"), "", ""},
		{root, "out", "scan.path.containment"},
		{root, "..", "scan.path.containment"},
		{root, "s/../..", "scan.path.containment"},
		{root, "/etc", "scan.path.containment"},
		{root, "none", "scan.path.skill_missing"},
		{root, "file", "scan.path.skill_missing"},
		{filepath.Join(root, "none"), ".", "scan.path.root_missing"},
		{filepath.Join(root, "file"), ".", "scan.path.root_missing"},
	}
	for _, tt := range tests {
		report, err := scan.Path(t.Context(), fsx.Place{Path: tt.root}, tt.dir, scan.Options{})
		if err != nil {
			t.Fatal(err)
		}
		checkFindings(t, report.Findings)
		switch {
		case tt.code == "" && (len(report.Findings) > 0 || report.Files != 1 || report.Decision != scan.Allow):
			t.Errorf("%s: report %+v", tt.dir, report)
		case tt.code != "" && (len(report.Findings) != 1 || report.Findings[0].Rule != tt.code || report.Decision != scan.Block):
			t.Errorf("%s: report %+v, want %s", tt.dir, report, tt.code)
		}
	}
}

func TestPlaces(t *testing.T) {
	for name, code := range map[string]string{
		"a/b": "", "a..b/c": "", "...": "", "/a": "scan.archive.absolute_path", `\a`: "scan.archive.absolute_path", "C:/a": "scan.archive.absolute_path",
		"../a": "scan.archive.traversal", "a/../b": "scan.archive.traversal", `a\..\b`: "scan.archive.traversal", "a/..": "scan.archive.traversal",
	} {
		if got := strings.Join(codesOf(scan.Entry(name)), " "); got != code {
			t.Errorf("entry %q: %q, want %q", name, got, code)
		}
	}
	dir, _ := skillIn(t)
	for name, target := range map[string]string{"out": os.TempDir(), "gone": "nowhere"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, code := range map[string]string{
		"s": "", "new": "", "../new": "scan.install.containment", "out": "scan.install.containment", "out/new": "scan.install.containment",
		".": "scan.install.containment", "none/new": "scan.install.path_unresolved", "gone": "scan.install.path_unresolved",
	} {
		if got := strings.Join(codesOf(scan.Destination(root, name)), " "); got != code {
			t.Errorf("destination %q: %q, want %q", name, got, code)
		}
	}
}
