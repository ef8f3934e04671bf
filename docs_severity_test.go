package pannier_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

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
