package profile_test

import (
	"bytes"
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/internal/yamldoc"
	"pannier/loader/profile"
)

// skillOf makes of the text of a SKILL.md what the lenient reader would hand on: a byte order mark is let pass, the fences
// are whole lines, of repeated keys the last counts.
func skillOf(folder, text string) profile.Skill {
	s := profile.Skill{Folder: folder, File: "SKILL.md", Path: "skills/" + folder + "/SKILL.md", LineOffset: 1}
	fault := func(line int, message, hint string) {
		s.Faults = append(s.Faults, pannier.Problem{Code: "skill.x", Severity: pannier.SeverityWarning, Path: s.Path, Line: line, Message: message, Hint: hint})
	}
	text, marked := strings.CutPrefix(text, "\ufeff")
	if marked {
		fault(1, "a byte order mark", "remove it")
	}
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	front, body, err := split(text)
	if err != nil {
		fault(1, err.Error(), "add fences")
		return s
	}
	v, repeats, err := yamldoc.Parse([]byte(front))
	for _, f := range repeats {
		fault(f.Line+1, f.Message, f.Hint)
	}
	if f, ok := errors.AsType[*yamldoc.Fault](err); ok {
		fault(f.Line+1, f.Message, f.Hint)
		return s
	}
	s.Front, s.FrontFound, s.Text = v, true, []byte(front)
	s.BodyEmpty = strings.TrimSpace(body) == ""
	s.Name, _ = v.Get("name").Text()
	s.Description, _ = v.Get("description").Text()
	s.License, _ = v.Get("license").Text()
	if s.Name == "" {
		s.Name = folder
	}
	return s
}

func split(text string) (front, body string, err error) {
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t") != "---" {
		return "", "", errors.New("no frontmatter")
	}
	at := 0
	for line := range strings.Lines(rest) {
		if strings.TrimRight(line, " \t\n") == "---" {
			return rest[:at], rest[at+len(line):], nil
		}
		at += len(line)
	}
	return "", "", errors.New("not closed")
}

// front makes a SKILL.md of the lines of its frontmatter.
func front(lines ...string) string {
	return "---\n" + strings.Join(lines, "\n") + "\n---\nDo it.\n"
}

// named makes a SKILL.md with a name, whatever that holds.
func named(name string) string { return front("name: "+strconv.Quote(name), "description: d") }

// codesOf returns the codes of a severity, sorted and without repeats, in one line.
func codesOf(problems []pannier.Problem, severity pannier.Severity) string {
	var codes []string
	for _, p := range problems {
		if p.Severity == severity {
			codes = append(codes, p.Code)
		}
	}
	slices.Sort(codes)
	return strings.Join(slices.Compact(codes), " ")
}

// checkProblems fails where problems are not such as every surface can show.
func checkProblems(tb testing.TB, problems []pannier.Problem) {
	tb.Helper()
	if !slices.IsSortedFunc(problems, pannier.CompareProblems) {
		tb.Errorf("not in order: %v", problems)
	}
	if len(problems) > 60 {
		tb.Errorf("%d problems", len(problems))
	}
	for _, p := range problems {
		if p.Code == "" || p.Severity == "" || p.Message == "" || p.Hint == "" || p.Line < 0 || p.Column < 0 {
			tb.Errorf("problem %#v", p)
		}
		if len(p.Field) > 400 || len(p.Message) > 800 || len(p.Hint) > 800 {
			tb.Errorf("problem too long: %.300s: %.300s", p, p.Hint)
		}
		if strings.ContainsAny(p.Message+p.Hint, "\x00\n\r\x1b\u202e\u200b") {
			tb.Errorf("problem with control characters: %#v", p)
		}
	}
}

