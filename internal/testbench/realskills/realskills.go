// Package realskills is for tests alone: it finds the real skills that they may read, and pins in golden files what becomes of
// them.
//
// $PANNIER_CORPUS is a directory of repositories with skills as people publish them. It is not part of the project, so a
// test that reads it skips where there is none.
package realskills

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Dir returns the absolute path of the corpus. It skips the test where there is none.
func Dir(tb testing.TB) string {
	tb.Helper()
	dir := os.Getenv("PANNIER_CORPUS")
	if dir == "" {
		tb.Skip("PANNIER_CORPUS names no directory of repositories")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		tb.Fatal(err)
	}
	return dir
}

// CheckGolden compares a text with a golden file, line by line. With -update it writes the file first.
func CheckGolden(tb testing.TB, file, text string) {
	tb.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	golden, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(golden), "\n"), strings.Split(text, "\n")); diff != "" {
		tb.Errorf("not what %s says; -update writes it anew: want -, got +:\n%s", file, diff)
	}
}
