package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// TestRPC asks a sidecar over a WebSocket, and is told of changes: of a file, and of a policy.
func TestRPC(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	writeIn(t, w, skillScript("pdf", "Reads it."))
	s := startSidecar(t, w, "--platform-url", "off")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, "ws://pannier/v1/rpc", &websocket.DialOptions{HTTPClient: &http.Client{Transport: overSocket(s.socket)}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
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
	if err != nil {
		t.Fatal(err)
	}
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

func overSocket(path string) *http.Transport {
	return &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}}
}