func TestPlaces(t *testing.T) {
	s := skillOf("a", front("name: b", "description:", "  - x", "metadata:", "  k: {a: 1}", "colour: red"))
	var got bytes.Buffer
	for _, p := range profile.AgentSkills(s) {
		got.WriteString(p.String() + " " + p.Field + "\n")
	}
	want := `skills/a/SKILL.md:2:7: error: the name "b" is not that of the folder, "a" (strict.name.folder) name
skills/a/SKILL.md:4:3: error: ` + "`description:`" + ` is missing or not a text (strict.description.required) description
skills/a/SKILL.md:6:6: error: this is written in brackets, which StrictYAML refuses (strict.frontmatter.flow) metadata.k
skills/a/SKILL.md:6:6: error: this is a mapping where a text belongs; the Agent Skills specification says so, its reference validator lets it pass (strict.metadata.value_type) metadata.k
skills/a/SKILL.md:7:1: error: the standard knows no field "colour" (strict.field.unknown) colour
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

func TestFaultsKeepTheirPlace(t *testing.T) {
	s := skillOf("a", "\ufeff"+front("name: a", "description: d", "name: a"))
	problems := profile.AgentSkills(s)
	if got := codesOf(problems, pannier.SeverityError); got != "strict.frontmatter.invalid" || len(problems) != 2 || problems[1].Line != 4 {
		t.Errorf("%v", problems)
	}
	if problems := profile.OpenClaw(s); codesOf(problems, pannier.SeverityError) != "" {
		t.Errorf("%v", problems)
	}
	if s.Faults[0].Code != "skill.x" || s.Faults[0].Severity != pannier.SeverityWarning {
		t.Errorf("the faults of the caller are written to: %v", s.Faults)
	}
}

func TestNames(t *testing.T) {
	want := []string{"agentskills_strict", "openclaw_compat", "molecule_audit", "clawhub"}
	if diff := cmp.Diff(want, profile.Names()); diff != "" {
		t.Error(diff)
	}
	good := skillOf("a", front("name: a", "description: d"))
	report := profile.Report(good, append(profile.Names(), "other")...)
	for name, compliant := range map[string]bool{"agentskills_strict": true, "openclaw_compat": true, "molecule_audit": false, "clawhub": true, "other": false} {
		if report[name].Compliant != compliant || report[name].Issues == nil {
			t.Errorf("%s: %+v", name, report[name])
		}
	}
}

func TestEmptyBody(t *testing.T) {
	s := skillOf("a", "---\nname: a\ndescription: d\nversion: '1'\nmetadata:\n  openclaw:\n    os: [linux]\n---\n \n")
	for i, prefix := range []string{"strict", "openclaw", "molecule", "clawhub"} {
		if got := codesOf(profile.Check(profile.Names()[i], s), pannier.SeverityWarning); got != prefix+".body.empty" {
			t.Errorf("%s: %s", profile.Names()[i], got)
		}
	}
}

// TestFiles judges what lies where SKILL.md belongs.
func TestFiles(t *testing.T) {
	tests := []struct{ file, strict, openclaw, molecule, clawhub string }{
		{"SKILL.md", "", "", "", ""},
		{"skill.md", "", "openclaw.file.name", "molecule.file.name", ""},
		{"Skill.md", "strict.file.name", "openclaw.file.name", "molecule.file.name", "clawhub.file.name"},
		{"", "strict.file.missing", "openclaw.file.missing", "molecule.file.missing", "clawhub.file.missing"},
	}
	for _, tt := range tests {
		s := skillOf("a", front("name: a", "description: d", "metadata:", "  x: y"))
		s.File = tt.file
		if strict := codesOf(profile.AgentSkills(s), pannier.SeverityError); strict != tt.strict {
			t.Errorf("%q: strict %q", tt.file, strict)
		}
		if openclaw := codesOf(profile.OpenClaw(s), pannier.SeverityError); openclaw != tt.openclaw {
			t.Errorf("%q: openclaw %q", tt.file, openclaw)
		}
		if clawhub := codesOf(profile.ClawHub(s), pannier.SeverityError); clawhub != tt.clawhub {
			t.Errorf("%q: clawhub %q", tt.file, clawhub)
		}
		if molecule := strings.TrimSuffix(codesOf(profile.Molecule(s), pannier.SeverityError), " molecule.version.missing"); tt.file != "SKILL.md" && molecule != tt.molecule {
			t.Errorf("%q: molecule %q", tt.file, molecule)
		}
	}
}

// TestManyProblems bounds what a hostile frontmatter can make of itself.
func TestManyProblems(t *testing.T) {
	var lines []string
	for i := range 1000 {
		lines = append(lines, "k"+strconv.Itoa(i)+": [a]")
	}
	for _, name := range profile.Names() {
		problems := profile.Check(name, skillOf("a", front(lines...)))
		checkProblems(t, problems)
		if name == profile.NameAgentSkills && (len(problems) != 51 || !slices.ContainsFunc(problems, func(p pannier.Problem) bool { return p.Code == "strict.more" && strings.Contains(p.Message, "1952") })) {
			t.Errorf("%d problems", len(problems))
		}
	}
}

// filesOf lists files by path and content, and reads them.
func filesOf(s profile.Skill, contents map[string]string) profile.Skill {
	s.Files = []pannier.File{}
	for name, content := range contents {
		s.Files = append(s.Files, pannier.File{Path: name, Size: int64(len(content))})
	}
	slices.SortFunc(s.Files, func(a, b pannier.File) int { return strings.Compare(a.Path, b.Path) })
	s.ReadFile = func(name string) ([]byte, error) {
		content, ok := contents[path.Clean(name)]
		if !ok || content == "unreadable" {
			return nil, errors.New("no such file")
		}
		return []byte(content), nil
	}
	return s
}
