package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pannier"
)

// TestMCPCallsTools of a skill by `pannier mcp` through a sidecar: listed once it is allowed, called, and refused as HTTP refuses it.
func TestMCPCallsTools(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	w := reportWorkspace(t)
	s := startSidecar(t, w, "--tools-enabled", "--tools-runner=self", "--scan=report", "--state-dir", t.TempDir())
	s.refusedBy(t, pannier.ToolNotAllowed)
	const name = "skill__repo-review__run-report"
	cmd := command("mcp", "--socket", s.socket)
	h := startMCP(t, mcpVersions[0], cmd)
	call := func(arguments map[string]any) (bool, string) {
		t.Helper()
		result := must(h.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments}))(t)
		var text strings.Builder
		for _, c := range result.Content {
			text.WriteString(c.(*mcp.TextContent).Text)
		}
		return result.IsError, text.String()
	}
	if failed, text := call(nil); !failed || !strings.HasPrefix(text, pannier.ToolNotAllowed+": ") || !strings.Contains(text, "tell the user") {
		t.Errorf("not allowed: error %v, %s", failed, text)
	}
	s.runs(t, exitYes, "sha256:", "tool", "allow", "repo-review")
	eventually(t, "the tool is listed", func() error {
		list, err := h.ListTools(t.Context(), nil)
		if err != nil {
			return err
		}
		for _, tool := range list.Tools {
			if tool.Name == name {
				return nil
			}
		}
		return fmt.Errorf("%d tools without it", len(list.Tools))
	})
	if failed, text := call(nil); failed || text != "report\n{}" {
		t.Errorf("allowed: error %v, %q", failed, text)
	}
	if failed, text := call(map[string]any{"x": 1}); !failed || !strings.HasPrefix(text, pannier.ToolArgumentsInvalid+": ") || !strings.HasSuffix(text, ": correct the arguments by the parameters of the tool, then call it again") {
		t.Errorf("invalid arguments: error %v, %s", failed, text)
	}
}
