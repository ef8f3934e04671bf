package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestRPC asks a sidecar over a WebSocket, and is told of changes: of a file, and of a policy.
func TestRPC(t *testing.T) {
	t.Parallel()
	s := startSidecar(t, workspaceWith(t, skillScript("pdf", "Reads it.")), "--platform-url", "off")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn := dialRPC(t, "ws://pannier", websocket.DialOptions{HTTPClient: &http.Client{Transport: overSocket(s.socket)}})
	ask := func(text string) {
		need(t, conn.Write(ctx, websocket.MessageText, []byte(text)))
	}
	// Until it comes, whatever else there is to be told is passed over.
	comes := func(parts ...string) {
		t.Helper()
		for {
			_, text, err := conn.Read(ctx)
			if err != nil {
				t.Fatalf("%q does not come: %v", parts, err)
			}
			missing := ""
			for _, part := range parts {
				if !bytes.Contains(text, []byte(part)) {
					missing = part
				}
			}
			if missing == "" {
				return
			}
			t.Logf("passed over: %.300s", text)
		}
	}
	ask(`{"jsonrpc":"2.0","id":1,"method":"skills/list"}`)
	comes(`"id":1`, `"slug":"pdf"`, `"install_path":"`+s.workspace+`/skills/pdf","updated_at":1`, `"status":"ready"`)
	ask(`{"jsonrpc":"2.0","id":2,"method":"skills/policy/set","params":{"skill_slug":"pdf","enabled":false}}`)
	comes(`"id":2`, fmt.Sprintf(`"workspace_id":%q,"skill_slug":"pdf","source_kind":"workspace","enabled":false`, testWorkspaceID))
	comes(`"skills/changed"`, `"reason":"policy_updated","changes":[{"slug":"pdf","source_kind":"workspace","change_type":"policy"}]`)
	ask(`{"jsonrpc":"2.0","id":3,"method":"skills/health","params":{"skills":[{"slug":"pdf"}]}}`)
	comes(`"id":3`, `"recent_audit":[{"action":"policy.set","decision":"allowed"`)
	s.write(t, skillScript("csv", "Reads it too."))
	comes(`"skills/changed"`, `"reason":"catalog_changed"`)

	res, err := (&http.Client{Transport: overSocket(s.socket)}).Post("http://pannier/v1/rpc", "application/json", strings.NewReader(`[{"jsonrpc":"2.0","id":"a","method":"skills/read","params":{"slug":"csv"}}]`))
	need(t, err)
	defer res.Body.Close()
	if text, err := io.ReadAll(res.Body); err != nil || !strings.HasPrefix(string(text), `[{"jsonrpc":"2.0","id":"a","result":{"slug":"csv",`) {
		t.Errorf("POST: %s %v", text, err)
	}
	if code := s.process.terminate(t); code != 0 {
		t.Errorf("exit %d", code)
	}
	for err == nil {
		_, _, err = conn.Read(ctx)
	}
	if websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("ended by %v", err)
	}
}

// dialRPC opens a WebSocket for JSON-RPC, until the test ends.
func dialRPC(t *testing.T, base string, o websocket.DialOptions) *websocket.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, base+"/v1/rpc", &o)
	need(t, err)
	t.Cleanup(func() { conn.CloseNow() })
	return conn
}

func overSocket(path string) *http.Transport {
	return &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}}
}

// protocolCalls are the calls of the Pioneer skills protocol as its documentation has them, to the byte.
var protocolCalls = []struct{ method, call string }{
	{"skills-list", `{
  "jsonrpc": "2.0",
  "id": "aaaaaaaaaaaaaaaaaaaaa",
  "method": "skills/list",
  "params": {
    "workspace_id": "ws_000000000000000001",
    "include_health": true,
    "include_policy": true
  }
}`},
	{"skills-policy-set", `{
  "jsonrpc": "2.0",
  "id": "eeeeeeeeeeeeeeeeeeeee",
  "method": "skills/policy/set",
  "params": {
    "workspace_id": "ws_000000000000000001",
    "skill_slug": "documents",
    "source_kind": "workspace",
    "enabled": true,
    "allow_implicit_invocation": false
  }
}`},
	{"skills-health", `{
  "jsonrpc": "2.0",
  "id": "fffffffffffffffffffff",
  "method": "skills/health",
  "params": {
    "workspace_id": "ws_000000000000000001",
    "skills": [
      { "slug": "documents", "source_kind": "workspace" }
    ],
    "audit_limit": 16
  }
}`},
}

// TestProtocolAsDocumented types the calls of the documentation into a WebSocket, and holds the answers, and the notification
// of the change, against the published schemas.
func TestProtocolAsDocumented(t *testing.T) {
	t.Parallel()
	w := workspaceWith(t, "mkdir skills/documents; printf -- '---\\nname: Documents\\ndescription: Work with document files.\\nversion: 0.1.0\\n---\\nDo it.\\n' > skills/documents/SKILL.md")
	s := startSidecar(t, w, "--platform-url", "off", "--workspace-id", "ws_000000000000000001")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn := dialRPC(t, "ws://pannier", websocket.DialOptions{HTTPClient: &http.Client{Transport: overSocket(s.socket)}})
	read := func() map[string]any {
		_, text, err := conn.Read(ctx)
		need(t, err)
		return frameOf(t, string(text))
	}
	results := map[string]map[string]any{}
	for _, c := range protocolCalls {
		asked := frameOf(t, c.call)
		checkFrame(t, c.method+".params", asked["params"])
		need(t, conn.Write(ctx, websocket.MessageText, []byte(c.call)))
		answer := read()
		for ; answer["method"] == "skills/changed"; answer = read() {
			checkFrame(t, "skills-changed.params", answer["params"])
		}
		if answer["id"] != asked["id"] || answer["jsonrpc"] != "2.0" {
			t.Fatalf("%s: %v", c.method, answer)
		}
		checkFrame(t, c.method+".result", answer["result"])
		results[c.method], _ = answer["result"].(map[string]any)
	}
	listed := results["skills-list"]["skills"].([]any)[0].(map[string]any)
	if listed["slug"] != "documents" || listed["display_name"] != "Documents" || listed["version"] != "0.1.0" || listed["status"] != "ready" || listed["health"] == nil || listed["policy"] == nil {
		t.Errorf("skills/list: %v", listed)
	}
	set := results["skills-policy-set"]["policy"].(map[string]any)
	if set["workspace_id"] != "ws_000000000000000001" || set["enabled"] != true || set["allow_implicit_invocation"] != false {
		t.Errorf("skills/policy/set: %v", set)
	}
	inspected := results["skills-health"]["skills"].([]any)[0].(map[string]any)
	if audit := inspected["recent_audit"].([]any); inspected["status"] != "ok" || len(audit) != 1 || audit[0].(map[string]any)["action"] != "policy.set" {
		t.Errorf("skills/health: %v", inspected)
	}
}

func frameOf(t *testing.T, text string) map[string]any {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return value.(map[string]any)
}

// checkFrame holds a value against a published schema.
func checkFrame(t *testing.T, name string, value any) {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	path := must(filepath.Abs("../../docs/schemas/" + name + ".json"))(t)
	schema := must(compiler.Compile(path))(t)
	if err := schema.Validate(value); err != nil {
		t.Errorf("%s: %v\n%v", name, err, value)
	}
}
