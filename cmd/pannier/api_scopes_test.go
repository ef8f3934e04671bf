package main

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"pannier"
	"pannier/publish/client"
)

// unchanging are the routes that are asked by POST and change nothing, so that a token of the scope read is enough.
var unchanging = []string{
	"POST /v1/prompt", "POST /v1/resolve", "POST /v1/find", "POST /v1/rescan", "POST /v1/rpc", "POST /v1/commands/{name}",
	"POST /v1/tickets", "POST /mcp", "DELETE /mcp",
}

// TestTokensThatReadChangeNothing asks, with too small a scope, every route that the sidecar says it has and that could change
// something. It is refused before anything else is looked at.
func TestTokensThatReadChangeNothing(t *testing.T) {
	t.Parallel()
	file, token := newTokens(t)
	w := newWorkspace(t)
	writeIn(t, w, skillScript("pdf", "Reads it."))
	s := startSidecar(t, w, "--platform-url", "off", "--api-listen", "127.0.0.1:0", "--api-tokens", file, "--state-dir", t.TempDir())
	f := far{http.DefaultClient, "http://" + s.apiAddress(t)}
	_, text := f.ask(t, token["read"], "GET", "/openapi.json", "")
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	need(t, json.Unmarshal([]byte(text), &document))
	asked := 0
	for path, methods := range document.Paths {
		for method := range methods {
			method = strings.ToUpper(method)
			if method == "GET" || slices.Contains(unchanging, method+" "+path) {
				continue
			}
			asked++
			at := strings.NewReplacer("{slug}", "pdf", "{path...}", "x", "{path}", "x").Replace(path)
			for _, scope := range []string{"read", "environment", "call"} {
				if scope == "environment" && path == "/v1/environment" || scope == "call" && strings.HasPrefix(path, "/v1/tools/") {
					continue
				}
				if status, body := f.ask(t, token[scope], method, at, "{}"); status != http.StatusForbidden || !strings.Contains(body, "has the scope "+scope) {
					t.Errorf("%s %s with the scope %s: %d %.200s", method, at, scope, status, body)
				}
			}
		}
	}
	if asked < 3 {
		t.Errorf("%d routes were asked: the test does not see them", asked)
	}
}

// TestStreamsEndWithTheirToken takes a token away while an event stream and a WebSocket are open that came in with it.
func TestStreamsEndWithTheirToken(t *testing.T) {
	t.Parallel()
	file, token := newTokens(t)
	s := startSidecar(t, newWorkspace(t), "--platform-url", "off", "--api-listen", "127.0.0.1:0", "--api-tokens", file)
	address := s.apiAddress(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, "ws://"+address+"/v1/rpc", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + token["read"]}}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	remote := must(client.NewRemote(client.Remote{URL: "http://" + address, Token: func() (string, error) { return token["read"], nil }}))(t)
	defer remote.Close()
	began, ended := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		ended <- remote.Events(ctx, client.EventQuery{Follow: true}, func(pannier.Event) error {
			select {
			case began <- struct{}{}:
			default: // it was told before
			}
			return nil
		})
	}()
	<-began
	writeIn(t, filepath.Dir(file), "sed -i /^read/d tokens")
	<-ended
	for err == nil {
		_, _, err = conn.Read(ctx)
	}
	if ctx.Err() != nil {
		t.Errorf("they are open after %s", patience)
	}
}
