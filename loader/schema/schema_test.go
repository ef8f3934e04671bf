package schema

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"pannier"
)

// validate returns why a schema cannot be used, or why it refuses arguments.
func validate(t testing.TB, parameters, arguments string) (unusable, refused string, got json.RawMessage) {
	t.Helper()
	s, err := Compile(json.RawMessage(parameters))
	if err != nil {
		return err.Error(), "", nil
	}
	got, err = s.Validate(t.Context(), json.RawMessage(arguments))
	if r, ok := errors.AsType[*pannier.Refusal](err); ok && r.Code == pannier.ToolArgumentsInvalid && r.Hint != "" {
		return "", r.Message, nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return "", "", got
}

// TestArguments names the place of what does not match.
func TestArguments(t *testing.T) {
	const parameters = `{"type":"object","required":["a"],"properties":{"a":{"type":"array","items":{"$ref":"#/$defs/n"}},"e":{"enum":["x"]},"p":{"pattern":"^[a-z]+$"}},"$defs":{"n":{"type":"integer","maximum":9}},"additionalProperties":false}`
	for arguments, want := range map[string]string{
		`{"a":[1,2]}`:               "",
		`{}`:                        "missing property 'a'",
		`{"a":[1,"2"]}`:             "/a/1: got string, want integer",
		`{"a":[10]}`:                "/a/0: maximum",
		`{"a":[],"e":"y"}`:          "/e: value must be 'x'",
		`{"a":[],"p":"Y"}`:          "/p: 'Y' does not match pattern",
		`{"a":[],"p":"y"}`:          "",
		`{"a":[],"--help":1}`:       "additional properties '--help' not allowed",
		`{"a":[1e401]}`:             "more than 400 digits",
		`[]`:                        "not a JSON object",
		`"x"`:                       "not a JSON object",
		`{"a":`:                     "not JSON",
		`{"a":[]} {}`:               "not JSON",
		strings.Repeat(`{"a":`, 70): "deeper than 64",
		strings.Repeat(" ", 2<<20):  "missing property",
		`{"a":"` + strings.Repeat("x", 1<<20) + `"}`: "more than 1048576 bytes",
		`{"a":[1],"a":[2]}`:                          "",
		"null":                                       "missing property",
	} {
		unusable, refused, got := validate(t, parameters, arguments)
		if unusable != "" || want == "" && (refused != "" || strings.Count(string(got), `"a"`) != 1) || want != "" && !strings.Contains(refused, want) {
			t.Errorf("%.60s: %q, %q, got %.100s, want %q", arguments, unusable, refused, got, want)
		}
	}
}

// TestKeywords keep their meaning: schemas are rewritten to count what they cost.
func TestKeywords(t *testing.T) {
	for _, tt := range []struct{ parameters, good, bad string }{
		{`{"unevaluatedProperties":false,"allOf":[{"properties":{"a":{}}}],"properties":{"b":{}}}`, `{"a":1,"b":2}`, `{"c":1}`},
		{`{"properties":{"x":{"prefixItems":[{"type":"string"}],"unevaluatedItems":false}}}`, `{"x":["a"]}`, `{"x":["a",1]}`},
		{`{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}`, `{"a":1,"b":1}`, `{"a":1,"c":1}`},
		{`{"oneOf":[{"required":["a"]},{"required":["b"]}]}`, `{"a":1}`, `{"a":1,"b":1}`},
		{`{"not":{"required":["a"]}}`, `{}`, `{"a":1}`},
		{`{"dependentSchemas":{"a":{"required":["b"]}}}`, `{"a":1,"b":1}`, `{"a":1}`},
		{`{"properties":{"x":{"contains":{"const":1},"minContains":2}}}`, `{"x":[1,1]}`, `{"x":[1]}`},
		{`{"patternProperties":{"^x":{"type":"integer"}},"additionalProperties":{"type":"string"}}`, `{"x1":1,"y":"a"}`, `{"y":1}`},
		{`{"propertyNames":{"maxLength":2}}`, `{"ab":1}`, `{"abc":1}`},
		{`{"properties":{"x":{"uniqueItems":true,"items":{"type":"integer"}}}}`, `{"x":[1,2]}`, `{"x":[1,1]}`},
		{`{"$defs":{"t":{"properties":{"next":{"$ref":"#/$defs/t"}},"additionalProperties":false}},"$ref":"#/$defs/t"}`, `{"next":{"next":{}}}`, `{"next":{"other":{}}}`},
		{`{"definitions":{"a~b":{"type":"integer"}},"properties":{"x":{"$ref":"#/definitions/a~0b"}}}`, `{"x":1}`, `{"x":"1"}`},
		{`{"properties":{"x":true,"y":false}}`, `{"x":1}`, `{"y":1}`},
	} {
		if unusable, refused, _ := validate(t, tt.parameters, tt.good); unusable+refused != "" {
			t.Errorf("%s: %s: %s%s", tt.parameters, tt.good, unusable, refused)
		}
		if unusable, refused, _ := validate(t, tt.parameters, tt.bad); unusable != "" || !strings.Contains(refused, "do not match") {
			t.Errorf("%s: %s: %q, %q", tt.parameters, tt.bad, unusable, refused)
		}
	}
}

// doubled returns definitions of which each applies the next one twice, in a keyword; the last is a leaf.
func doubled(n int, keyword, leaf string) string {
	text := `"$defs":{`
	for i := range n {
		text += fmt.Sprintf(`"d%d":`+keyword+`,`, i, i+1, i+1)
	}
	return text + fmt.Sprintf(`"d%d":%s}`, n, leaf)
}

type hostile struct{ name, parameters, arguments, unusable, refused string }

// hostileSchemas are slow, deep, large, or lead elsewhere.
func hostileSchemas() []hostile {
	const twice = `{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}`
	text := func(n int) string { return `{"x":"` + strings.Repeat("a", n) + `"}` }
	list := func(item string, n int) string { return `{"x":[` + strings.Repeat(item+",", n) + item + `]}` }
	of := func(x string) string { return `{"properties":{"x":` + x + `}}` }
	nested := strings.Repeat(`{"x":`, 60) + "{}" + strings.Repeat("}", 60)
	names := &strings.Builder{}
	for i := range 60_000 {
		fmt.Fprintf(names, `"name-%d":1,`, i)
	}
	object := "{" + names.String() + `"x":1}`
	different := &strings.Builder{}
	for i := range 100_000 {
		fmt.Fprintf(different, "%d,", i)
	}
	numbers := `{"x":[` + different.String() + `0.5]}`
	const bounds, apply = "within the bounds", "apply more than 4096"
	return []hostile{
		{"remote reference", `{"$ref":"http://127.0.0.1:1/x"}`, "{}", "does not name one of $defs", ""},
		{"file reference", of(`{"$ref":"file:///etc/passwd"}`), "{}", "does not name one of $defs", ""},
		{"meta-schema", `{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, "{}", "does not name one of $defs", ""},
		{"reference to any place", `{"$ref":"#/properties/a"}`, "{}", "does not name one of $defs", ""},
		{"escaped reference", `{"$ref":"#/$defs/%61"}`, "{}", "does not name one of $defs", ""},
		{"missing definition", `{"$ref":"#/$defs/a"}`, "{}", "$defs", ""},
		{"own address", of(`{"$id":"http://x/"}`), "{}", "$id is not supported", ""},
		{"anchor", of(`{"$anchor":"x"}`), "{}", "$anchor is not supported", ""},
		{"dynamic reference", `{"$dynamicRef":"#x"}`, "{}", "$dynamicRef is not supported", ""},
		{"own cost", `{"pannier:cost":-1000000000}`, "{}", "is not supported", ""},
		{"own comparison", of(`{"pannier:unique":true}`), "{}", "is not supported", ""},
		{"reference to itself", `{"$ref":"#"}`, "{}", "leads to itself", ""},
		{"references in a circle", `{"$defs":{"a":{"allOf":[{"$ref":"#/$defs/b"}]},"b":{"not":{"$ref":"#/$defs/a"}}},"$ref":"#/$defs/a"}`, "{}", "leads to itself", ""},
		{"doubling allOf", `{` + doubled(40, `{"allOf":[`+twice+`]}`, `{"type":"string"}`) + `,"properties":{"x":{"$ref":"#/$defs/d0"}}}`, text(1), apply, ""},
		{"doubling anyOf", `{` + doubled(40, `{"anyOf":[`+twice+`]}`, `{"type":"integer"}`) + `,"properties":{"x":{"$ref":"#/$defs/d0"}}}`, text(1), apply, ""},
		{"doubling oneOf", `{` + doubled(14, `{"oneOf":[`+twice+`]}`, `{"type":"integer"}`) + `,"properties":{"x":{"$ref":"#/$defs/d0"}}}`, text(1), apply, ""},
		{"doubling if", `{` + doubled(40, `{"if":{"$ref":"#/$defs/d%d"},"else":{"$ref":"#/$defs/d%d"}}`, `false`) + `,"properties":{"x":{"$ref":"#/$defs/d0"}}}`, text(1), apply, ""},
		{"doubling dependentSchemas under not", `{` + doubled(40, `{"dependentSchemas":{"x":{"$ref":"#/$defs/d%d"},"y":{"$ref":"#/$defs/d%d"}}}`, `{"type":"string"}`) + `,"not":{"$ref":"#/$defs/d0"}}`, `{"x":1,"y":1}`, apply, ""},
		{"doubling in a definition that nothing uses", `{` + doubled(40, `{"allOf":[`+twice+`]}`, `{}`) + `}`, "{}", apply, ""},
		{"recursion", of(`{"allOf":[{"$ref":"#"},{"$ref":"#"}]}`), nested, "", bounds},
		{"recursion of anyOf", of(`{"anyOf":[{"$ref":"#"},{"$ref":"#"},false]}`), strings.Replace(nested, "{}", `{"x":1}`, 1), "", ""},
		{"recursion of oneOf", of(`{"oneOf":[{"$ref":"#"},{"$ref":"#"}]}`), nested, "", bounds},
		{"recursion under not, with a leaf that does not match", `{"$defs":{"r":{"type":"object","properties":{"x":{"dependentSchemas":{"x":{"$ref":"#/$defs/r"}},"allOf":[{"$ref":"#/$defs/r"},{"$ref":"#/$defs/r"}]}}}},"not":{"$ref":"#/$defs/r"}}`, nested, "", bounds},
		{"recursion of items", `{"$defs":{"r":{"anyOf":[{"items":{"$ref":"#/$defs/r"},"minItems":1},{"items":{"$ref":"#/$defs/r"},"minItems":1}]}},"properties":{"x":{"$ref":"#/$defs/r"}}}`, `{"x":` + strings.Repeat("[", 50) + "[]" + strings.Repeat("]", 50) + "}", "", bounds},
		{"many anyOf", of(`{"items":{"anyOf":[` + strings.Repeat(`{"type":"string"},`, 1000) + `false]}}`), list("1", 100_000), "", bounds},
		{"too many anyOf", of(`{"anyOf":[` + strings.Repeat(`{},`, 5000) + `{}]}`), "{}", apply, ""},
		{"depth", strings.Repeat(`{"not":`, 100) + "{}" + strings.Repeat("}", 100), "{}", "deeper than 64", ""},
		{"depth of properties", strings.Repeat(`{"properties":{"x":`, 100) + "{}" + strings.Repeat("}}", 100), nested, "deeper than 64", ""},
		{"size", `{"description":"` + strings.Repeat("x", 70<<10) + `"}`, "{}", "more than 65536 bytes", ""},
		{"slow pattern", of(`{"pattern":"^(a+)+$"}`), text(900_000), "", ""},
		{"slow pattern, short text", of(`{"pattern":"^(a+)+$"}`), text(1000), "", ""},
		{"large pattern", of(`{"pattern":"` + strings.Repeat("(a|b)*", 5000) + `"}`), text(1), "more than 2000 bytes", ""},
		{"repeated pattern", of(`{"pattern":"(a?){1000}(b?){1000}(c?){1000}"}`), text(1), "too large", ""},
		{"large repetition", of(`{"pattern":"((a{1,1000}){1,1000}){1,1000}"}`), text(1), "not one of RE2", ""},
		{"back reference", of(`{"pattern":"(a)\\1"}`), text(1), "not one of RE2", ""},
		{"look ahead", of(`{"pattern":"(?=a)"}`), text(1), "not one of RE2", ""},
		{"many classes", of(`{"pattern":"` + strings.Repeat(`\\p{L}`, 330) + `"}`), text(1), "too large", ""},
		{"pattern at the bound", of(`{"pattern":"(x+x+)+(x|a){900}y"}`), text(4000), "", bounds},
		{"dense pattern", of(`{"pattern":"(a?){800}b"}`), text(4000), "", bounds},
		{"many patterns", of(`{"allOf":[{"pattern":"a{900}"},{"pattern":"b{900}"},{"pattern":"[a-c]{900}"},{"pattern":"[a-d]{900}"}],"items":{"pattern":"(a|aa)+$"}}`), list(`"`+strings.Repeat("a", 1000)+`b"`, 900), "", ""},
		{"many large patterns", of(`{"anyOf":[` + strings.Repeat(`{"pattern":"a{999}`+`"},`, 3) + many(`{"pattern":"[a-%c]{999}"},`, 21) + `{}]}`), text(1), "too large", ""},
		{"pattern of names", `{"patternProperties":{"(n|a|m|e|-|[0-9])+x$":{},"(.|n)*y$":{},"(..|n)*z$":{}}}`, object, "", bounds},
		{"names", `{"propertyNames":{"pattern":"^(n|name-)+[0-9]*$"}}`, object, "", ""},
		{"unevaluated properties", `{"unevaluatedProperties":{"type":"integer"},"allOf":[` + strings.Repeat(`{"required":["x"]},`, 500) + `{}]}`, object, "", bounds},
		{"unique items", of(`{"uniqueItems":true}`), numbers, "", bounds},
		{"unique lists", of(`{"uniqueItems":true}`), list("["+strings.Repeat("1,", 100)+"1]", 4000), "", bounds},
		{"large enumeration", of(`{"items":{"enum":[` + strings.Repeat(`"abcdefgh",`, 5000) + `0]}}`), list("1", 200_000), "", bounds},
		{"enumeration of numbers", of(`{"items":{"enum":[` + strings.Repeat(`1.5e300,`, 7000) + `0]}}`), list("1e300", 10_000), "", bounds},
		{"large numbers in the schema", of(`{"maximum":1e999999999}`), `{"x":1}`, "more than 400 digits", ""},
		{"large numbers", of(`{"type":"integer"}`), `{"x":1e999999}`, "", "more than 400 digits"},
		{"small numbers", of(`{"multipleOf":0.1}`), `{"x":1e-999999}`, "", "more than 400 digits"},
		{"long numbers", of(`{"multipleOf":3}`), `{"x":` + strings.Repeat("7", 900_000) + `}`, "", "more than 400 digits"},
		{"many numbers", of(`{"items":{"multipleOf":1e-300}}`), list("1.234e300", 90_000), "", bounds},
		{"required", of(`{"items":{"required":[` + strings.TrimSuffix(many(`"n%d",`, 6000), ",") + `]}}`), list("{}", 200_000), "", bounds},
		{"contains", of(`{"contains":{"contains":{"type":"string"}}}`), list("["+strings.Repeat("1,", 500)+"1]", 900), "", bounds},
		{"not a schema", of(`1`), "{}", "properties", ""},
		{"not an object", `[]`, "{}", "not an object", ""},
	}
}

func many(format string, n int) (text string) {
	for i := range n {
		if strings.Contains(format, "%c") {
			i += 'c'
		}
		text += fmt.Sprintf(format, i)
	}
	return text
}

// TestHostileSchemas are refused when they are compiled, or when they have used their time. The time is that of the processor, so that
// other load does not count.
func TestHostileSchemas(t *testing.T) {
	const most = 400 * time.Millisecond // 50 ms, and decoding 1 MiB of arguments
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	all := hostileSchemas()
	if len(all) < 40 {
		t.Errorf("%d schemas", len(all))
	}
	for _, tt := range all {
		before := threadTime()
		s, err := Compile(json.RawMessage(tt.parameters))
		compiled := threadTime() - before
		if compiled > most {
			t.Errorf("%s takes %s to compile", tt.name, compiled)
		}
		if err != nil {
			if tt.unusable == "" || !strings.Contains(err.Error(), tt.unusable) {
				t.Errorf("%s: %.300v, want %q", tt.name, err, tt.unusable)
			}
			continue
		}
		if tt.unusable != "" {
			t.Errorf("%s is accepted", tt.name)
			continue
		}
		before = threadTime()
		_, err = s.Validate(t.Context(), json.RawMessage(tt.arguments))
		took := threadTime() - before
		if tt.refused != "" && (err == nil || !strings.Contains(err.Error(), tt.refused)) {
			t.Errorf("%s: %.300v, want %q", tt.name, err, tt.refused)
		}
		if took > most {
			t.Errorf("%s takes %s", tt.name, took)
		}
		t.Logf("%-40s compiled in %s, validated in %s: %.80v", tt.name, compiled.Round(time.Millisecond), took.Round(time.Millisecond), err)
	}
}

// TestValidationEnds when the caller leaves, also one that waits for another validation.
func TestValidationEnds(t *testing.T) {
	s, err := Compile(json.RawMessage(`{"properties":{"x":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	slow := json.RawMessage(strings.Repeat(`{"x":`, 60) + "{}" + strings.Repeat("}", 60))
	gone, leave := context.WithCancel(t.Context())
	leave()
	<-s.free // another validation goes on
	if _, err := s.Validate(gone, slow); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that waits: %v", err)
	}
	s.free <- struct{}{}
	looked := &leaves{Context: t.Context(), after: 3}
	if _, err := s.Validate(looked, slow); !errors.Is(err, context.Canceled) || looked.asked > 6 {
		t.Errorf("a caller that leaves during the validation: %v, after %d looks", err, looked.asked)
	}
	if _, err := s.Validate(t.Context(), json.RawMessage(`{"x":{}}`)); err != nil {
		t.Errorf("the next one: %v", err)
	}
}

// leaves is a context that ends after it was asked some times.
type leaves struct {
	context.Context
	asked, after int
}

// Err implements [context.Context].
func (l *leaves) Err() error {
	if l.asked++; l.asked > l.after {
		return context.Canceled
	}
	return nil
}

func FuzzSchemas(f *testing.F) {
	f.Add(`{"type":"object","properties":{"x":{"type":"integer"}},"additionalProperties":false}`, `{"x":1}`)
	f.Add(`{"$defs":{"a":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`, `{}`)
	f.Add(`{"allOf":[{"if":{"required":["a"]},"then":{"not":{}}}]}`, `{"a":[1]}`)
	f.Fuzz(func(t *testing.T, parameters, arguments string) {
		if _, _, got := validate(t, parameters, arguments); got != nil && !json.Valid(got) {
			t.Errorf("%q", got)
		}
	})
}
