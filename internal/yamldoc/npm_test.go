package yamldoc

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// npmGolden has a line for each text: the text in quotes, a tab, and the JSON that the package yaml of npm makes of it,
// or "error". To add a text, add a line with it and run TestNPM with -npm, which writes the other halves.
const npmGolden = "testdata/npm.golden"

var updateNPM = flag.Bool("npm", false, "write "+npmGolden+" anew with the package yaml")

// refusedHere are texts of the golden file that JSON refuses and the package of npm reads.
var refusedHere = map[string]string{
	"a: !!binary aGVsbG8=":       "the tag is not of the core schema",
	"a: !!set {x, y}":            "the tag is not of the core schema",
	"a: !!timestamp 2001-01-01":  "the tag is not of the core schema",
	"a: !!merge <<":              "the tag is not of the core schema",
	"? [a, b]\n: 3":              "the key is a list",
	"? - a\n: b":                 "the key is a list",
	"? {a: 1}\n: 3":              "the key is a mapping",
	"&k a: 1\n*k : 2":            "the key is there twice, once as an alias",
	"%YAML 1.1\n---\na: yes":     "a directive changes the schema",
	"%YAML 1.1\n--- # x\na: yes": "a directive changes the schema",
	"- 1\n- 2":                   "not a mapping",
	"foo":                        "not a mapping",
	"a:1":                        "not a mapping",
	"a: \"\\ud83d\\ude00\"":      "the library does not join surrogates; loader/repair does",
	"a: \"\\/\\b\\f\\v\\e\\a\"":  "the library does not know the escape of a slash",
	"a: b\u2028c":                "the library takes U+2028 for a line break, as YAML 1.1 does",
	"a: x\u0085y":                "the library takes U+0085 for a line break, as YAML 1.1 does",
}

// otherwiseHere are texts of the golden file that JSON reads otherwise, and how.
var otherwiseHere = map[string]string{
	"a: !":   `{"a":null}`, // the library does not report the tag `!`
	"a: ! 1": `{"a":1}`,
}

func TestHardScalars(t *testing.T) {
	for _, c := range readGolden(t) {
		if fault := differenceFromNPM(c.text, c.want); fault != "" {
			t.Errorf("%q: %s", c.text, fault)
		}
	}
}

// differenceFromNPM says how JSON differs from the result of the package of npm, which is empty for an error.
func differenceFromNPM(text, want string) string {
	got, err := JSON([]byte(text))
	switch {
	case want == "" && err == nil:
		return "read as " + string(got) + ", want an error"
	case want == "" || err != nil && refusedHere[text] != "":
		return ""
	case err != nil:
		return "error " + err.Error() + ", want " + want
	case refusedHere[text] != "":
		return "read as " + string(got) + ", want it refused: " + refusedHere[text]
	}
	if other := otherwiseHere[text]; other != "" {
		want = other
	}
	if want == "null" {
		want = "{}" // nothing between the fences
	}
	if shown, err := asJavaScript(got); err != nil || shown != want {
		return "got " + shown + ", want " + want
	}
	return ""
}

