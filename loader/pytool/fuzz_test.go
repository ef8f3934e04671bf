package pytool_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"pannier"
	"pannier/internal/testbench/fixture"
	"pannier/loader/pytool"
)

// checkTools fails where a tool or a fault is not as everybody may rely on.
func checkTools(tb testing.TB, text []byte, tools []pannier.Tool, faults []pytool.Fault) {
	tb.Helper()
	lines := 1 + strings.Count(string(text), "\n") + strings.Count(string(text), "\r")
	if len(tools) > pytool.MaxTools || len(faults) > 64 {
		tb.Errorf("%d tools, %d faults", len(tools), len(faults))
	}
	seen := map[string]bool{}
	for _, tool := range tools {
		if !isName(tool.Name) && !strings.Contains(string(text), "(") {
			tb.Errorf("%q is not a name, and no decorator gives one", tool.Name)
		}
		if seen[tool.Name] || strings.TrimSpace(tool.Name) == "" || strings.ContainsFunc(tool.Name, unicode.IsControl) {
			tb.Errorf("tool %q", tool.Name)
		}
		seen[tool.Name] = true
		if tool.Kind != pannier.RuntimePython || tool.Path != "" || tool.Line < 1 || tool.Line > lines {
			tb.Errorf("%+v, of %d lines", tool, lines)
		}
		if !utf8.ValidString(tool.Name) || !utf8.ValidString(tool.Description) || utf8.RuneCountInString(tool.Description) > 1024 {
			tb.Errorf("%s is described as %q", tool.Name, tool.Description)
		}
		checkParameters(tb, tool)
	}
	for _, f := range faults {
		if f.Message == "" || !utf8.ValidString(f.Message) || f.Line < 0 || f.Line > lines {
			tb.Errorf("%+v, of %d lines", f, lines)
		}
	}
}

func checkParameters(tb testing.TB, tool pannier.Tool) {
	tb.Helper()
	var schema struct {
		Type       string
		Properties map[string]map[string]any
		Required   []string
	}
	if err := json.Unmarshal(tool.Parameters, &schema); err != nil || schema.Type != "object" || schema.Properties == nil {
		tb.Fatalf("%s: parameters %s: %v", tool.Name, tool.Parameters, err)
	}
	for name := range schema.Properties {
		if !isName(name) {
			tb.Errorf("%s: parameter %q", tool.Name, name)
		}
	}
	for _, name := range schema.Required {
		if _, ok := schema.Properties[name]["default"]; ok || schema.Properties[name] == nil {
			tb.Errorf("%s: %s is required: %s", tool.Name, name, tool.Parameters)
		}
	}
}

// isName reports whether Python takes a text for an identifier.
func isName(text string) bool {
	for i, r := range text {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.In(r, unicode.Digit, unicode.Mn, unicode.Mc, unicode.Pc)) {
			return false
		}
	}
	return text != ""
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"@tool\ndef f(a: int = 1, *b, c: 'list[str] | None' = None, **d): 'doc'\n",
		"class A(BaseModel):\n  a: Annotated[int, Field(ge=1)] = Field(2, description='d')\n@tool('n', args_schema=A)\nasync def f[T](a, /, *, b=lambda x, y: 0): '''D.\n\n  Args:\n    a (int): b\n  '''\n",
		"@tool(name=f\"{x:{y}}{'z'!r}\", description=\"a\" 'b')\ndef f(a: Literal['a', 1] = {'a': [1., 0x1f, -2]}): pass",
		"x = (\n@tool\ndef f(a, b:\n@tool(\nasync def g(): ''':param a: b\n'''\n", "from a import tool as t\n@t\nif x:\n\t@t\n\tdef f(): r'\\'\n",
		"@tool\ndef f(a='\\N{x}\\u00e9\\777', b=rb'', c=1_0e+5j):\n  '''D.\n\n  Parameters\n  ----------\n  a, b : c\n    d\n  '''", "@tool\r\ndef \\\r\nf(): \"\"\"a\\\"\"\"\"\r\n\ufeff",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		begin := time.Now()
		tools, faults := pytool.Read(text)
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("%d bytes took %s", len(text), took)
		}
		checkTools(t, text, tools, faults)
		again, _ := pytool.Read(text)
		first, _ := json.Marshal(tools)
		if second, _ := json.Marshal(again); string(first) != string(second) {
			t.Errorf("%s\n%s", first, second)
		}
	})
}

