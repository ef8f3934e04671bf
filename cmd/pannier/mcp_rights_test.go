package main

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pannier"
)

// TestMCPToolRights connects hosts with a token of each scope, in each kind of protocol: only those that may call tools see and
// call those of skills.
func TestMCPToolRights(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(server.Close)
	w := workspaceWith(t, "mkdir -p skills/net; cat > skills/net/SKILL.md <<'EOF'\n---\nname: net\ndescription: Asks a server.\nruntime:\n  tools:\n    - {tool_slug: ask, kind: http, config: {url: '"+server.URL+"/'}}\n---\nText\nEOF\n")
	file, token := newTokens(t)
	s := startSidecar(t, w, "--platform-url", "off", "--api-listen", "127.0.0.1:0", "--api-tokens", file, "--scan=report", "--state-dir", filepath.Join(shortDir(t), "state"),
		"--tools-enabled", "--tools-http-allow", strings.TrimPrefix(server.URL, "http://"))
	s.allow(t, "net", "skill.net.ask")
	const name = "skill__net__ask"
	for era, version := range eras {
		for scope, text := range token {
			may := scope == "call" || scope == "write"
			before := asked.Load()
			h := connectMCP(t, version, &mcp.StreamableClientTransport{Endpoint: "http://" + s.apiAddress(t) + "/mcp", HTTPClient: &http.Client{Transport: bearer(text)}})
			list, err := h.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatalf("%s, %s: %v", era, scope, err)
			}
			listed := false
			for _, tool := range list.Tools {
				listed = listed || tool.Name == name
			}
			for _, called := range []string{name, "skill.net.ask"} {
				result, err := h.CallTool(t.Context(), &mcp.CallToolParams{Name: called})
				if ran := err == nil && !result.IsError; ran != may {
					t.Errorf("%s, %s: %s was called: %t, %+v, %v", era, scope, called, ran, result, err)
				}
			}
			if ran := asked.Load() - before; listed != may || may && ran != 2 || !may && ran != 0 {
				t.Errorf("%s, %s: listed %t, the server was asked %d times", era, scope, listed, ran)
			}
		}
	}
	audit, err := s.Audit(t.Context(), "net", 100)
	calls := slices.DeleteFunc(audit.Entries, func(e pannier.AuditEntry) bool { return e.Action == pannier.ActionAllowTools })
	for _, e := range calls {
		if owner := e.Actor.Owner(); !strings.Contains(owner, "call") && !strings.Contains(owner, "write") || e.Action != pannier.ActionCallTool {
			t.Errorf("an entry of another client: %+v", e)
		}
	}
	if want := 2 * 2 * 2 * len(eras); err != nil || len(calls) != want {
		t.Errorf("%d entries, want %d, %v", len(calls), want, err)
	}
}
