package loader_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pannier"
	"pannier/internal/testbench/realskills"
	"pannier/loader"
)

// TestCorpusVerdicts pins what every profile says of every skill that people have published: nothing, or the codes of its
// errors.
func TestCorpusVerdicts(t *testing.T) {
	l := loader.New(loader.Options{Rules: corpusRules(t)})
	var text strings.Builder
	for _, s := range load(t, l, pannier.Batch{Full: true}).Skills {
		found, err := l.Inspect(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString(s.PathBelowRoot + ":")
		for _, name := range slices.Sorted(maps.Keys(found.Conformance)) {
			fmt.Fprintf(&text, " %s(%s)", name, strings.Join(errorCodes(found.Conformance[name].Issues), " "))
		}
		text.WriteByte('\n')
	}
	realskills.CheckGolden(t, "testdata/verdicts.golden", text.String())
}

// errorCodes returns the codes of the errors among problems, sorted, without repeats.
func errorCodes(problems []pannier.Problem) []string {
	codes := map[string]bool{}
	for _, p := range problems {
		if p.Severity == pannier.SeverityError {
			codes[p.Code] = true
		}
	}
	return slices.Sorted(maps.Keys(codes))
}