// TestTime reads the largest files of what takes longest: the time grows with the size, not with its square.
func TestTime(t *testing.T) {
	fill := func(begin, unit, end string) string {
		return begin + strings.Repeat(unit, (pytool.MaxFileBytes-len(begin)-len(end))/len(unit)) + end
	}
	half := func(unit string) string { return strings.Repeat(unit, pytool.MaxFileBytes/2/len(unit)-100) }
	for name, text := range map[string]string{
		"brackets":              fill("@tool\ndef f(a=", "(", ""),
		"crossed brackets":      fill("@tool\ndef f(a=", "([{)", ""),
		"open before functions": fill("", "(\n@tool(\ndef f(\n", ""),
		"open decorators":       "(\n" + fill("", "@tool(\n", "def f(): pass"),
		"decorators":            "(\n" + fill("", "@tool\n", "def f(): pass"),
		"f-strings":             fill("@tool\n", "f\"\"\"{ \"\"\" ", ""),
		"nested f-strings":      fill("@tool\n", "f'{", ""),
		"specs":                 fill("@tool\nf'{x:", "{x:", ""),
		"strings":               fill("@tool\ndef f(): ", "'a' ", ""),
		"lines":                 fill("@tool\n", "'\n", ""),
		"parameters":            fill("@tool\ndef f(", "a,", "): pass"),
		"union":                 fill("@tool\ndef f(a: ", "int|", "int): pass"),
		"literals":              fill("@tool\ndef f(a: Literal[", "1,", "1]): pass"),
		"members":               fill("@tool\ndef f(a: Union[", "Literal[1],", "int]): pass"),
		"subscripts":            fill("@tool\ndef f(a: x", "[a]", "): pass"),
		"calls":                 fill("@tool", "()", "\ndef f(): pass"),
		"attributes":            fill("@tool", ".a", "\ndef f(): pass"),
		"negations":             fill("@tool\ndef f(a=", "-", "1): pass"),
		"keys":                  fill("@tool\ndef f(a={", "'a':1,", "}): pass"),
		"number":                fill("@tool\ndef f(a=", "9", "): pass"),
		"NumPy":                 "@tool\ndef f(a): '''D\n\nArgs\n----\n" + half("a,") + "\n" + half(" b\n") + "'''",
		"Google":                "@tool\ndef f(a): '''D\n\nArgs:\n" + half(" a:\n") + half("  b\n") + "'''",
		"indentation":           "@tool\ndef f(): pass\n" + strings.Repeat("if x:\n\n", 2) + deeper(600),
		"tools":                 fill("", "@tool\ndef f(): pass\n", ""),
		"quotes in quotes":      fill("@tool\ndef f(a: '", `\\\'`, "'): pass"),
		"backslashes":           fill("@tool\ndef f(a: '", `\`, "'): pass"),
		"continued lines":       fill("@tool\ndef f(a", "\\\n", "): pass"),
	} {
		t.Run(name, func(t *testing.T) {
			start := fixture.ProcessTime(t)
			tools, faults := pytool.Read([]byte(text))
			if took := fixture.ProcessTime(t) - start; took > 5*time.Second {
				t.Errorf("took %s", took)
			}
			checkTools(t, []byte(text), tools, faults)
		})
	}
}

// deeper returns blocks in blocks.
func deeper(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "if x:\n")
	}
	return b.String() + strings.Repeat(" ", n) + "@tool\n" + strings.Repeat(" ", n) + "def g(): pass\n"
}
