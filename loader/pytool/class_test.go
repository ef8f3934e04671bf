package pytool_test

import (
	"strings"
	"testing"

	"pannier"
	"pannier/loader/pytool"
)

const searchTool = `from typing import ClassVar, Optional, Type
from langchain_core.tools import BaseTool
from pydantic import BaseModel, Field

class SearchInput(BaseModel):
    """What to search."""
    query: str = Field(description="words to search for")
    limit: int = Field(default=10, description="at most so many")
    tags: list[str] = Field(default_factory=list)
    kind: str = Field(...)

class Search(BaseTool):
    """Searches."""
    name: str = "search_pages"
    description: str = ("Search the pages. "
                        "Use it first.")
    args_schema: Type[BaseModel] = SearchInput
    count: ClassVar[int]
    _secret: str

    def _run(self, query: str, limit: int = 10, run_manager: Optional[X] = None) -> str:
        def _run(other): pass
        return query

    async def _arun(self, query: str): pass
`

func TestBaseTool(t *testing.T) {
	tools, faults := pytool.Read([]byte(searchTool))
	if len(tools) != 1 || len(faults) > 0 {
		t.Fatalf("%+v, %+v", tools, faults)
	}
	const want = `{"type":"object","properties":{"query":{"type":"string","description":"words to search for"},` +
		`"limit":{"type":"integer","description":"at most so many","default":10},"tags":{"type":"array","items":{"type":"string"}},` +
		`"kind":{"type":"string"}},"required":["query","kind"],"additionalProperties":false}`
	got := tools[0]
	if got.Name != "search_pages" || got.Function != "Search._run" || got.Line != 12 || got.Description != "Search the pages. Use it first." ||
		got.Declaration != nil || got.Kind != pannier.RuntimePython || string(got.Parameters) != want {
		t.Errorf("%+v\n%s\n%s", got, got.Parameters, want)
	}
	// Without a schema that can be read, the signature counts.
	tools, _ = pytool.Read([]byte(strings.Replace(searchTool, "= SearchInput", "= Elsewhere", 1)))
	if len(tools) != 1 || !strings.Contains(string(tools[0].Parameters), `"required":["query"]`) || strings.Contains(string(tools[0].Parameters), "run_manager") {
		t.Errorf("%+v", tools)
	}
}

// TestBaseToolFaults names what keeps a class from being called before any call.
func TestBaseToolFaults(t *testing.T) {
	const head = "class A(BaseTool):\n    name = 'a'\n    description = 'd'\n"
	for text, want := range map[string]string{
		head + "    def _run(self): pass":                                         "",
		head + "    def _run(self): pass\n    def __init__(self, x=1, **k): pass": "",
		head + "    async def _arun(self, a): pass":                               "",
		head: "it has no method _run",
		"class A(BaseTool):\n    name = make()\n    description = 'd'\n    def _run(self): pass":                    "its name is not written as a text",
		"class A(BaseTool):\n    name = 'a'\n    def _run(self): pass":                                              "its description is not written as a text",
		"class A(tools.BaseTool):\n    def _run(self): pass":                                                        "its name is not written as a text",
		head + "    client: Client\n    def _run(self): pass":                                                       "it cannot be made without a value for client",
		head + "    def _run(self): pass\n    def __init__(self, key): pass":                                        "it cannot be made without a value for key",
		head + "    def _run(self, a, a): pass":                                                                     "the tool _run has the parameter a twice",
		"@tool\ndef a(): pass\n" + head + "    def _run(self): pass":                                                "there is a tool of that name before it",
		"class A(BaseTool):\n    name = Field(default='a')\n    description = Field('d')\n    def _run(self): pass": "",
	} {
		tools, faults := pytool.Read([]byte(text))
		if len(tools) == 0 {
			t.Errorf("%q: no tool, %v", text, faults)
			continue
		}
		got := tools[len(tools)-1]
		if want == "" && (got.Declaration != nil || got.Name != "a" || len(faults) > 0) ||
			want != "" && (!strings.HasSuffix(string(got.Declaration), ": "+want+`"}`) || len(faults) != 1) {
			t.Errorf("%q: %+v, %v", text, got, faults)
		}
	}
	for _, text := range []string{
		"class A(BaseTool): pass", "class A(BaseTool):\n    pass", "class A:\n    name = 'a'\n    def _run(self): pass",
		"def f():\n    class A(BaseTool):\n        name = 'a'\n", "from x import BaseTool", "class (BaseTool):\n    name = 'a'",
	} {
		if tools, faults := pytool.Read([]byte(text)); len(tools)+len(faults) > 0 {
			t.Errorf("%q: %+v, %v", text, tools, faults)
		}
	}
}
