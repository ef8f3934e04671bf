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
