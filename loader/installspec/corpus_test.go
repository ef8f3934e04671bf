package installspec_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pannier/internal/testbench/realskills"
	"pannier/internal/yamldoc"
	"pannier/loader/installspec"
)

const golden = "testdata/corpus.golden"

// TestCorpus reads install specs as people publish them: $PANNIER_CORPUS is a directory of repositories. A golden file pins
// how many of each kind there are, and what becomes of them.
func TestCorpus(t *testing.T) {
	corpus := realskills.Dir(t)
	counts := map[string]int{}
	err := filepath.WalkDir(corpus, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && e.Name() == "SKILL.md" {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			countSpecs(t, frontmatter(text), counts)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&lines, "%4d %s\n", counts[what], what)
	}
	realskills.CheckGolden(t, golden, lines.String())
}

// frontmatter returns what stands between the fences of a SKILL.md, or an empty mapping where that cannot be read as it is.
func frontmatter(text []byte) yamldoc.Value {
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	text, fenced := bytes.CutPrefix(text, []byte("---\n"))
	block, _, closed := bytes.Cut(text, []byte("\n---"))
	if v, _, err := yamldoc.Parse(block); fenced && closed && err == nil {
		return v
	}
	return yamldoc.Value{}
}

func countSpecs(t *testing.T, front yamldoc.Value, counts map[string]int) {
	t.Helper()
	lists := map[string]yamldoc.Value{"install": front.Get("install")}
	metadata := front.Get("metadata")
	if text, ok := metadata.Text(); ok {
		metadata, _, _ = yamldoc.Parse([]byte(text))
	}
	for pair := range metadata.Pairs() {
		if pair.Value.Kind() == yamldoc.Map {
			lists["metadata."+pair.Key+".install"] = pair.Value.Get("install")
		}
	}
	for field, v := range lists {
		specs, problems := installspec.Read(v, field)
		check(t, specs, problems)
		for _, s := range specs {
			outcome := "allowed"
			if s.Refused != "" {
				outcome = "refused: " + s.Refused
			}
			counts[s.Kind+" "+outcome]++
		}
		for _, p := range problems {
			counts["problem "+p.Code+": "+p.Message]++
		}
	}
}
