package lint_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier/loader/lint"
)

// fixes are texts before and after, byte for byte. An empty after is a text that stays as it is.
var fixes = []struct {
	name, folder, before, after string
	changes                     []string
}{
	{name: "nothing to mend", before: "---\nname: a # kept\ndescription: d\n---\n\nDo it.\n"},
	{name: "empty", before: ""},
	{name: "no frontmatter", before: "# Title\n\ndescription: a: b\n"},
	{
		name: "byte order mark", before: "\ufeff---\nname: a\n---\nx\n", after: "---\nname: a\n---\nx\n",
		changes: []string{"1 removed the byte order mark"},
	},
	{
		name: "two byte order marks", before: "\ufeff\ufeff---\nname: a\n---\nx\n", after: "---\nname: a\n---\nx\n",
		changes: []string{"1 removed the byte order mark"},
	},
	{name: "a byte order mark elsewhere is text", before: "---\nname: \ufeffa\n---\n\ufeffx\n"},
	{
		name: "blanks behind the fences", before: "---  \nname: a  \n---\t\nx  \n---  \n", after: "---\nname: a  \n---\nx  \n---  \n",
		changes: []string{"1 removed the blanks after the fence", "3 removed the blanks after the fence"},
	},
	{
		name: "line ends", before: "---\r\nname: a\r\n---\r\nx\r\ny", after: "---\nname: a\n---\nx\ny",
		changes: []string{"1 ended 4 lines with LF"},
	},
	{
		name: "mixed line ends", before: "---\nname: a\r---\nx\r\ny\rz\n", after: "---\nname: a\n---\nx\ny\rz\n",
		changes: []string{"2 ended 2 lines with LF"},
	},
	{
		name: "old line ends", before: "---\rname: a\r---\rx\r", after: "---\nname: a\n---\nx\n",
		changes: []string{"1 ended 4 lines with LF"},
	},
	{name: "a CR before a CR LF in the body may be meant", before: "---\nname: a\n---\nx\r\r\ny\n"},
	{
		name: "colon", before: "---\nname: a\ndescription:  Use when: asked  \nx: [1] # one\n---\nx\n",
		after: "---\nname: a\ndescription:  \"Use when: asked\"\nx: [1] # one\n---\nx\n", changes: []string{"3 put the description in quotes"},
	},
	{
		name: "colon and quotes", before: "---\ndescription: Say \"a: b\", it's C:\\x: fine\n---\nx\n",
		after: "---\ndescription: 'Say \"a: b\", it''s C:\\x: fine'\n---\nx\n", changes: []string{"2 put the description in quotes"},
	},
	{
		name: "colon at the end", before: "---\ndescription: Use when:\n---\nx\n", after: "---\ndescription: \"Use when:\"\n---\nx\n",
		changes: []string{"2 put the description in quotes"},
	},
	{
		name: "starts with a mark of YAML", before: "---\ndescription: **bold** text\ncompatibility: @x and `y`\n---\nx\n",
		after:   "---\ndescription: \"**bold** text\"\ncompatibility: \"@x and `y`\"\n---\nx\n",
		changes: []string{"2 put the description in quotes", "3 put the compatibility in quotes"},
	},
	{name: "a colon in quotes is not a fault", before: "---\ndescription: \"a: b\"\n---\nx\n"},
	{name: "a colon in another field is left to its author", before: "---\nname: a: b\ndescription: d\n---\nx\n"},
	{
		name: "what looks like a comment", before: "---\ndescription: a: b # c\n---\nx\n", after: "---\ndescription: \"a: b # c\"\n---\nx\n",
		changes: []string{"2 put the description in quotes"},
	},
	{
		name: "a text that goes on", before: "---\ndescription: a: b\n  c\nx: 1\n---\nx\n", after: "---\ndescription: \"a: b c\"\nx: 1\n---\nx\n",
		changes: []string{"2 put the description in quotes"},
	},
	{name: "a nested text is left to its author", before: "---\nmetadata:\n  description: a: b\n---\nx\n"},
	{
		name: "an open quote", before: "---\ndescription: \"a: b\n---\nx\n", after: "---\ndescription: \"a: b\"\n---\nx\n",
		changes: []string{"2 put the description in quotes"},
	},
	{
		name: "loose lines", before: "---\nname: a # kept\ndescription: b\nc\n\nd\nx:   1\n---\nx\n", after: "---\nname: a # kept\ndescription: b\n  c\n\n  d\nx:   1\n---\nx\n",
		changes: []string{"3 indented the further lines of the description"},
	},
	{
		name: "loose lines with a colon", before: "---\ndescription: b: c\nd\n---\nx\n", after: "---\ndescription: \"b: c d\"\n---\nx\n",
		changes: []string{"2 put the description in quotes"},
	},
	{
		name: "loose lines below a bar", before: "---\r\ndescription: |\r\nb, c\r\n\r\nd\r\n---\r\nx\r\n", after: "---\ndescription: |-\n  b, c\n\n  d\n---\nx\n",
		changes: []string{"1 ended 7 lines with LF", "2 indented the further lines of the description"},
	},
	{
		name: "text behind a bar", before: "---\ndescription: | b\nx: 1\n---\nx\n", after: "---\ndescription: \"b\"\nx: 1\n---\nx\n",
		changes: []string{"2 put the description in quotes"},
	},
	{
		name: "text behind a bar that goes on", before: "---\ndescription: | b\n  c\n\n    d\nx: 1\n---\nx\n", after: "---\ndescription: |-\n  b\n  c\n\n    d\nx: 1\n---\nx\n",
		changes: []string{"2 wrote the description as a block"},
	},
	{
		name: "other free texts, comments and a name behind them", folder: "b",
		before:  "---\nsummary: c: d\nargument-hint: [e] [f]\ndescription: >- g\n# h\n  i: j\nname: a\n---\nx\n",
		after:   "---\nsummary: \"c: d\"\nargument-hint: \"[e] [f]\"\ndescription: \"g i: j\"\n# h\nname: b\n---\nx\n",
		changes: []string{"2 put the summary in quotes", "3 put the argument-hint in quotes", "4 put the description in quotes", "7 made the name that of the folder"},
	},
	{
		name: "four slips", before: "---\nsummary: c: d\ntitle: e: f\nauthor: g: h\ndescription: @i\n---\nx\n", after: "---\nsummary: \"c: d\"\ntitle: \"e: f\"\nauthor: \"g: h\"\ndescription: \"@i\"\n---\nx\n",
		changes: []string{"2 put the summary in quotes", "3 put the title in quotes", "4 put the author in quotes", "5 put the description in quotes"},
	},
	{
		name: "surrogate pairs", before: "---\nmetadata: {\"e\": \"\\ud83d\\udc3e\"}\n---\nx\n", after: "---\nmetadata: {\"e\": \"🐾\"}\n---\nx\n",
		changes: []string{"2 wrote the characters of metadata in place of their escapes"},
	},
	{
		name: "a field that the reader leaves out stays", before: "---\ndescription: a: b\ntags: [c\n---\nx\n", after: "---\ndescription: \"a: b\"\ntags: [c\n---\nx\n",
		changes: []string{"2 put the description in quotes"},
	},
	{name: "with another fault nothing is quoted", before: "---\ndescription: a: b\nname: [\n---\nx\n"},
	{
		name: "glued fence", before: "---\nname: a\ndescription: d\n---# Title\n\nx\n", after: "---\nname: a\ndescription: d\n---\n# Title\n\nx\n",
		changes: []string{"4 parted the closing fence from the text glued to it"},
	},
	{
		name: "glued fence before a rule", before: "---\nname: a\n---# Title\nx\n---\ny\n", after: "---\nname: a\n---\n# Title\nx\n---\ny\n",
		changes: []string{"3 parted the closing fence from the text glued to it"},
	},
	{
		name: "glued fence, colon, CR LF and mark", before: "\ufeff---\r\ndescription: a: b\r\n---# T\r\nx", after: "---\ndescription: \"a: b\"\n---\n# T\nx",
		changes: []string{"1 removed the byte order mark", "1 ended 3 lines with LF", "2 put the description in quotes", "3 parted the closing fence from the text glued to it"},
	},
	{name: "glued text in a readable frontmatter", before: "---\nname: a\ndescription: |\n  b\n  ---# no fence\n---\nx\n"},
	{name: "only the first glued line is tried", before: "---\nname: a\nx: [\n---# One\n]\n---# Two\n"},
	{name: "a row of a table is not a fence", before: "---\nname: a\ndescription: d\n---|---\n"},
	{name: "behind the bound no fence is looked for", before: "---\ndescription: a: b\n# " + strings.Repeat("x", 64<<10) + "\n---\nx\n"},
	{name: "four hyphens are no fence", before: "---\nname: a\ndescription: d\n----\nx\n"},
	{
		name: "no closing fence before a heading", before: "---\nname: a\ndescription: d\n\n# Title\n\nx\n", after: "---\nname: a\ndescription: d\n---\n\n# Title\n\nx\n",
		changes: []string{"3 added the closing fence"},
	},
	{
		name: "no closing fence before the end", before: "---\nname: a\ndescription: d\ntags:\n  - x", after: "---\nname: a\ndescription: d\ntags:\n  - x\n---\n",
		changes: []string{"5 added the closing fence"},
	},
	{name: "no closing fence before a text", before: "---\nname: a\ndescription: d\n\nDo it: now.\n"},
	{name: "no closing fence and no empty line", before: "---\nname: a\ndescription: d\n# Title\nx\n"},
	{name: "no closing fence and no description", before: "---\nname: a\n\n# Title\n"},
	{name: "no closing fence and a comment that may be a heading", before: "---\nname: a\n# note\ndescription: d\n\n# Title\n"},
	{
		name: "name of the folder", folder: "pdf-tools", before: "---\nname:  PDF # kept\ndescription: d\n---\nx\n",
		after: "---\nname:  pdf-tools # kept\ndescription: d\n---\nx\n", changes: []string{"2 made the name that of the folder"},
	},
	{
		name: "name in quotes", folder: "a", before: "---\ndescription: d\nname: 'b'\n---\nx\n", after: "---\ndescription: d\nname: 'a'\n---\nx\n",
		changes: []string{"3 made the name that of the folder"},
	},
	{
		name: "a folder that is a number", folder: "123", before: "---\nname: b\n---\nx\n", after: "---\nname: \"123\"\n---\nx\n",
		changes: []string{"2 made the name that of the folder"},
	},
	{name: "the name is that of the folder", folder: "a", before: "---\nname: a\n---\nx\n"},
	{name: "a folder that cannot be a name", folder: "My Skill", before: "---\nname: b\n---\nx\n"},
	{name: "a name over two lines", folder: "a", before: "---\nname: b\n  c\n---\nx\n"},
	{name: "a name in brackets", folder: "a", before: "---\n{name: b}\n---\nx\n"},
	{name: "a name that is none", folder: "a", before: "---\nname: [b]\n---\nx\n"},
	{name: "NUL", before: "\ufeff---\r\nname: a\x00\r\n---\r\n"},
	{name: "a frontmatter that is not UTF-8", before: "---\nname: a\ndescription: b: \xff\n---\n"},
	{
		name: "a body that is not UTF-8", before: "---\r\nname: a\r\n---\r\n\xff\xfe\r\n", after: "---\nname: a\n---\n\xff\xfe\n",
		changes: []string{"1 ended 4 lines with LF"},
	},
}

