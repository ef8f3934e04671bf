package yamldoc

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// difference says how the scanner of the subset and the library differ over a text. covered is whether it is in the
// subset. It compares everything that a method of Value reads.
func difference(text []byte) (covered bool, err error) {
	got, covered := parseSubset(text)
	if !covered {
		return false, nil
	}
	want, repeated, fault := parseAny(text)
	if fault != nil || len(repeated) > 0 {
		return true, fmt.Errorf("the library reports %v, %v", fault, repeated)
	}
	return true, nodeDifference(got.node, want.node)
}

func nodeDifference(got, want *yaml.Node) error {
	if got.Kind != want.Kind || got.Style != want.Style || got.Value != want.Value ||
		got.Line != want.Line || got.Column != want.Column || len(got.Content) != len(want.Content) {
		show := func(n *yaml.Node) string {
			return fmt.Sprintf("kind %d style %d at %d:%d, %d nodes, %q", n.Kind, n.Style, n.Line, n.Column, len(n.Content), n.Value)
		}
		return fmt.Errorf("got %s, the library %s", show(got), show(want))
	}
	for i := range got.Content {
		if err := nodeDifference(got.Content[i], want.Content[i]); err != nil {
			return err
		}
	}
	return nil
}

// insideSubset have each construct of the subset, outsideSubset what looks like one.
var (
	insideSubset = []string{
		"name: a\ndescription: b c\n", "a:\n  b: 1\n  c:\n    d: true\n",
		"a:\n- b\n-   c\nd:\n  - e: 1\n    f:\n    - 2\n  - g\n", "\"a\": \"b \\\" \\\\ \\n é\"\n'b': 'it''s'\n",
		"a: [b, \"c\", 'd', [], {}]\nb: {c: d, \"e\": [1, 2.0], 'f': {g: ~}}\n",
		"a:\n  {\n    \"b\": {\"c\": [\"d\", 1]}\n  }\nb: [c,\n d\n]\n",
		"a: |\n  b\n    c\n\n  d\n\ne: >-\n  f\n  g\n\n  h\n",
		"a: |-\n  b\nc: >\n  d\n", "a:\n  b c\nd:\n  \"e\"\nf:\n  - |\n    g\n  - h\n",
		"a:\n\n  - b\n  \nc:\nd: ~\ne: null\nf: 2024-01-01\ng: yes\n",
		"a: x#y\nb: http://c/d:e\nc: [Bash(git:*), d:e]\n",
		"é: 1\na: é\nb: {\"é\": 1, c: 2}\nd e: f\n", "a: b \nc:  d\n\n",
		"a:\n  - b: c\n    d:\n      - e: [f]\n        g: {h: i}\n  - j\nk: l\n",
	}
	outsideSubset = []string{
		"a: b # c\n", "a: &b c\n", "a: *b\n", "a: !b c\n", "a: b: c\n", "a: 1\na: 2\n", "? a\n: b\n", "- a\n", "a\n",
		"---\na: b\n...\n", "%YAML 1.1\n", "", "a: b", "  a: b\nc: d\n", "a: b\n  c\n",
		"a: \"b\n  c\"\n", "a: \"\\/\"\n", "a: \"\\u00e9\"\n", "a: 'b'c\n", "a: [b\n", "a: [b, ]\n", "a: {b}\n",
		"a: -b\n", "a: @b\n", "a: `b`\n", "a: %b\n", "a: b\r\n", "a: [\n...\n]\n", "\"a\":b\n",
		"a: |2\n   b\n", "a: >+\n  b\n\n", "a: >\n  b\n    c\n", "a: |\nb: c\n", "a:\tb\n", "\ufeffa: b\n",
		"a: b\u0085c\n", "a: b\u2028c\n", "<<: {a: b}\n", "a: {<<: {b: c}}\n", "a: {[b]: c}\n",
	}
)

func TestSubsetSeeds(t *testing.T) {
	for _, text := range insideSubset {
		if covered, err := difference([]byte(text)); err != nil || !covered {
			t.Errorf("in the subset: %v, %v: %q", covered, err, text)
		}
	}
	for _, text := range outsideSubset {
		if _, covered := parseSubset([]byte(text)); covered {
			t.Errorf("in the subset: %q", text)
		}
	}
}

func FuzzSubset(f *testing.F) {
	for _, seed := range slices.Concat(insideSubset, outsideSubset) {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := difference(text); err != nil && len(text) < 64<<10 {
			t.Fatal(err)
		}
	})
}

// realFrontmatters returns the frontmatters of the examples, and those of the corpus if there is one.
func realFrontmatters(tb testing.TB) [][]byte {
	tb.Helper()
	fronts := frontmattersBelow(tb, "../../examples")
	if corpus := os.Getenv("PANNIER_CORPUS"); corpus != "" {
		fronts = append(fronts, frontmattersBelow(tb, corpus)...)
	}
	return fronts
}

// frontmattersBelow returns what stands between the fences of each SKILL.md below a directory, with LF as line ends.
func frontmattersBelow(tb testing.TB, dir string) [][]byte {
	tb.Helper()
	var fronts [][]byte
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || !strings.EqualFold(e.Name(), "SKILL.md") {
			return err
		}
		text, err := os.ReadFile(path)
		text = bytes.ReplaceAll(bytes.TrimPrefix(text, []byte("\ufeff")), []byte("\r\n"), []byte("\n"))
		if rest, ok := bytes.CutPrefix(text, []byte("---\n")); ok {
			if end := bytes.Index(rest, []byte("\n---\n")); end >= 0 {
				fronts = append(fronts, rest[:end+1])
			}
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return fronts
}

// TestSubsetOfRealFrontmatters compares both ways to read over skills as people publish them.
func TestSubsetOfRealFrontmatters(t *testing.T) {
	fronts := realFrontmatters(t)
	covered := 0
	for _, front := range fronts {
		in, err := difference(front)
		if err != nil {
			t.Errorf("%v in\n%s", err, front)
		}
		if in {
			covered++
		}
	}
	t.Logf("%d of %d are in the subset", covered, len(fronts))
	if covered < len(fronts)*85/100 {
		t.Error("fewer than 85 % are in the subset")
	}
}

// BenchmarkFrontmatter reads all frontmatters that are in the subset: a loop of the hot part of a first scan alone.
func BenchmarkFrontmatter(b *testing.B) {
	fronts := realFrontmatters(b)
	fronts = slices.DeleteFunc(fronts, func(front []byte) bool { _, ok := parseSubset(front); return !ok })
	b.Run("subset", func(b *testing.B) {
		for b.Loop() {
			for _, front := range fronts {
				parseSubset(front)
			}
		}
	})
	b.Run("library", func(b *testing.B) {
		for b.Loop() {
			for _, front := range fronts {
				_, _, _ = parseAny(front)
			}
		}
	})
}
