package pytool_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func sorted(lines []string) []string { return slices.Sorted(slices.Values(lines)) }

// schemaOf returns the schema of the only tool of a text.
func schemaOf(t *testing.T, text string) string {
	t.Helper()
	tools := must(t, []byte(text))
	if len(tools) != 1 || !json.Valid(tools[0].Parameters) {
		t.Fatalf("found %+v", tools)
	}
	return string(tools[0].Parameters)
}

func TestTypes(t *testing.T) {
	tests := []struct{ annotation, want string }{
		{"str", `{"type":"string"}`},
		{"int", `{"type":"integer"}`},
		{"float", `{"type":"number"}`},
		{"bool", `{"type":"boolean"}`},
		{"None", `{"type":"null"}`},
		{"Any", `{}`},
		{"object", `{}`},
		{"list", `{"type":"array"}`},
		{"list[int]", `{"type":"array","items":{"type":"integer"}}`},
		{"typing.List['str']", `{"type":"array","items":{"type":"string"}}`},
		{"list[Any]", `{"type":"array"}`},
		{"Sequence[list[float]]", `{"type":"array","items":{"type":"array","items":{"type":"number"}}}`},
		{"set[str]", `{"type":"array","items":{"type":"string"}}`},
		{"tuple", `{"type":"array"}`},
		{"tuple[int, str]", `{"type":"array"}`},
		{"Tuple[int, ...]", `{"type":"array","items":{"type":"integer"}}`},
		{"tuple[()]", `{"type":"array"}`},
		{"dict", `{"type":"object"}`},
		{"Dict[str, Any]", `{"type":"object"}`},
		{"dict[str, list[int]]", `{"type":"object","additionalProperties":{"type":"array","items":{"type":"integer"}}}`},
		{"Optional[str]", `{"anyOf":[{"type":"string"},{"type":"null"}]}`},
		{"str | None", `{"anyOf":[{"type":"string"},{"type":"null"}]}`},
		{"'str | None'", `{"anyOf":[{"type":"string"},{"type":"null"}]}`},
		{"Union[int, str, int]", `{"anyOf":[{"type":"integer"},{"type":"string"}]}`},
		{"Union[int, int]", `{"type":"integer"}`},
		{"Optional[Unknown]", `{}`},
		{"int | Unknown", `{}`},
		{"Literal['a', \"b\"]", `{"enum":["a","b"],"type":"string"}`},
		{"Literal['a', 1, None, True, -2]", `{"enum":["a",1,null,true,-2]}`},
		{"Literal[Color.RED]", `{}`},
		{"Annotated[int, 'how many']", `{"type":"integer","description":"how many"}`},
		{"Annotated[int, Field(description='how many', ge=1)]", `{"type":"integer"}`},
		{"Annotated[Unknown, 'what']", `{"description":"what"}`},
		{"datetime", `{"type":"string"}`},
		{"datetime.date", `{"type":"string"}`},
		{"uuid.UUID", `{"type":"string"}`},
		{"pathlib.Path", `{"type":"string"}`},
		{"Callable[[int, str], None]", `{}`},
		{"Mine", `{}`},
		{"list[Mine]", `{"type":"array"}`},
		{"'list[' 'int]'", `{"type":"array","items":{"type":"integer"}}`},
		{"'not ( python'", `{}`},
		{"lambda: int", `{}`},
		{"int if x else str", `{}`},
		{"type(x)", `{}`},
		{"f'{x}'", `{}`},
	}
	for _, tt := range tests {
		t.Run(tt.annotation, func(t *testing.T) {
			want := `{"type":"object","properties":{"a":` + tt.want + `},"required":["a"],"additionalProperties":false}`
			if got := schemaOf(t, "class Mine(Enum): A = 1\n@tool\ndef f(a: "+tt.annotation+"): pass"); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	tests := []struct{ value, want string }{
		{"1", "1"},
		{"-1", "-1"},
		{"+1", "1"},
		{"-0", "0"},
		{"1_000", "1000"},
		{"0xff", "255"},
		{"0O17", "15"},
		{"0b11", "3"},
		{"00", ""},
		{"12345678901234567890123", ""},
		{"1.0", "1"},
		{"1.", "1"},
		{".5", "0.5"},
		{"-1e3", "-1000"},
		{"1_0.5E-3", "0.0105"},
		{"1e400", ""},
		{"1j", ""},
		{"017", ""},
		{"0x1.8", ""},
		{"'a'", `"a"`},
		{`"a" 'b'`, `"ab"`},
		{`("a"` + "\n" + `"b")`, `"ab"`},
		{`r'\n'`, `"\\n"`},
		{`u'ä\n\x41\u00e9\101\q'`, `"ä\nAéA\\q"`},
		{`'<&>'`, `"<&>"`},
		{`'''a` + "\n" + `b'''`, `"a\nb"`},
		{`'\N{DASH}'`, ""},
		{`'\ud800'`, ""},
		{`'\U00110000'`, ""},
		{"b'a'", ""},
		{"f'a'", ""},
		{"True", "true"},
		{"False", "false"},
		{"None", "null"},
		{"[]", ""},
		{"[1, 'a', [None]]", ""},
		{"(1,)", ""},
		{"()", ""},
		{"(1)", "1"},
		{"{}", ""},
		{"{'b': 1, 'a': {'c': True}, 'b': 2}", ""},
		{"{1: 2}", ""},
		{"{1, 2}", ""},
		{"{**x}", ""},
		{"[*x]", ""},
		{"x", ""},
		{"x.y", ""},
		{"f()", ""},
		{"1 + 2", ""},
		{"not True", ""},
		{"1 if x else 2", ""},
		{"'a' % b", ""},
		{"'a'.b()", ""},
		{"[x for x in y]", ""},
		{"...", ""},
		{"lambda: (1, 2)", ""},
		{"Field(3)", ""},
	}
	for _, tt := range tests {
		t.Run(tt.value, func(t *testing.T) {
			var schema struct {
				Properties map[string]map[string]json.RawMessage
				Required   []string
			}
			text := schemaOf(t, "@tool\ndef f(a="+tt.value+"): pass")
			if err := json.Unmarshal([]byte(text), &schema); err != nil {
				t.Fatal(err)
			}
			if got := string(schema.Properties["a"]["default"]); got != tt.want || len(schema.Required) > 0 {
				t.Errorf("default %s, want %s, required %q", got, tt.want, schema.Required)
			}
		})
	}
}

func TestParameters(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"none", "()", `{"type":"object","properties":{},"additionalProperties":false}`},
		{"order", "(z, a=1, *, m, b=2)", `{"type":"object","properties":{"z":{},"a":{"default":1},"m":{},"b":{"default":2}},"required":["z","m"],"additionalProperties":false}`},
		{"by place", "(a, /, b)", `{"type":"object","properties":{"a":{},"b":{}},"required":["a","b"],"additionalProperties":false}`},
		{"rest", "(*args: int, **kwargs)", `{"type":"object","properties":{},"additionalProperties":true}`},
		{"typed rest", "(**kwargs: int)", `{"type":"object","properties":{},"additionalProperties":{"type":"integer"}}`},
		{"self", "(self, a)", `{"type":"object","properties":{"a":{}},"required":["a"],"additionalProperties":false}`},
		{
			"injected", "(a, config: RunnableConfig, c: Optional[RunnableConfig] = None, r: 'ToolRuntime[Context, State]' = None, run_manager=None, s: Annotated[dict, InjectedState], i: Annotated[str, InjectedToolCallId()], t: Annotated[Any, lc.InjectedState('x')], state: AgentState)",
			`{"type":"object","properties":{"a":{}},"required":["a"],"additionalProperties":false}`,
		},
		{
			"not injected", "(config, state: str, s: AgentState, d: Annotated[str, 'InjectedState'])",
			`{"type":"object","properties":{"config":{},"state":{"type":"string"},"s":{},"d":{"type":"string","description":"InjectedState"}},"required":["config","state","s","d"],"additionalProperties":false}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, schemaOf(t, "@tool\ndef f"+tt.text+": pass")); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

func TestDescriptions(t *testing.T) {
	long := strings.Repeat("word ", 100)
	tests := []struct{ name, text, want string }{
		{"none", "@tool\ndef f():\n    pass", ""},
		{"docstring", "@tool\ndef f():\n    '''\n    One.\n\n      Two.\n    '''", "One.\n\n  Two."},
		{"on the line", "@tool\ndef f(): 'One'; return", "One"},
		{"behind a comment", "@tool\ndef f():\n    # no\n\n    'One ' \"two\"\n    'three'", "One two"},
		{"in parentheses", "@tool\ndef f():\n    ('One '\n  'two')", "One two"},
		{"tabs", "@tool\ndef f():\n\t'''One.\n\tTwo.\n\t\tThree.'''", "One.\nTwo.\n        Three."},
		{"raw", "@tool\ndef f():\n    r'a\\b'", `a\b`},
		{"formatted", "@tool\ndef f():\n    f'a{b}'", ""},
		{"bytes", "@tool\ndef f():\n    b'a'", ""},
		{"joined by hand", "@tool\ndef f():\n    'a' + 'b'", ""},
		{"not first", "@tool\ndef f():\n    x = 1\n    'a'", ""},
		{"not inside", "@tool\ndef f(): ...\n'a'", ""},
		{"CRLF", "@tool\r\ndef f():\r\n    '''One.\r\n\r\n    Two.'''", "One.\n\nTwo."},
		{"given", "@tool(description=' Given ')\ndef f(): 'One'", "Given"},
		{"given none", "@tool(description=None)\ndef f(): 'One'", "One"},
		{"long", "@tool\ndef f():\n    '''First.\n    Still.\n\n    " + long + "\n    '''", "First.\nStill."},
		{"very long", "@tool\ndef f(): '" + strings.Repeat(long, 3) + "'", strings.Repeat(long, 3)[:1023] + "…"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := must(t, []byte(tt.text))[0].Description; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestDescribedParameters reads the descriptions of parameters from docstrings of each style.
func TestDescribedParameters(t *testing.T) {
	google := "Find.\n\n    Args:\n        a (str, optional): What to find:\n            the words.\n\n        b: How many.\n        *c: More.\n\n    Returns:\n        d: The list.\n"
	numpy := "Find.\n\n    Parameters\n    ----------\n    a : str, optional\n        What to find:\n        the words.\n\n    b\n        How many.\n\n    Returns\n    -------\n    d : list\n        The list.\n"
	sphinx := "Find.\n\n    :param str a: What to find:\n        the words.\n    :param b: How many.\n    :type b: int\n    :returns: d: The list.\n"
	both := `"a":{"type":"string","description":"What to find: the words."},"b":{"description":"How many.","default":1}`
	for _, tt := range []struct{ name, doc, want string }{
		{"Google", google, both},
		{"NumPy", numpy, both},
		{"Sphinx", sphinx, both},
		{"one line", ":param a: What.", `"a":{"type":"string","description":"What."},"b":{"default":1}`},
		{"not a section", "The a: b of it.\n\n    a: no\n    Note:\n        a: no", `"a":{"type":"string"},"b":{"default":1}`},
		{"no names", "Args:\n        The a. And b.\n        a: no", `"a":{"type":"string"},"b":{"default":1}`},
		{"section without lines", "Args:\n    a: no", `"a":{"type":"string"},"b":{"default":1}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := `{"type":"object","properties":{` + tt.want + `,"d":{"type":"string","description":"Own."}},"required":["a","d"],"additionalProperties":false}`
			got := schemaOf(t, "@tool\ndef f(a: str, b=1, *c, d: Annotated[str, 'Own.']):\n    \"\"\""+tt.doc+"\"\"\"")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}