// TestNPM compares JSON with the package yaml over the golden file and all real frontmatters. $PANNIER_NPM_YAML is the path
// of .ci/mcp/yaml.mjs with the package installed beside it.
func TestNPM(t *testing.T) {
	script := os.Getenv("PANNIER_NPM_YAML")
	if script == "" {
		t.Skip("PANNIER_NPM_YAML names no script")
	}
	golden := readGolden(t)
	texts := make([]string, 0, len(golden))
	for _, c := range golden {
		texts = append(texts, c.text)
	}
	for _, front := range realFrontmatters(t) {
		texts = append(texts, strings.TrimSuffix(string(front), "\n")) // hosts cut it so
	}
	results := runNPM(t, script, texts)
	var lines strings.Builder
	refused, differ := 0, 0
	for i, text := range texts {
		if i < len(golden) {
			lines.WriteString(goldenLine(text, results[i]))
			continue
		}
		if results[i] == "" {
			refused++ // readers of such a frontmatter have nothing to compare
			continue
		}
		if fault := differenceFromNPM(text, results[i]); fault != "" {
			differ++
			t.Errorf("%s in\n%s", fault, text)
		}
	}
	t.Logf("%d frontmatters, of which the package refuses %d; %d differ", len(texts)-len(golden), refused, differ)
	if *updateNPM {
		if err := os.WriteFile(npmGolden, []byte(lines.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(npmGolden); err != nil || string(text) != lines.String() {
		t.Errorf("%s is not what the package makes of its texts; -npm writes it (%v)", npmGolden, err)
	}
}

func runNPM(t *testing.T, script string, texts []string) []string {
	t.Helper()
	in, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", script)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var results []string // null is an empty one
	if err := json.Unmarshal(out, &results); err != nil || len(results) != len(texts) {
		t.Fatalf("%d results for %d texts: %v", len(results), len(texts), err)
	}
	return results
}

type npmCase struct{ text, want string }

func readGolden(t *testing.T) []npmCase {
	t.Helper()
	golden, err := os.ReadFile(npmGolden)
	if err != nil {
		t.Fatal(err)
	}
	var cases []npmCase
	for line := range strings.Lines(string(golden)) {
		quoted, want, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		text, err := strconv.Unquote(quoted)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		cases = append(cases, npmCase{text, strings.TrimPrefix(want, "error")})
	}
	if len(cases) < 100 {
		t.Errorf("%d texts, want 100 at least", len(cases))
	}
	return cases
}

func goldenLine(text, result string) string {
	return strconv.QuoteToASCII(text) + "\t" + cmp.Or(result, "error") + "\n"
}

// asJavaScript returns what JSON.stringify(JSON.parse(text)) does.
func asJavaScript(text json.RawMessage) (string, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	out, err := stringified(dec)
	return string(out), err
}

func stringified(dec *json.Decoder) ([]byte, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case json.Delim:
		return stringifiedCollection(dec, token)
	case json.Number:
		f, _ := strconv.ParseFloat(string(token), 64)
		if math.IsInf(f, 0) {
			return []byte("null"), nil
		}
		return json.Marshal(f + 0)
	case string:
		return javaScriptString(token), nil
	}
	return json.Marshal(token)
}

func stringifiedCollection(dec *json.Decoder, open json.Delim) ([]byte, error) {
	type part struct {
		index int64 // of a key that is an array index; JavaScript puts those first
		text  []byte
	}
	var parts []part
	for dec.More() {
		p := part{index: math.MaxInt64}
		if open == '{' {
			token, err := dec.Token()
			if err != nil {
				return nil, err
			}
			key := token.(string)
			if n, err := strconv.ParseUint(key, 10, 32); err == nil && n < math.MaxUint32 && strconv.FormatUint(n, 10) == key {
				p.index = int64(n)
			}
			p.text = append(javaScriptString(key), ':')
		}
		value, err := stringified(dec)
		if err != nil {
			return nil, err
		}
		p.text = append(p.text, value...)
		parts = append(parts, p)
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	if open == '{' {
		slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(a.index, b.index) })
	}
	var texts [][]byte
	for _, p := range parts {
		texts = append(texts, p.text)
	}
	return slices.Concat([]byte{byte(open)}, bytes.Join(texts, []byte(",")), []byte{byte(open) + 2}), nil
}

// javaScriptString returns a text as JSON.stringify does, which leaves U+2028 and U+2029 as they are.
func javaScriptString(text string) []byte {
	quoted := appendString(nil, text)
	quoted = bytes.ReplaceAll(quoted, []byte(`\u2028`), []byte("\u2028"))
	return bytes.ReplaceAll(quoted, []byte(`\u2029`), []byte("\u2029"))
}

func TestJSONIsBounded(t *testing.T) {
	bomb := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c <= 'k'; c++ {
		name, before := string(c), string(c-1)
		bomb += name + ": &" + name + " [" + strings.Repeat("*"+before+", ", 8) + "*" + before + "]\n"
	}
	for name, text := range map[string]string{
		"aliases of aliases": bomb,
		"an alias in itself": "a: &a [*a]\n",
		"depth":              "a: " + strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth) + "\n",
		"many values":        "a: [" + strings.Repeat("1, ", MaxNodes) + "1]\n",
		"many aliased keys":  "a: &a {" + strings.Repeat("k", 3) + ": 1}\nb: [" + strings.Repeat("*a, ", MaxNodes/2) + "*a]\n",
	} {
		if got, err := JSON([]byte(text)); err == nil {
			t.Errorf("%s: read as %d bytes", name, len(got))
		}
	}
}

func FuzzJSON(f *testing.F) {
	for _, seed := range []string{"a: 1\n", "a: &x [1]\nb: *x\n", "1.0: -0\n~: !!str 1\n", "<<: {a: .nan}\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 64<<10 {
			return
		}
		got, err := JSON(text)
		if err == nil && (!json.Valid(got) || got[0] != '{') {
			t.Fatalf("%q: not a JSON object: %s", text, got)
		}
	})
}

func TestJSONKeepsWhatNumbersHold(t *testing.T) {
	got, err := JSON([]byte("b: 9007199254740993\na: -0\n2: -0.0\n1: x\n"))
	if want := `{"b":9007199254740993,"a":-0,"2":-0,"1":"x"}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
}
