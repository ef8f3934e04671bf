package pytool_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/loader/pytool"
)

// told is a tool or a fault on one line, as the tables here write them.
func told(tools []pannier.Tool, faults []pytool.Fault) string {
	var lines []string
	for _, tool := range tools {
		lines = append(lines, fmt.Sprintf("%d %s", tool.Line, tool.Name))
	}
	for _, f := range faults {
		lines = append(lines, fmt.Sprintf("%d! %s", f.Line, f.Message))
	}
	return strings.Join(lines, "\n")
}

func TestFinds(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"plain", "@tool\ndef f(): pass\n", "2 f"},
		{"no line end", "@tool\ndef f(): pass", "2 f"},
		{"called", "@tool()\ndef f(): pass", "2 f"},
		{"named by place", "@tool(\"g h\")\ndef f(): pass", "2 g h"},
		{"named", "@tool(name='g', description='d')\ndef f(): pass", "2 g"},
		{"named as LangChain does", "@tool(name_or_callable='g')\ndef f(): pass", "2 g"},
		{"named in parts", "@tool(\"a\" 'b' r'\\c')\ndef f(): pass", "2 ab\\c"},
		{"not named", "@tool(name=None, return_direct=True)\ndef f(): pass", "2 f"},
		{"of modules", "@tools.tool\ndef f(): pass\n@langchain_core.tools.tool(\"g\")\ndef h(): pass\n@mcp.tool()\ndef i(): pass", "2 f\n4 g"},
		{"of servers", "server = FastMCP()\n@server.tool()\ndef f(): pass\n@tool\ndef g(): pass", "5 g"},
		{"by another name", "from langchain_core.tools import (BaseTool, tool as t)\n@t\ndef f(): pass\n@tt\ndef g(): pass", "3 f"},
		{"not the decorator", "@tools\ndef f(): pass\n@toolbox.add\ndef g(): pass\n@tool.cached\ndef h(): pass\n@my_tool\ndef i(): pass\n@app.get('/tool')\ndef j(): pass", ""},
		{"stacked", "@a\n@tool\n@b(1)\ndef f(): pass\n@tool\n@a\ndef g(): pass\n@a\n\n# so\n\n@tool\ndef h(): pass", "4 f\n7 g\n13 h"},
		{"over lines", "@tool(  # this\n    \"g\",\n\n    # that\n)\n# and\nasync def f(\n  a, # b)\n):\n    pass", "7 g"},
		{"async", "@tool\nasync def f(): pass\n@tool\nasync  \\\n  def g(): pass", "2 f\n4 g"},
		{"type parameters", "@tool\ndef f[T: (int, str) = int, *Ts, **P](a: T) -> dict[str, T]: pass", "2 f"},
		{"continued line", "@tool\ndef \\\n  f(): pass\n@to\\\nol\ndef g(): pass", "2 f"},
		{"continued inside a name", "@tool\\\n(\"g\")\ndef f(): pass", "3 g"},
		{"CRLF", "@tool\r\ndef f():\r\n    pass\r\n\r\n@tool\r\ndef g(): pass\r\n", "2 f\n6 g"},
		{"CR", "@tool\rdef f(): pass\r", "2 f"},
		{"byte order mark", "\ufeff@tool\ndef f(): pass", "2 f"},
		{"form feed", "\f@tool\n\fdef f(): pass", "2 f"},
		{"method", "class A:\n    @tool\n    def f(self): pass\n\n    if x:\n        @tool\n        def g(self): pass\n@tool\ndef h(): pass", "9 h"},
		{"nested", "def f():\n\t@tool\n\tdef g(): pass\n\n\tif x:\n\t\t@tool\n\t\tdef h(): pass\nasync def i():\n  class A:\n    @tool\n    def j(): pass", ""},
		{"in a condition", "if x:\n    @tool\n    def f(): pass\nelse:\n  try:\n\t@tool\n\tdef g(): pass\n  except E: pass\nwith a as b, c:\n @tool\n def h(): pass", "3 f\n7 g\n11 h"},
		{"in a script", "if __name__ == '__main__':\n    @tool\n    def f(): pass\n@tool\ndef g(): pass", "5 g"},
		{"behind one line of a class", "class A: x = 1\n@tool\ndef f(): pass", "3 f"},
		{"in strings", "a = \"\"\"\n@tool\ndef f(): pass\n\"\"\"\nb = f'''{x}\n@tool\ndef g(): pass\n'''\n# @tool\n# def h(): pass\nc = '@tool \\\n@tool'\ndef i():\n    '''\n@tool\ndef j(): pass\n'''", ""},
		{"in nested f-strings", "a = f\"{'}'}{b[\"c\"]!r:>{w}}{f'''{f\"{x}\"}'''}{{\" \n@tool\ndef f(): pass\nb = f'\\N{DASH}' rf'\\{x}' f'\\'{x}' f'{a!=b}'\n@tool\ndef g(): pass", "3 f\n6 g"},
		{"strings with prefixes", "a = Rb'\\'' + bR\"\"\"\"\\\"\"\"\" + u'#' + fR'{x}\\''\n@tool\ndef f(): pass", "3 f"},
		{"decorator is a product", "a = (b\n@tool\n@ c)\n@tool\ndef f(): pass", "5 f"},
		{"names of the world", "@tool\ndef größe_技能(ñ: int): pass", "2 größe_技能"},
		{"twice", "@tool\ndef f(): pass\n@tool\ndef g(): pass\n@tool\ndef f(): pass", "4 g\n6 f"},
		{"soft keywords", "@tool\ndef match(type, case, _): pass", "2 match"},
		{"lambda in defaults", "@tool\ndef f(a=lambda x, y=lambda: 1, *z: (x, y), b=2): pass", "2 f"},
		{"neither", "def f(): pass\nx = '''", ""},
		{"no decorator", "tool = 1\nx @= ((", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, told(pytool.Read([]byte(tt.text)))); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

