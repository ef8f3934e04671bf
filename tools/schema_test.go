package tools_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pannier"
	"pannier/tools"
)

// validate calls a tool with parameters, and returns why its arguments are refused.
func validate(t testing.TB, parameters, arguments string) (told string, got json.RawMessage) {
	t.Helper()
	b := newBench()
	b.entry().RuntimeTools = []pannier.Tool{{Name: "run", Kind: pannier.ToolDeclared, Parameters: json.RawMessage(parameters), Declaration: json.RawMessage(`{"kind":"shell","config":{"command":["x"]}}`)}}
	_, err := tools.New(b.options).Call(t.Context(), request("skill.a.run", arguments))
	if r, ok := errors.AsType[*pannier.Refusal](err); ok && r.Code == pannier.ToolArgumentsInvalid {
		return r.Message, nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return "", b.jobs[0].Arguments
}

// TestArguments names the place of what does not match.
func TestArguments(t *testing.T) {
	const parameters = `{"type":"object","required":["a"],"properties":{"a":{"type":"array","items":{"$ref":"#/$defs/n"}},"e":{"enum":["x"]}},"$defs":{"n":{"type":"integer","maximum":9}},"additionalProperties":false}`
	for arguments, want := range map[string]string{
		`{"a":[1,2]}`:               "",
		`{}`:                        "missing property 'a'",
		`{"a":[1,"2"]}`:             "/a/1: got string, want integer",
		`{"a":[10]}`:                "/a/0: maximum",
		`{"a":[],"e":"y"}`:          "/e: value must be 'x'",
		`{"a":[],"--help":1}`:       "additional properties '--help' not allowed",
		`[]`:                        "not a JSON object",
		`"x"`:                       "not a JSON object",
		`{"a":`:                     "not JSON",
		`{"a":[]} {}`:               "not JSON",
		strings.Repeat(`{"a":`, 70): "deeper than 64",
		strings.Repeat(" ", 2<<20):  "",
		`{"a":"` + big + `"}`:       "more than 1048576 bytes",
		`{"a":[1],"a":[2]}`:         "",
		"null":                      "missing property",
	} {
		told, got := validate(t, parameters, arguments)
		if want == "" && strings.TrimSpace(arguments) == "" {
			want = "missing property"
		}
		if want == "" && (told != "" || strings.Count(string(got), `"a"`) != 1) || want != "" && !strings.Contains(told, want) {
			t.Errorf("%.60s: told %q, got %.100s, want %q", arguments, told, got, want)
		}
	}
}

var big = strings.Repeat("x", 1<<20)

// TestHostileSchemas are refused, or cost a bounded time.
func TestHostileSchemas(t *testing.T) {
	double := `{"$defs":{`
	for i := range 40 {
		double += fmt.Sprintf(`"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	double += `"d40":{"type":"string"}},"properties":{"x":{"$ref":"#/$defs/d0"}}}`
	deep := strings.Repeat(`{"not":`, 100) + "{}" + strings.Repeat("}", 100)
	long := `{"x":"` + strings.Repeat("a", 900_000) + `"}`
	numbers := `{"x":[` + strings.Repeat("1,", 200_000) + `2]}`
	enum := `{"properties":{"x":{"items":{"enum":[` + strings.Repeat(`"abcdefgh",`, 5000) + `0]}}}}`
	for _, tt := range []struct{ name, parameters, arguments, want string }{
		{"remote reference", `{"$ref":"http://127.0.0.1:1/x"}`, "{}", "does not name one of $defs"},
		{"file reference", `{"properties":{"a":{"$ref":"file:///etc/passwd"}}}`, "{}", "does not name one of $defs"},
		{"meta-schema", `{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, "{}", "does not name one of $defs"},
		{"reference to any place", `{"$ref":"#/properties/a"}`, "{}", "does not name one of $defs"},
		{"own address", `{"properties":{"a":{"$id":"http://x/"}}}`, "{}", "$id is not supported"},
		{"dynamic reference", `{"$dynamicRef":"#x"}`, "{}", "$dynamicRef is not supported"},
		{"doubling references", double, `{"x":"s"}`, "within the bounds"},
		{"reference to itself", `{"$ref":"#"}`, "{}", ""},
		{"recursion", `{"properties":{"x":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}`, strings.Repeat(`{"x":`, 60) + "{}" + strings.Repeat("}", 60), "within the bounds"},
		{"depth", deep, "{}", "deeper than 64"},
		{"size", `{"description":"` + strings.Repeat("x", 70<<10) + `"}`, "{}", "more than 65536 bytes"},
		{"slow pattern", `{"properties":{"x":{"pattern":"^(a+)+$"}}}`, long, ""},
		{"large pattern", `{"properties":{"x":{"pattern":"` + strings.Repeat("(a|b)*", 5000) + `"}}}`, long, "within the bounds"},
		{"large repetition", `{"properties":{"x":{"pattern":"((a{1,1000}){1,1000}){1,1000}"}}}`, `{"x":"a"}`, "cannot be used"},
		{"unique items", `{"properties":{"x":{"uniqueItems":true}}}`, numbers, "/x"},
		{"large enumeration", enum, numbers, "within the bounds"},
		{"not an object", `{"properties":{"a":1}}`, "{}", "cannot be used"},
	} {
		begun := time.Now()
		told, _ := validate(t, tt.parameters, tt.arguments)
		if tt.want != "" && !strings.Contains(told, tt.want) {
			t.Errorf("%s: %.300q, want %q", tt.name, told, tt.want)
		}
		if took := time.Since(begun); took > 20*time.Second {
			t.Errorf("%s took %s", tt.name, took)
		} else {
			t.Logf("%s took %s", tt.name, took)
		}
	}
}

func FuzzSchemas(f *testing.F) {
	f.Add(argumentsOfX, `{"x":1}`)
	f.Add(`{"$defs":{"a":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`, `{}`)
	f.Add(`{"allOf":[{"if":{"required":["a"]},"then":{"not":{}}}]}`, `{"a":[1]}`)
	f.Fuzz(func(t *testing.T, parameters, arguments string) {
		if !json.Valid([]byte(parameters)) || parameters[0] != '{' {
			return
		}
		if _, got := validate(t, parameters, arguments); got != nil && !json.Valid(got) {
			t.Errorf("%q", got)
		}
	})
}
