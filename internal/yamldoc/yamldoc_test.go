package yamldoc_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pannier/internal/yamldoc"
)

func TestParseKeepsTextTypesAndOrder(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"empty", "", `{}`},
		{"comment alone", "# nothing\n", `{}`},
		{"explicit null", "~\n", `{}`},
		{"source order", "b: 1\na: 2\n", `{"b":1,"a":2}`},
		{"core schema numbers", "a: 010\nb: 0o10\nc: 0x1F\nd: 1.50\ne: 1e3\nf: .inf\n", `{"a":10,"b":8,"c":31,"d":1.5,"e":1000,"f":null}`},
		{"core schema words", "a: yes\nb: on\nc: True\nd: ~\ne:\nf: 2024-01-01\n", `{"a":"yes","b":"on","c":true,"d":null,"e":null,"f":"2024-01-01"}`},
		{"quotes make text", "a: \"1\"\nb: 'true'\nc: |\n  5\n", `{"a":"1","b":"true","c":"5\n"}`},
		{"large numbers", "a: 99999999999999999999\nb: -0099999999999999999999\nc: 0xFFFFFFFFFFFFFFFFF\nd: 1e400\ne: 9007199254740993\n", `{"a":99999999999999999999,"b":-99999999999999999999,"c":295147905179352825855,"d":null,"e":9007199254740993}`},
		{"numbers of 1.2 alone", "a: 1.0\nb: 0o17\nc: 0x10\nd: 010\ne: 1.\nf: .5\ng: +1\nh: -0\ni: 1E-7\n", `{"a":1,"b":15,"c":16,"d":10,"e":1,"f":0.5,"g":1,"h":0,"i":1e-7}`},
		{"no numbers of 1.2", "a: 1_000\nb: 0b11\nc: 1:30\nd: 0o8\ne: 0X1F\nf: 1.0.0\ng: 2024-01-01T00:00:00Z\nh: 1e\n", `{"a":"1_000","b":"0b11","c":"1:30","d":"0o8","e":"0X1F","f":"1.0.0","g":"2024-01-01T00:00:00Z","h":"1e"}`},
		{"no words of 1.2", "a: y\nb: no\nc: Off\nd: tRUE\ne: nULL\n", `{"a":"y","b":"no","c":"Off","d":"tRUE","e":"nULL"}`},
		{"nothing", "a: ~\nb: null\nc: Null\nd:\ne: \"\"\nf: [~, ]\ng: .NaN\nh: -.INF\n", `{"a":null,"b":null,"c":null,"d":null,"e":"","f":[null],"g":null,"h":null}`},
		{"order below", "z: {c: 1, a: {z: 1, b: 2}, b: 3}\na: 1\n", `{"z":{"c":1,"a":{"z":1,"b":2},"b":3},"a":1}`},
		{"nested", "a:\n  - {b: [1, ~]}\n", `{"a":[{"b":[1,null]}]}`},
		{"last of repeated keys", "a: 1\nb: 2\na: 3\n", `{"b":2,"a":3}`},
		{"markup stays as it is", "a: <b>&</b>\n", `{"a":"<b>&</b>"}`},
		{"document start", "# comment\n---\na: 1\n", `{"a":1}`},
		{"document end at the end", "a: 1\n...\n", `{"a":1}`},
		{"marks within a block text", "a: |\n  ---\n  ...\n", `{"a":"---\n...\n"}`},
		{"key that is no text", "? [x]\n: 1\nb: 2\n", `{"b":2}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v, _, err := yamldoc.Parse([]byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			if got := string(v.JSON()); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestParseTextIsAsWritten(t *testing.T) {
	v, _, err := yamldoc.Parse([]byte("version: 1.0\nyes: yes\nlist: [a]\nnothing:\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := v.Get("version").Text(); got != "1.0" || !ok {
		t.Errorf("version = %q, %v; want the text 1.0", got, ok)
	}
	for key, kind := range map[string]yamldoc.Kind{"list": yamldoc.List, "nothing": yamldoc.Null, "absent": yamldoc.Missing, "yes": yamldoc.Text} {
		if got := v.Get(key).Kind(); got != kind {
			t.Errorf("%s is %s, want %s", key, got, kind)
		}
	}
	if _, ok := v.Get("list").Text(); ok {
		t.Error("a list passes for a text")
	}
}

func TestParseTellsRepeatedKeys(t *testing.T) {
	var many strings.Builder
	for range 40 {
		many.WriteString("k: 1\n")
	}
	for _, tt := range []struct {
		text    string
		faults  int
		line    int
		message string
	}{
		{"a: 1\nb:\n  c: 1\n  c: 2\n", 1, 4, `"c"`},
		{many.String(), 39, 2, `"k"`},
	} {
		_, faults, err := yamldoc.Parse([]byte(tt.text))
		if err != nil {
			t.Fatal(err)
		}
		if len(faults) != tt.faults {
			t.Fatalf("%d faults, want %d: %v", len(faults), tt.faults, faults)
		}
		if faults[0].Line != tt.line || !strings.Contains(faults[0].Message, tt.message) {
			t.Errorf("fault %+v, want line %d about %s", faults[0], tt.line, tt.message)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		name, text string
		line       int
		hint       string
	}{
		{"colon in a plain text", "name: x\ndescription: Use when: y\nversion: 1\n", 2, "double quotes"},
		{"bold text", "name: x\ndescription: **bold** t\n", 2, "starts with *"},
		{"alias", "name: x\na: 1\nb: *nobody\n", 3, "starts with *"},
		{"resolved alias", "a: &x 1\nb: *x\n", 1, "starts with &"},
		{"tag", "a: !!str e\n", 1, "starts with !"},
		{"merge key", "a: 1\n<<: {b: 1}\n", 2, "write the merged values out"},
		{"tab", "name: x\n\tdescription: y\n", 2, "not tabs"},
		{"text at column 0", "name: x\ndescription: foo\nbar baz\n", 3, "key: value"},
		{"open quote", "name: x\ndescription: \"foo\nv: 1\n", 2, "not closed"},
		{"surrogate escapes", "a: \"\\ud83d\\udc3e\"\n", 1, "character itself"},
		{"list", "- a\n", 1, "key: value"},
		{"scalar", "just text\n", 1, "key: value"},
		{"second document", "a: 1\n--- b\n", 2, "remove the line"},
		{"document end", "a: 1\n...\nb: 2\n", 2, "remove the line"},
		{"too deep", "a: " + strings.Repeat("[", 17) + strings.Repeat("]", 17) + "\n", 1, "flatten"},
		{"far too deep", "a: " + strings.Repeat("[", 60_000) + "\n", 1, ""},
		{"too many values", "a: [" + strings.Repeat("1,", 5000) + "]\n", 1, "file of their own"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := yamldoc.Parse([]byte(tt.text))
			var f *yamldoc.Fault
			if !errors.As(err, &f) {
				t.Fatalf("error %v, want a fault", err)
			}
			if f.Line != tt.line {
				t.Errorf("line %d, want %d (%s)", f.Line, tt.line, f.Message)
			}
			if !strings.Contains(f.Hint, tt.hint) || f.Hint == "" {
				t.Errorf("hint %q, want one with %q", f.Hint, tt.hint)
			}
		})
	}
}

func TestTabsAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"name: x\n\tdescription: y\n":              "the line is indented with a tab",
		"name: x\nrequires:\n  \tbins: [jq]\n":     "the line is indented with a tab",
		"name: x\nrequires:\n\tbins: [jq]\na: b\n": "the line is indented with a tab",
		"name: x\ndescription: @y\n":               "a value without quotes begins with a character that YAML reserves",
		"name: @x\nrequires:\n\tbins: [jq]\n":      "a value without quotes begins with a character that YAML reserves",
	} {
		if _, _, err := yamldoc.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want: %s", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"a: 1\nb: [x, {y: z}]\n", "a: &b c\n", "? x\n: y\n", "a: \"\\u0000\"\n", "\ufeffa: 1", "a: |\n  b\n...\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 64<<10 {
			return
		}
		v, _, err := yamldoc.Parse(text)
		if err != nil {
			var fault *yamldoc.Fault
			if !errors.As(err, &fault) || fault.Hint == "" {
				t.Fatalf("error %v is no fault with a hint", err)
			}
			return
		}
		if v.Kind() != yamldoc.Map {
			t.Fatalf("a %s came back", v.Kind())
		}
		if !json.Valid(v.JSON()) {
			t.Fatalf("not JSON: %s", v.JSON())
		}
	})
}

func BenchmarkParse(b *testing.B) {
	text := []byte(`name: query-release
description: "Query REST APIs and render release notes. Use when the user asks to query time series. Not for invoices; prefer the dedicated skill there."
version: 1.4.2
license: MIT
allowed-tools: Read, Grep, Bash(git:*)
metadata: {"openclaw": {"emoji": "x", "requires": {"bins": ["jq", "gh"], "env": ["GH_TOKEN"]}, "primaryEnv": "GH_TOKEN", "install": [{"id": "brew", "kind": "brew", "formula": "jq", "bins": ["jq"], "label": "Install jq (brew)"}]}}
`)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := yamldoc.Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}
