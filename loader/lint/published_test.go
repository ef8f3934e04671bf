package lint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"pannier/internal/testbench/realskills"
	"pannier/loader/lint"
)

// TestFixPublishedKinds mends one skill of each kind of slip that people publish. What is changed is pinned in a golden file.
func TestFixPublishedKinds(t *testing.T) {
	a, err := txtar.ParseFile("../testdata/published.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, f := range a.Files {
		name, ok := strings.CutSuffix(f.Name, "/SKILL.md")
		if !ok {
			continue
		}
		for _, folder := range []string{"", "folder"} {
			checkFix(t, string(f.Data), folder)
		}
		checkMended(t, string(f.Data))
		if diff := lint.DiffText(string(f.Data), ""); diff != "" {
			fmt.Fprintf(&text, "-- %s --\n%s", name, diff)
		}
	}
	realskills.CheckGolden(t, "testdata/published.golden", text.String())
}
