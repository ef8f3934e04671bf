package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"pannier"
	"pannier/publish/api"
	"pannier/publish/client"
)

// pannierToken runs `pannier token` and returns what it prints.
func pannierToken(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, append([]string{"token"}, args...)...)
	cmd.Env = cleanEnviron()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func TestTokenCommandPrintsTheLine(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := pannierToken(t, "grafana", "read")
	token := strings.TrimSuffix(stdout, "\n")
	if code != exitYes || !regexp.MustCompile(`\Apannier_[A-Za-z0-9_-]{43}\z`).MatchString(token) {
		t.Fatalf("printed %q, exit code %d", stdout, code)
	}
	_, line, _ := strings.Cut(stderr, "\n")
	if want := "grafana read " + pannier.DigestOf([]byte(token)).String() + "\n"; line != want || strings.Contains(stderr, token) {
		t.Errorf("said %q, want the line %q", stderr, want)
	}
	if again, _, _ := pannierToken(t, "grafana", "read"); again == stdout {
		t.Error("the same token twice")
	}
}

func TestTokenCommandRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeIn(t, dir, `printf 'broken\n' > broken; printf '# mine\n' > good; chmod 640 good`)
	if _, _, code := pannierToken(t, "ci", "write", "--append", filepath.Join(dir, "good")); code != exitYes {
		t.Fatalf("exit code %d", code)
	}
	before := must(os.ReadFile(filepath.Join(dir, "good")))(t)
	for _, tt := range []struct {
		args []string
		says string
	}{
		{[]string{"two words", "read"}, "not a valid name of a token"},
		{[]string{"ci", "admin"}, "unknown scope"},
		{[]string{"ci"}, `"pannier token" needs SCOPE`},
		{[]string{"x", "read", "--append", filepath.Join(dir, "broken")}, "line 1: it has 1 words"},
		{[]string{"ci", "read", "--append", filepath.Join(dir, "good")}, "once more"},
		{[]string{"x", "read", "--append", filepath.Join(dir, "none", "file")}, "no such file"},
	} {
		stdout, stderr, code := pannierToken(t, tt.args...)
		if code != exitUnknown || stdout != "" || !strings.Contains(stderr, tt.says) {
			t.Errorf("%q: printed %q, said %q, exit code %d", tt.args, stdout, stderr, code)
		}
	}
	if after, err := os.ReadFile(filepath.Join(dir, "good")); err != nil || !bytes.Equal(after, before) {
		t.Errorf("a refused token changed the file to %q, %v", after, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "good")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode became %v, %v", info.Mode(), err)
	}
}

func TestTokensAreAppended(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "tokens")
	var wg sync.WaitGroup
	names := []string{"a", "b", "c", "d", "e", "f"}
	for _, name := range names {
		wg.Go(func() {
			if err := appendToken(file, name+" read "+pannier.DigestOf([]byte(name)).String()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v", info, err)
	}
	text := must(os.ReadFile(file))(t)
	tokens, err := api.ParseTokens(text)
	if err != nil || len(tokens) != len(names) {
		t.Errorf("%d tokens, %v", len(tokens), err)
	}
	if left, err := fs.Glob(os.DirFS(dir), ".*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

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
	w := workspaceWith(t, skillScript("pdf", "Reads it."))
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
	conn := dialRPC(t, "ws://"+address, websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + token["read"]}}})
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
	awaitClose(t, conn)
	if ctx.Err() != nil {
		t.Errorf("they are open after %s", patience)
	}
}

// TestDenials floods a sidecar with requests that their senders may not make: each is counted, few are logged, and few denied changes
// are audited.
func TestDenials(t *testing.T) {
	t.Parallel()
	file, token := newTokens(t)
	w := workspaceWith(t, skillScript("pdf", "Reads it."))
	s := startSidecar(t, w, "--platform-url", "off", "--api-listen", "127.0.0.1:0", "--api-tokens", file, "--state-dir", t.TempDir(), "--log-level", "info")
	f := far{http.DefaultClient, "http://" + s.apiAddress(t)}
	const flood = 100
	for i := range flood {
		if status, body := f.ask(t, token["read"], "PUT", "/v1/policy/pdf", `{"enabled":false}`); status != http.StatusForbidden {
			t.Fatalf("%d %s", status, body)
		}
		if status, body := f.ask(t, token["read"], "DELETE", fmt.Sprintf("/v1/skills/x%d", i), ""); status != http.StatusForbidden {
			t.Fatalf("%d %s", status, body)
		}
		if status, body := f.ask(t, token["call"], "POST", "/v1/rpc", `{"jsonrpc":"2.0","id":1,"method":"skills/policy/set","params":{"skill_slug":"pdf"}}`); status != http.StatusOK || !strings.Contains(body, "skills.forbidden") {
			t.Fatalf("%d %s", status, body)
		}
	}
	const anonymous = 12 // more are delayed
	for range anonymous {
		if status, body := f.ask(t, "pannier_wrong", "GET", "/v1/skills", ""); status != http.StatusUnauthorized {
			t.Fatalf("%d %s", status, body)
		}
	}
	if got := s.metric(t, `pannier_api_denied_total{reason="forbidden"}`); got != 3*flood {
		t.Errorf("%v were denied, want %d", got, 3*flood)
	}
	if got := s.metric(t, `pannier_api_denied_total{reason="token_unknown"}`); got != anonymous {
		t.Errorf("%v came with a wrong token, want %d", got, anonymous)
	}
	log := s.log.String()
	if lines := strings.Count(log, "request denied:"); lines < 2 || lines > 6 {
		t.Errorf("%d lines of the log", lines)
	}
	for _, part := range []string{"reason=forbidden", "reason=token_unknown", "client=token:read"} {
		if !strings.Contains(log, part) {
			t.Errorf("the log has no %s", part)
		}
	}
	if strings.Contains(log, token["read"]) || strings.Contains(log, "pannier_wrong") {
		t.Error("the log has a token")
	}
	audit := must(s.Audit(t.Context(), "", 1000))(t)
	var denied []string
	for _, e := range audit.Entries {
		detail, err := json.Marshal(e.Detail)
		if err != nil || e.Action != pannier.ActionDenied || e.Phase != pannier.AuditOutcome || e.Error == "" {
			t.Errorf("%+v, %v", e, err)
		}
		var d struct{ Request, Reason string }
		_ = json.Unmarshal(detail, &d)
		denied = append(denied, e.Actor.Owner()+" "+d.Reason+" "+d.Request)
	}
	slices.Sort(denied)
	want := []string{"token:call forbidden skills/policy/set", "token:read forbidden DELETE /v1/skills/{slug}", "token:read forbidden PUT /v1/policy/{slug}"}
	if !slices.Equal(denied, want) {
		t.Errorf("audited %q, want %q", denied, want)
	}
}
