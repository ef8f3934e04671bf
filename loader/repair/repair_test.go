package repair_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pannier/internal/yamldoc"
	"pannier/loader/repair"
)

// TestParseRepairs gives each text with its value of `description`, or of another field as `field=value`, and its repairs
// as line:column with a word of their messages.
func TestParseRepairs(t *testing.T) {
	tests := []struct {
		name, text, want string
		repairs          []string
	}{
		{"colon", "name: x\ndescription: Use when: asked\nversion: 1\n", "Use when: asked", []string{"2:22 colon"}},
		{"colon at the end", "description: a: b:\n", "a: b:", []string{"1:15 colon"}},
		{"colon in a further line", "description: Use\n  when: asked\n  or not\nname: x\n", "Use when: asked or not", []string{"2:7 colon"}},
		{"colon with paragraphs", "description: A: b\n\n  C\nname: x\n", "A: b\nC", []string{"1:15 colon"}},
		{"colon below the key", "description:\n  Use this when: asked\n  or not\n", "Use this when: asked or not", []string{"2:16 colon"}},
		{"what looks like a comment", "description: Fix: issue #12 and #13 # now\n", "Fix: issue #12 and #13 # now", []string{"1:17 colon"}},
		{"blanks around", "description:   a: b \t \n", "a: b", []string{"1:17 colon"}},
		{"backslashes and quotes", "description: a: \\d \"b\" 'c'\n", `a: \d "b" 'c'`, []string{"1:15 colon"}},
		{"wide characters", "description: 請在: 問 🐾 時\n", "請在: 問 🐾 時", []string{"1:16 colon"}},
		{"bold", "description: **Bold** text\n", "**Bold** text", []string{"1:14 begins with '*',"}},
		{"undefined alias", "description: *bold* text\n", "*bold* text", []string{"1:14 begins with '*',"}},
		{"lone undefined alias", "a: see *x\ndescription: *x\n", "*x", []string{"2:14 begins with '*',"}},
		{"at", "description: @agent does\n", "@agent does", []string{"1:14 begins with '@',"}},
		{"backtick", "description: `x` does\n", "`x` does", []string{"1:14 begins with '`',"}},
		{"percent", "description: %d is\n", "%d is", []string{"1:14 begins with '%',"}},
		{"comma", "description: , and\n", ", and", []string{"1:14 begins with ',',"}},
		{"bracket", "description: [Beta] does\n", "[Beta] does", []string{"1:14 begins with '[',"}},
		{"brackets", "argument-hint: [date] [type]\n", "argument-hint=[date] [type]", []string{"1:16 begins with '[',"}},
		{"brace", "description: {name} does\n", "{name} does", []string{"1:14 begins with '{',"}},
		{"open bracket", "description: [a, b\nname: x\n", "[a, b", []string{"1:14 begins with '[',"}},
		{"dash", "description: - does\n", "- does", []string{"1:14 begins with '-',"}},
		{"behind a bar", "description: | Use it\nname: x\n", "Use it", []string{"1:14 text follows the `|`"}},
		{"behind a bar, with more", "description: |- Use it\n  a\n    b\n\n  c\nname: x\n", "Use it\na\n  b\n\nc", []string{"1:14 text follows the `|`"}},
		{"behind a fold", "description: >- Use it\n  now\nname: x\n", "Use it now", []string{"1:14 text follows the `>`"}},
		{"no block sign", "description: >50% of it\n", ">50% of it", []string{"1:14 begins with '>',"}},
		{"column 0", "description: Use it\nwhen asked\nor not\nname: x\n", "Use it when asked or not", []string{"2:1 neither indented"}},
		{"column 0 after indented lines", "description: a\n  b\nc\n  d\nname: x\n", "a b c d", []string{"3:1 neither indented"}},
		{"column 0 below a bar", "description: |\nUse it\nnow\nname: x\n", "Use it\nnow", []string{"2:1 neither indented"}},
		{"column 0 below a fold", "description: >\n  Use it\nnow\nname: x\n", "Use it now", []string{"3:1 neither indented"}},
		{"column 0 below the key", "description:\nUse it\nname: x\n", "Use it", []string{"2:1 neither indented"}},
		{"column 0 below a comment", "description: # of it\nUse it\nname: x\n", "Use it", []string{"2:1 neither indented"}},
		{"column 0 with a list", "description: Does\n- this\n- that\nname: x\n", "Does - this - that", []string{"2:1 neither indented"}},
		{"column 0 in bold", "description: Does\n**Note**: that\nname: x\n", "Does **Note**: that", []string{"2:1 neither indented"}},
		{"column 0 with an address", "description: See\nhttps://a.b or not\nname: x\n", "See https://a.b or not", []string{"2:1 neither indented"}},
		{"paragraphs at column 0", "description: Use it\n\nwhen asked\n\n\nor not\nname: x\n", "Use it\nwhen asked\n\nor not", []string{"3:1 neither indented"}},
		{"paragraphs at column 0 up to the end", "name: x\ndescription: |\nUse it\n\nwhen asked\n", "Use it\n\nwhen asked", []string{"3:1 neither indented"}},
		{"tab", "description: |\n\tUse it\nname: x\n", "Use it", []string{"1:14 is not YAML"}},
		{"quotes within quotes", "description: \"Use \"it\" now\"\n", `Use "it" now`, []string{"1:14 quotes"}},
		{"quotes within quotes, escaped", `description: "Use \"it\" or "that" \\d \w \ud83d\udc3e"` + "\n", "Use \"it\" or \"that\" \\d \\w 🐾", []string{"1:14 quotes"}},
		{"two quoted words", "description: \"a\" or \"b\"\n", `"a" or "b"`, []string{"1:14 quotes"}},
		{"quoted beginning", "description: \"a\" does\n", `"a" does`, []string{"1:14 quotes"}},
		{"apostrophe within quotes", "description: 'It's that'\n", "It's that", []string{"1:14 quotes"}},
		{"escapes that YAML has not", "description: \"Match \\d+\"\n", `Match \d+`, []string{"1:14 quotes"}},
		{"quote that is never closed", "description: \"Use it\nname: x\nlicense: \"MIT\"\n", "Use it", []string{"1:14 quotes"}},
		{"quoted over lines", "description: \"Use \"it\"\n  now\"\nname: x\n", `Use "it" now`, []string{"1:14 quotes"}},
		{"quoted key", "\"description\": a: b\n", "a: b", []string{"1:17 colon"}},
		{"control character", "description: a\x1bb\n", "a\x1bb", []string{"1:15 control character U+001B"}},
		{"control character in quotes", "name: n\ndescription: \"a b\x07c\"\n", "a b\ac", []string{"2:18 control character U+0007"}},
		{"control character in a block", "description: |\n  a\n  b\x7fc\n", "a\nb\x7fc", []string{"3:4 control character U+007F"}},
		{"deep text", "description: " + strings.Repeat("[", 2000) + "\n", strings.Repeat("[", 2000), []string{"1:14 begins with '[',"}},
		{"two fields", "title: a: b\ndescription: @c\nx: 1\n", "@c", []string{"1:9 title", "2:14 description"}},
		{"three fields", "title: a: b\ndescription: @c\nsummary: d: e\nx: 1\n", "@c", []string{"1:9 title", "2:14 description", "3:11 summary"}},
		{"quoted lines at column 0 are left alone", "summary: \"a\nb: c\nd\"\ndescription: e: f\n", "e: f", []string{"4:15 colon"}},
		{"brackets at column 0 are left alone", "metadata: {\n\"description\": \"a\",\n}\ndescription: e: f\n", "e: f", []string{"4:15 colon"}},

		{"pair", `metadata: {"e":"\ud83d\udc3e"}` + "\n", "metadata.e=🐾", []string{"1:17 🐾"}},
		{"pairs over lines", "metadata: {\n  \"e\": \"\\uD83D\\uDC3E \\ud83e\\udd9e\"\n}\n", "metadata.e=🐾 🦞", []string{"2:9 🐾"}},
		{"pair in a nested mapping", "metadata:\n  e: \"\\ud83d\\udc3e\"\n", "metadata.e=🐾", []string{"2:7 🐾"}},
		{"pair in free text", `description: "\ud83d\udc3e: a \"b\""` + "\n", `🐾: a "b"`, []string{"1:15 🐾"}},
		{"pair behind a backslash", `metadata: {"d":"\\ud83d\\udc3e","e":"\ud83d\udc3e"}` + "\n", `metadata.d=\ud83d\udc3e`, []string{"1:38 🐾"}},
		{"pair that is plain text too", "metadata:\n  d: \\ud83d\\udc3e\n  e: \"\\ud83d\\udc3e\"\n", `metadata.d=\ud83d\udc3e`, []string{"3:7 🐾"}},
		{"pair that is block text too", "metadata:\n  d: |\n    \"\\ud83d\\udc3e\"\n  e: \"\\ud83d\\udc3e\"\n", "metadata.d=\"\\ud83d\\udc3e\"\n", []string{"4:7 🐾"}},
		{"pair in single quotes too", `metadata: {'d':'\ud83d\udc3e',"e":"\ud83d\udc3e"}` + "\n", `metadata.d=\ud83d\udc3e`, []string{"1:36 🐾"}},
		{"pair in a mapping of JSON", `{"description": "\ud83d\udc3e"}` + "\n", "🐾", []string{"1:18 🐾"}},

		{"broken tools", "name: x\ndescription: a\ntools:\n  - @b\n  - c\nversion: 1\n", "a", []string{"4:1 tools cannot be read and is left out"}},
		{"broken tools at column 0", "name: x\ndescription: a\ntools:\n- @b\n- c\nversion: 1\n", "version=1", []string{"4:1 tools cannot"}},
		{"broken tags", "name: x\ndescription: a\ntags: [b\nversion: 1\n", "version=1", []string{"3:1 tags cannot"}},
		{"broken metadata and a slip", "name: x\ndescription: a: b\nmetadata: {\"c\":{\"emoji\":\"d\"}\n", "a: b", []string{"2:15 colon", "3:1 metadata cannot"}},
		{"broken homepage", "description: a\nhomepage: *x\n", "a", []string{"2:1 homepage cannot"}},
		{"glued fence before another", "description: a\n---# Title\ntext\n", "a", []string{"2:1 closing"}},
		{"glued fence after a colon", "description: a: b\n--- Title\ntext: [\n", "a: b", []string{"1:15 colon", "2:1 closing"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := repair.Parse([]byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			if got, want := valueOf(t, r.Value, tt.want); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			var got []string
			for i, p := range r.Repairs {
				place := fmt.Sprintf("%d:%d ", p.Line, p.Column)
				if i < len(tt.repairs) && strings.HasPrefix(tt.repairs[i], place) && strings.Contains(p.Message, strings.Trim(tt.repairs[i][len(place):], " ")) {
					place = tt.repairs[i]
				} else {
					place += p.Message
				}
				got = append(got, place)
				if p.Hint == "" {
					t.Errorf("no hint with %q", p.Message)
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(tt.repairs) {
				t.Errorf("repairs %q, want %q", got, tt.repairs)
			}
		})
	}
}

// valueOf returns the text that a wish (`value`, `field=value` or `field.field=value`) is about, and the value wished for.
func valueOf(t *testing.T, v yamldoc.Value, wish string) (got, want string) {
	t.Helper()
	field, want, ok := strings.Cut(wish, "=")
	if !ok || strings.ContainsAny(field, " \"") {
		field, want = "description", wish
	}
	for part := range strings.SplitSeq(field, ".") {
		v = v.Get(part)
	}
	got, ok = v.Text()
	if !ok {
		t.Fatalf("%s is %s", field, v.Kind())
	}
	return got, want
}

// TestParseRefuses gives each text with the line of its fault, which is that of the strict reading.
func TestParseRefuses(t *testing.T) {
	tests := []struct{ name, text string }{
		{"anchor and alias", "description: &x a\nsummary: *x\n"},
		{"alias of an anchor elsewhere", "a: &x b\ndescription: *x\n"},
		{"alias of an anchor, with a slip", "a: &x b\ndescription: *x\nsummary: c: d\n"},
		{"anchor with a slip", "description: &x a: b\n"},
		{"alias before its anchor", "description: *x\na: &x b\n"},
		{"bomb behind a slip", "description: a: b\nx: &x [a, a]\ny: [*x, *x]\n"},
		{"alias in a field that is not free text", "homepage: *x\n"},
		{"merge key", "description: a: b\n<<: {c: d}\n"},
		{"tag", "description: !important a\n"},
		{"tag with a slip", "description: !important a: b\n"},
		{"too deep", "description: " + strings.Repeat("[", 17) + strings.Repeat("]", 17) + "\n"},
		{"colon in a field that restricts", "description: a\ncompatible-runtime: b: c\n"},
		{"alias in a field, without a description", "name: a\nhomepage: *x\n"},
		{"nested field", "metadata:\n  description: a: b\n"},
		{"list of free text", "read_when:\n  - a: b: c\n"},
		{"list of free text at column 0", "read_when:\n- a: b: c\n"},
		{"mapping in free text", "description:\n  en: a: b\n"},
		{"four slips", "author: a: b\ndescription: a: b\nsummary: a: b\ntitle: a: b\n"},
		{"conflict", "description: a\n<<<<<<< ours\nversion: 1\n=======\n>>>>>>> theirs\n"},
		{"conflict in one text", "description: a\n<<<<<<< ours\n"},
		{"paragraph and a comment behind a blank line", "description: a\n\n# b\nc\n"},
		{"field without its colon", "description: a\n\nallowed-tools Read\nversion: 1\n"},
		{"paragraph behind a heading", "description: a\n# Title\nb\n"},
		{"mistyped key", "description: a\norigin:@ b\n"},
		{"key without a blank", "description: a\nmetadata:{\n  b: c\n}\n"},
		{"key behind a sign", "description: a\n@license: MIT\n"},
		{"colon in a name", "name: a: b\ndescription: c\n"},
		{"more behind a title", "title: x\nand more\n"},
		{"key with blanks", "description: a: b\nIt is used when: c\nor d\n"},
		{"nested keys behind a license", "license: MITmetadata:\n  b: c\n"},
		{"comment and a mapping", "description: # of it\n  a: b: c\n"},
		{"end of a code fence", "description: a\n```\n"},
		{"lone surrogate", "metadata: {\"e\": \"\\ud83d\"}\n"},
		{"surrogates the wrong way round", "metadata: {\"e\": \"\\udc3e\\ud83d\"}\n"},
		{"open bracket around what restricts", "description: a\nmetadata: {\"b\": {\"requires\": 1}\n"},
		{"open bracket around JSON that restricts", "description: a\nmetadata: [\"{\\\"requires\\\": 1}\"\n"},
		{"two broken fields", "description: a\nhomepage: @b\ntags: [c\n"},
		{"broken field that swallows others", "description: a\nversion: 1\n license: b\n"},
		{"broken field that holds the name", "description: a\ntags:\n- b: c: d\n name: e\n"},
		{"broken field with lines at column 0", "description: a\ntags: [b\nallowed Read\n"},
		{"broken list of tools and all", "description: a\nallowed-tools: [*, @b]\n"},
		{"broken list of tools", "description: a\nallowed-tools:\n  - @b\n"},
		{"broken dependencies", "description: a\ndependencies:\n  - @b/c>=1\n"},
		{"broken policy", "description: a\nx-policy: @b\n"},
		{"text", "description\n"},
		{"list", "- description: a\n"},
		{"table below", "description: a: b\n---|---\nx\n"},
		{"invalid UTF-8", "description: a: \xff\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := repair.Parse([]byte(tt.text))
			_, _, strict := yamldoc.Parse([]byte(tt.text))
			var got, want *yamldoc.Fault
			if !errors.As(err, &got) || !errors.As(strict, &want) || *got != *want {
				t.Fatalf("error %v, want %v; read as %s", err, strict, r.Value.JSON())
			}
			if r.Value.Kind() != yamldoc.Missing || len(r.Repairs) > 0 || len(r.Repeated) > 0 || r.Glued {
				t.Errorf("a refused text comes with %+v", r)
			}
		})
	}
}

func TestParseKeepsLines(t *testing.T) {
	text := "name: x\ndescription: |- a: b\n  c\n\n  d\nsummary:\n  e f: g\n  h\nlicense: MIT\nand more\nlast: {\"e\": \"\\ud83d\\udc3e\"}\nend: 1\nend: 2\n"
	r, err := repair.Parse([]byte(text))
	if err == nil {
		t.Fatal("four repairs were made")
	}
	text = strings.Replace(text, "and more", " and more", 1)
	if r, err = repair.Parse([]byte(text)); err != nil {
		t.Fatal(err)
	}
	for pair := range r.Value.Pairs() {
		key := map[string]int{"name": 1, "description": 2, "summary": 6, "license": 9, "last": 11, "end": 13}[pair.Key]
		value := key
		if pair.Key == "summary" {
			value = 7
		}
		if pair.Line != key || pair.Value.Line() != value {
			t.Errorf("%s in line %d with a value in %d, want %d and %d", pair.Key, pair.Line, pair.Value.Line(), key, value)
		}
	}
	if len(r.Repeated) != 1 || r.Repeated[0].Line != 13 {
		t.Errorf("repeated keys %v, want one in line 13", r.Repeated)
	}
}

func TestParseGuesses(t *testing.T) {
	long := strings.Repeat("é", 250)
	tests := []struct{ name, text, wantName, want string }{
		{"another field", "name: x\ndescription: a\nrequires: @b\n", "x", "a"},
		{"slips too", "name: \"x\" y\ndescription: a: b\nhomepage: @b\n", `"x" y`, "a: b"},
		{"first line of what follows", "name: x\ndescription: a\n<<<<<<< b\n", "x", "a"},
		{"before a glued fence", "name: x\nhomepage: @b\n---# Title\ndescription: c: d\n", "x", ""},
		{"lines", "description: |\n  a\n  b\nrequires: @b\n", "", "a b"},
		{"long", "description: " + long + "\nrequires: @b\n", "", long[:400] + "…"},
		{"no text", "name: [x]\ndescription: *y\na: &y b\n", "", "*y"},
		{"nothing", "[", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := repair.Parse([]byte(tt.text))
			if err == nil {
				t.Fatal("it was read")
			}
			if want := (repair.Guess{Name: tt.wantName, Description: tt.want}); r.Guess != want {
				t.Errorf("guess %+v, want %+v", r.Guess, want)
			}
		})
	}
}

func TestFence(t *testing.T) {
	tests := []struct {
		text, front, rest string
		ok                bool
	}{
		{"a: b\n---# Title\ntext", "a: b\n", "# Title\ntext", true},
		{"a: b\r\n--- Title\r\ntext", "a: b\r\n", "Title\r\ntext", true},
		{"a: b\r---Title\rtext", "a: b\r", "Title\rtext", true},
		{"a: b\n-----\r\ntext", "a: b\n", "text", true},
		{"a: b\n----", "a: b\n", "", true},
		{"---x", "", "x", true},
		{"a: b\n---\ntext", "", "", false},
		{"a: b\n ---x\n--y\n---|---\n--- | ---\n", "", "", false},
		{"", "", "", false},
	}
	for _, tt := range tests {
		front, rest, ok := repair.Fence([]byte(tt.text))
		if string(front) != tt.front || string(rest) != tt.rest || ok != tt.ok {
			t.Errorf("%q is cut into %q, %q, %v; want %q, %q, %v", tt.text, front, rest, ok, tt.front, tt.rest, tt.ok)
		}
	}
}

func TestParseTellsWhereItEnds(t *testing.T) {
	text := []byte("description: a: b\n---# Title\ntext\n")
	r, err := repair.Parse(text)
	if err != nil || !r.Glued {
		t.Fatalf("error %v, glued %v", err, r.Glued)
	}
	front, _, _ := repair.Fence(text)
	if want := bytes.Count(front, []byte("\n")) + 1; r.Repairs[1].Line != want {
		t.Errorf("line %d, want %d", r.Repairs[1].Line, want)
	}
}

// TestParseIsBounded reads texts of the greatest length that are made to take long.
func TestParseIsBounded(t *testing.T) {
	const size = 64 << 10
	fill := func(unit, end string) string { return strings.Repeat(unit, (size-len(end))/len(unit)) + end }
	for name, text := range map[string]string{
		"open brackets":      fill("a: {\n", ""),
		"brackets that fail": fill("a: {\n", "") + fill("} x\n", ""),
		"open quotes":        fill("a: \"\n", "@"),
		"other quotes":       fill("a: \"\nb: '\n", "@"),
		"repeated fields":    fill("title: x\n", "@"),
		"faulty fields":      fill("title: x: y\n", "@"),
		"loose lines":        "description: x\n" + fill("y\n", "@: @\n"),
		"pairs":              "metadata: \"" + fill(`\ud83d\udc3e`, "\n"),
		"quotes":             "description: \"x" + fill("\"x", " :\n"),
		"deep":               "description: " + fill("[", "\n"),
		"fences":             fill("---#\n", ""),
		"stars":              "description: " + fill("*x ", "\n"),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, _, _ = yamldoc.Parse([]byte(text))
			strict := time.Since(start)
			start = time.Now()
			_, err := repair.Parse([]byte(text))
			took := time.Since(start)
			t.Logf("%v, strictly %v, error %v", took, strict, err)
			if took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}
