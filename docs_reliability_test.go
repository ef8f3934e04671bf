package pannier_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// failures is how many are known.
const failures = 50

// TestFailuresAreTested checks that docs/RELIABILITY.md has a row for each failure, in order, and that every test that it names
// is there.
func TestFailuresAreTested(t *testing.T) {
	text, err := os.ReadFile("docs/RELIABILITY.md")
	if err != nil {
		t.Fatal(err)
	}
	there := testNames(t)
	name := regexp.MustCompile("`(Test[A-Za-z]+)`")
	next := 1
	for line := range strings.Lines(string(text)) {
		named := name.FindAllStringSubmatch(line, -1)
		for _, m := range named {
			if !there[m[1]] {
				t.Errorf("there is no test %s", m[1])
			}
		}
		if strings.HasPrefix(line, fmt.Sprintf("| F%d |", next)) {
			if next++; len(named) == 0 {
				t.Errorf("no test is named: %s", line)
			}
		}
	}
	if next != failures+1 {
		t.Errorf("there is no row for F%d in its place", next)
	}
}

// testNames returns the names of all tests of the house.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
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
