package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pannier"
)

// netSkill returns a shell script that writes a skill whose http tools are declared by name; a secret goes with those of the name send.
func netSkill(slug, path, address string, tools ...string) string {
	declared := ""
	for _, tool := range tools {
		headers := ""
		if strings.HasPrefix(tool, "send") {
			headers = ", headers: {Authorization: 'Bearer ${secret:KEY}'}"
		}
		declared += fmt.Sprintf("    - {tool_slug: %s, kind: http, config: {url: '%s/%s', method: POST%s}}\n", tool, address, slug, headers)
	}
	return fmt.Sprintf("mkdir -p %[1]s/%[2]s; cat > %[1]s/%[2]s/SKILL.md <<'EOF'\n---\nname: %[2]s\ndescription: Asks a server.\nruntime:\n  tools:\n%[3]s---\nText\nEOF\n", path, slug, declared)
}

// recordedRequests is a server that records what it is asked, and with which header.
type recordedRequests struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

func newRecordedRequests(t *testing.T) *recordedRequests {
	r := &recordedRequests{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.asked = append(r.asked, q.URL.Path+" "+q.Header.Get("Authorization"))
		_, _ = io.WriteString(w, "answer")
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *recordedRequests) requests() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked := strings.Join(r.asked, "|")
	r.asked = nil
	return asked
}

// everywhere returns what every surface says about a tool: the code of a refusal, or nothing. Those of the list, a turn, a host and a
// call have to be the same.
func (s *sidecarUnderTest) everywhere(t *testing.T, h *mcpUnderTest, tool string) (string, error) {
	t.Helper()
	said := map[string]string{}
	codeOf := func(found bool, tool pannier.ListedTool) string {
		switch {
		case !found:
			return "not found"
		case tool.Callable != (tool.Why == nil):
			return fmt.Sprintf("callable %t, why %+v", tool.Callable, tool.Why)
		case tool.Why != nil && tool.Why.Hint == "":
			return "no hint"
		case tool.Why != nil:
			return tool.Why.Code
		}
		return ""
	}
	find := func(tools []pannier.ListedTool) string {
		for _, listed := range tools {
			if listed.Name == tool {
				return codeOf(true, listed)
			}
		}
		return codeOf(false, pannier.ListedTool{})
	}
	list, err := s.Tools(t.Context())
	if err != nil {
		return "", err
	}
	said["list"] = find(list.Tools)
	for name, turn := range map[string]pannier.Turn{"turn": {}, "named": {Text: "/skill:" + strings.Split(tool, ".")[1]}, "verbose": {Verbose: true}} {
		resolution, err := s.Resolve(t.Context(), turn)
		if err != nil {
			return "", err
		}
		said[name] = find(resolution.Tools)
	}
	got, err := s.CallTool(t.Context(), tool, pannier.ToolCall{Arguments: json.RawMessage(`{}`)})
	said["call"], _ = codeOfCall(got, err)
	result, err := h.CallTool(t.Context(), &mcp.CallToolParams{Name: strings.ReplaceAll(tool, ".", "__")})
	if err != nil {
		return "", err
	}
	if said["host"] = ""; result.IsError {
		said["host"], _, _ = strings.Cut(result.Content[0].(*mcp.TextContent).Text, ": ")
	}
	for place, code := range said {
		if code != said["call"] {
			return "", fmt.Errorf("the call of %s is refused by %q, and the %s says %q", tool, said["call"], place, code)
		}
	}
	return said["call"], nil
}

// TestHTTPPermission drops skills whose http tools want the operator's secret, or want to send a request at all. Nothing is sent
// before the operator allows the skill as it is, and a secret goes only to the skill that it is for.
func TestHTTPPermission(t *testing.T) {
	t.Parallel()
	server := newRecordedRequests(t)
	host := strings.TrimPrefix(server.URL, "http://")
	base := shortDir(t)
	key := filepath.Join(base, "key")
	need(t, os.WriteFile(key, []byte(httpSecret+"\n"), 0o600))
	w := workspaceWith(t, netSkill("trusted", "own", server.URL, "plain", "send"))
	settings := filepath.Join(base, "settings.yaml")
	text := "roots:\n  - skills\n  - {path: own, trust: internal}\ntools:\n  enabled: true\n  http_allow: [" + host + "]\n  secrets:\n    KEY@127.0.0.1: {file: " + key + ", skills: [named, trusted]}\n"
	need(t, os.WriteFile(settings, []byte(text), 0o600))
	s := startSidecar(t, w, "--config", settings, "--scan=report", "--state-dir", t.TempDir())
	cmd := command("mcp", "--socket", s.socket)
	h := startMCP(t, mcpVersions[0], cmd)
	expect := func(when, tool, code, asked string) {
		t.Helper()
		eventually(t, fmt.Sprintf("%s, %s is refused by %q", when, tool, code), func() error {
			server.requests()
			got, err := s.everywhere(t, h, tool)
			if err == nil && got != code {
				err = fmt.Errorf("it is refused by %q", got)
			}
			return err
		})
		if got := server.requests(); got != asked {
			t.Errorf("%s, %s: the server was asked %q, want %q", when, tool, got, asked)
		}
	}
	twice := func(text string) string { return text + "|" + text } // by the call, and by the host
	s.write(t, netSkill("named", "skills", server.URL, "plain", "send")+netSkill("other", "skills", server.URL, "plain", "send"))
	for _, tool := range []string{"skill.named.plain", "skill.named.send", "skill.other.plain", "skill.other.send"} {
		expect("dropped", tool, pannier.ToolNotAllowed, "")
	}
	expect("internal", "skill.trusted.plain", "", twice("/trusted "))
	expect("internal", "skill.trusted.send", pannier.ToolNotAllowed, "")
	for _, slug := range []string{"named", "other", "trusted"} {
		s.runs(t, exitYes, "sha256:", "tool", "allow", slug)
	}
	expect("allowed", "skill.named.plain", "", twice("/named "))
	expect("allowed", "skill.named.send", "", twice("/named Bearer "+httpSecret))
	expect("allowed", "skill.trusted.send", "", twice("/trusted Bearer "+httpSecret))
	expect("allowed", "skill.other.plain", "", twice("/other "))
	expect("allowed, with a secret of others", "skill.other.send", pannier.ToolNotAllowed, "")
	s.runs(t, exitNo, "tools.secrets", "tool", "call", "skill.other.send")
	s.write(t, netSkill("named", "skills", server.URL+"/changed", "plain", "send"))
	expect("changed", "skill.named.send", pannier.ToolNotAllowed, "")
	s.runs(t, exitNo, "pannier tool allow named", "tool", "call", "skill.named.send")
	s.runs(t, exitYes, "sha256:", "tool", "allow", "named")
	expect("allowed again", "skill.named.send", "", twice("/changed/named Bearer "+httpSecret))
	s.runs(t, exitYes, "", "tool", "allow", "named", "--remove")
	expect("taken back", "skill.named.send", pannier.ToolNotAllowed, "")
}