func TestFixText(t *testing.T) {
	for _, tt := range fixes {
		t.Run(tt.name, func(t *testing.T) {
			want := tt.after
			if len(tt.changes) == 0 {
				want = tt.before
			}
			fixed, changes := lint.FixText([]byte(tt.before), tt.folder)
			if diff := cmp.Diff(want, string(fixed)); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
			if diff := cmp.Diff(tt.changes, changeTexts(changes)); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
			checkFix(t, tt.before, tt.folder)
		})
	}
}

func TestDiff(t *testing.T) {
	before := "\ufeff---\nname: a\ndescription: b: c\nd: 1\ne: 2\nf: 3\ng: 4\nh: 5\ni: 6\nj: 7\n---# Title"
	want := strings.ReplaceAll(`@@ -1,6 +1,6 @@
-BOM---
+---
 name: a
-description: b: c
+description: "b: c"
 d: 1
 e: 2
 f: 3
@@ -8,4 +8,5 @@
 h: 5
 i: 6
 j: 7
----# Title
\ No newline at end of file
+---
+# Title
\ No newline at end of file
`, "BOM", "\ufeff")
	if diff := cmp.Diff(want, lint.DiffText(before, "")); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

// TestFixWork counts what is allocated for files that ask for much work: parsing everything before each line of one would
// take millions of allocations, and most of an hour.
func TestFixWork(t *testing.T) {
	const start = "---\nname: x\ndescription: a\n"
	for name, text := range map[string]string{
		"glued lines":        start + "q: [\n" + strings.Repeat("---#\n", 20_000),
		"readable and glued": start + strings.Repeat("---#\n", 20_000) + "---\n",
		"one long field":     start + strings.Repeat("k: v\n", 100_000),
	} {
		allocated := testing.AllocsPerRun(1, func() { lint.FixText([]byte(text), "x") })
		if most := 500_000.0; allocated > most {
			t.Errorf("%s: %.0f allocations, more than %.0f", name, allocated, most)
		}
	}
}