// TestFunction tells which function carries out a tool that has another name.
func TestFunction(t *testing.T) {
	tools := must(t, []byte("@tool('search')\ndef web_search(): pass\n@tool('same')\ndef same(): pass\n@tool\ndef plain(): pass"))
	for i, want := range []string{"web_search", "", ""} {
		if tools[i].Function != want {
			t.Errorf("%s: function %q, want %q", tools[i].Name, tools[i].Function, want)
		}
	}
}

// TestFaults has a good tool around everything that is wrong: it is found whatever stands before or behind it.
func TestFaults(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"no function", "@tool\nx = 1", "4! no function follows the decorator"},
		{"class", "@tool\nclass A: pass", "4! no function follows the decorator"},
		{"name is computed", "@tool(NAME)\ndef f(): pass", "5! the name that the decorator gives f cannot be known without running it: write it as a text"},
		{"name is an f-string", "@tool(f'{x}')\ndef f(): pass", "5! the name that the decorator gives f cannot be known without running it: write it as a text"},
		{"name is empty", "@tool(' ')\ndef f(): pass", "5! the name that the decorator gives f is empty, longer than 256 bytes, or has control characters"},
		{"name of lines", "@tool('a\\nb')\ndef f(): pass", "5! the name that the decorator gives f is empty, longer than 256 bytes, or has control characters"},
		{"arguments are spread", "@tool(**opts)\ndef f(): pass", "5 f\n5! the arguments of the decorator cannot be known without running it; the tool f may have another name"},
		{"description is computed", "@tool(description=D)\ndef f(): 'doc'", "5 f\n5! the description that the decorator gives f cannot be known without running it: write it as a text"},
		{"same name", "@tool('before')\ndef f(): pass", "5! the tool before is there already, from line 2"},
		{"no name", "@tool\ndef (): pass", "5! the decorator is for a tool, and the function has no name"},
		{"keyword", "@tool\ndef lambda(): pass", "5! the decorator is for a tool, and the function has no name"},
		{"no parentheses", "@tool\ndef f: pass", "5! the parameters of the tool f cannot be read: their parentheses are not closed"},
		{"no colon", "@tool\ndef f()\n    pass", "5! the tool f cannot be read: the colon after its parameters is missing"},
		{"bad parameter", "@tool\ndef f(a b): pass", "5! the parameters of the tool f cannot be read"},
		{"parameter twice", "@tool\ndef f(a, a): pass", "5! the tool f has the parameter a twice"},
		{"open parameters", "@tool\ndef f(a, b:\n    pass", "5! a bracket is opened here and never closed\n5! the parameters of the tool f cannot be read: their parentheses are not closed"},
		{"open call", "x = g(1, [2,\n", "4! a bracket is opened here and never closed"},
		{"open decorator", "@tool(\ndef f(): pass", "4! a bracket is opened here and never closed"},
		{"crossed brackets", "x = ([)]\n", "4! a bracket is closed here while another one is open\n4! a bracket is closed here that was not opened"},
		{"string without an end", "x = 'abc\n", "4! a string begins here and never ends"},
		{"f-string without an end", "x = f'{a\n", "4! a string begins here and never ends"},
		{"odd characters", "x = $?!\n", ""},
		{"odd indentation", "def f():\n        x\n    @tool\n    def g(): pass\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := "@tool\ndef before(): pass\n\n" + tt.text + "\n@other\n@tool\nasync def after(): pass\n"
			tools, faults := pytool.Read([]byte(text))
			last := len(tools) - 1
			if last < 1 || tools[0].Name != "before" || tools[last].Name != "after" {
				t.Fatalf("told %s", told(tools, faults))
			}
			want := strings.Split(tt.want, "\n")
			got := strings.Split(told(tools[1:last], faults), "\n")
			if diff := cmp.Diff(sorted(want), sorted(got)); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

func TestBounds(t *testing.T) {
	big := "@tool\ndef f(): pass\n#" + strings.Repeat("x", pytool.MaxFileBytes)
	many := ""
	for i := range pytool.MaxTools + 2 {
		many += fmt.Sprintf("@tool\ndef f%d(): pass\n", i)
	}
	deep := "@tool\ndef f(a=" + strings.Repeat("[", 180) + strings.Repeat("]", 180) + ", b: " + strings.Repeat("list[", 100) + "int" + strings.Repeat("]", 100) + "): pass"
	tests := []struct {
		name, text    string
		tools, faults int
		fault         string
	}{
		{"size", big, 0, 1, "0! the file has more than 262144 bytes, so it is not searched for tools"},
		{"tools", many, pytool.MaxTools, 1, "514! there are more than 256 tools; those from here on are left out"},
		{"parameters", "@tool\ndef f(" + strings.Repeat("a,", 300) + "): pass", 0, 1, "2! the tool f has too many parameters"},
		{"depth", deep, 1, 0, ""},
		{"brackets", "@tool\ndef f(): pass\nx = " + strings.Repeat("(", 300), 1, 64, "3! there are too many brackets within brackets"},
		{"faults", strings.Repeat("@tool\nx\n", 200), 0, 64, "1! no function follows the decorator"},
		{"NUL", "@tool\ndef f(): pass\n\x00", 0, 1, "3! there is a NUL character, which Python does not read"},
		{"not UTF-8", "@tool\ndef f(a='\xff'): pass", 1, 1, "2! this is not UTF-8, so Python may not read the file"},
		{"end of the file", "@tool\ndef f(): pass\n@tool", 1, 1, "3! no function follows the decorator"},
		{"not ours", "x = 'a tool\n@other\ndef f(a): pass", 0, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tools, faults := pytool.Read([]byte(tt.text))
			if len(tools) != tt.tools || len(faults) > tt.faults || len(faults) == 0 != (tt.faults == 0) {
				t.Errorf("%d tools, %d faults", len(tools), len(faults))
			}
			if got, _, _ := strings.Cut(told(nil, faults), "\n"); got != tt.fault {
				t.Errorf("told %q, want %q", got, tt.fault)
			}
		})
	}
}

