package execute

import (
	"encoding/json"
	"testing"

	"pannier"
)

// TestBaseTool calls subclasses of BaseTool where LangChain is not installed.
func TestBaseTool(t *testing.T) {
	e := executor(t, Options{})
	if e.Report().Python == "" {
		t.Skip("there is no Python")
	}
	dir := skill(t, `cat > tools/t.py <<'END'
from typing import Optional
from langchain.callbacks.manager import CallbackManagerForToolRun
from langchain_core.tools import BaseTool, InjectedToolArg, StructuredTool, tool
from langchain.tools.base import ToolException

class Add(BaseTool):
    name: str = "add"
    description: str = "Adds."
    step: int = 1
    def _run(self, a: int, run_manager: Optional[CallbackManagerForToolRun] = None) -> int:
        return a + self.step

class Later(BaseTool):
    async def _arun(self, a: int): return {"later": a}

def double(a: int): return 2 * a
made = StructuredTool.from_function(func=double, name="double", description="Doubles.")
END`)
	for function, want := range map[string]string{"Add._run": "8", "Later._arun": `{"later": 7}`, "made": "14"} {
		j := job(t, dir)
		j.Kind, j.PythonFile, j.Function, j.Arguments = pannier.RuntimePython, "tools/t.py", function, json.RawMessage(`{"a":7}`)
		if got := run(t, e, j); got.Output != want {
			t.Errorf("%s: %+v, %+v", function, got, got.Error)
		}
	}
}
