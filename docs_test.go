package pannier_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDocumentsBuildStaticBinaries: without CGO_ENABLED=0 a machine with a C compiler makes a binary that runs in no image
// without its C library.
func TestDocumentsBuildStaticBinaries(t *testing.T) {
	builds := 0
	for _, pattern := range []string{"*.md", "docs/*.md", "deploy/*.md", "examples/*/*.md", "Makefile", "Dockerfile"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				if at := strings.Index(line, "go build"); at >= 0 && filepath.Base(file) != "CHANGELOG.md" {
					builds++
					if !strings.HasSuffix(line[:at], "CGO_ENABLED=0 ") {
						t.Errorf("%s: %s", file, line)
					}
				}
			}
		}
	}
	if builds < 5 {
		t.Errorf("%d builds", builds)
	}
}

var markdownLink = regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`)

// TestDocumentsLinkToWhatIsThere follows every relative link of the project's documents.
func TestDocumentsLinkToWhatIsThere(t *testing.T) {
	links := 0
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && slices.Contains([]string{"testdata", ".git", "workspace", "node_modules"}, e.Name()) {
			return fs.SkipDir
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range markdownLink.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), m[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", path, m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if links < 5 {
		t.Errorf("%d links were found: the test does not see them", links)
	}
}

// TestEventsDocument compares the table of event types in docs/EVENTS.md with the types in event.go.
func TestEventsDocument(t *testing.T) {
	source, err := os.ReadFile("event.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("docs/EVENTS.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n## Event types\n")
	table, _, _ = strings.Cut(table, "\n## ")
	documented := firstGroups(regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|"), table)
	types := firstGroups(regexp.MustCompile(`EventType = "([a-z_]+)"`), string(source))
	if diff := cmp.Diff(documented, types); diff != "" || len(types) < 10 {
		t.Errorf("-docs/EVENTS.md +event.go:\n%s", diff)
	}
}

// firstGroups returns what the first group of an expression matches in a text, sorted.
func firstGroups(expression *regexp.Regexp, text string) (groups []string) {
	for _, m := range expression.FindAllStringSubmatch(text, -1) {
		groups = append(groups, m[1])
	}
	slices.Sort(groups)
	return groups
}

// TestFailuresAreTested checks that testdata/failures.txt has a line with tests for each row of docs/RELIABILITY.md, and that every test that it names exists.
func TestFailuresAreTested(t *testing.T) {
	page, err := os.ReadFile("docs/RELIABILITY.md")
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile("testdata/failures.txt")
	if err != nil {
		t.Fatal(err)
	}
	var rows, listed []string
	for _, m := range regexp.MustCompile(`(?m)^\| ([FPS][0-9]+) \|`).FindAllStringSubmatch(string(page), -1) {
		rows = append(rows, m[1])
	}
	exists := testNames(t)
	for line := range strings.Lines(string(list)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			t.Fatalf("no test is named: %q", line)
		}
		listed = append(listed, fields[0])
		for _, name := range fields[1:] {
			if !exists[name] {
				t.Errorf("%s: there is no test %s", fields[0], name)
			}
		}
	}
	slices.Sort(rows)
	slices.Sort(listed)
	if diff := cmp.Diff(rows, listed); diff != "" || len(rows) < 100 {
		t.Errorf("-docs/RELIABILITY.md +testdata/failures.txt:\n%s", diff)
	}
}

// testNames returns the names of all tests and fuzzers.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(\w+ \*testing\.[TF]\)`)
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			names[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// sourceSeverities returns the severities of the codes of problems, as far as the source has code and severity in one place: the
// fields of a problem, or a call of a method that adds one.
func sourceSeverities(t *testing.T) map[string][]string {
	t.Helper()
	var source strings.Builder
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && slices.Contains([]string{"testdata", "testbench", ".git", ".ci", "examples"}, e.Name()):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		source.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	constants := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^(?:const)?\s*(\w+)\s*=\s*"([a-z_.]+)"`).FindAllStringSubmatch(source.String(), -1) {
		constants[m[1]] = m[2]
	}
	code := `(?:"([a-z_.]+)"|(?:pannier\.)?(\w+)), `
	severities := map[string][]string{}
	for severity, place := range map[string]string{
		"warning": `\.(?:warn|report|omit)\(` + code, "error": `\.refuse\(skill, ` + code, "": `Code: ` + code + `Severity: pannier\.Severity(\w+)`,
	} {
		for _, m := range regexp.MustCompile(place).FindAllStringSubmatch(source.String(), -1) {
			name, is := m[1]+constants[m[2]], severity
			if is == "" {
				is = strings.ToLower(m[3])
			}
			if !slices.Contains(severities[name], is) {
				severities[name] = append(severities[name], is)
			}
		}
	}
	return severities
}

// TestSeveritiesOfSkills compares the severities in the section Skills of docs/CODES.md with the source.
func TestSeveritiesOfSkills(t *testing.T) {
	text, err := os.ReadFile("docs/CODES.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Skills\n")
	section, _, _ = strings.Cut(section, "\n## ")
	source, compared := sourceSeverities(t), 0
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_.]+)` \\| (\\w+) \\|").FindAllStringSubmatch(section, -1) {
		if !slices.Contains([]string{"error", "warning", "info", "event"}, m[2]) {
			t.Errorf("%s: %q is not a severity", m[1], m[2])
		}
		if is, ok := source[m[1]]; ok {
			if compared++; !slices.Equal(is, []string{m[2]}) {
				t.Errorf("docs/CODES.md has %s as %s, the source as %s", m[1], m[2], is)
			}
		}
	}
	if compared < 25 {
		t.Errorf("only %d severities were compared", compared)
	}
}