func TestSame(t *testing.T) {
	text := []byte("@tool\ndef f(a: dict[str, int] = {'z': 1, 'a': 2}, *, b: Union[int, str, None] = None): 'doc'\n")
	first, _ := json.Marshal(must(t, text))
	for range 20 {
		if again, _ := json.Marshal(must(t, text)); string(again) != string(first) {
			t.Fatalf("%s\n%s", first, again)
		}
	}
}

func must(t *testing.T, text []byte) []pannier.Tool {
	t.Helper()
	tools, faults := pytool.Read(text)
	if len(faults) > 0 {
		t.Fatalf("told %v", faults)
	}
	return tools
}

// TestDocstringWithUnknownEscapes keeps escapes as they are written where only Python knows them.
func TestDocstringWithUnknownEscapes(t *testing.T) {
	for docstring, want := range map[string]string{
		`"""Adds \N{BULLET} points.\tAll."""`: `Adds \N{BULLET} points. All.`,
		`"\N{BULLET"`:                         `\N{BULLET`,
		`"cut \x4"`:                           `cut \x4`,
		`f"{x}"`:                              "",
		`b"x"`:                                "",
	} {
		tools, _ := pytool.Read([]byte("@tool\ndef f():\n    " + docstring + "\n"))
		if len(tools) != 1 || tools[0].Description != want {
			t.Errorf("%s: %+v", docstring, tools)
		}
	}
}
