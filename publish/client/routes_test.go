package client_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pannier"
	"pannier/publish/client"
)

// calls are the methods of the client for the routes of docs/API.md. Other GETs are asked for with [client.Get].
var calls = map[string]func(*testing.T, *client.Client) error{
	"GET /v1/skills":        func(t *testing.T, c *client.Client) error { _, err := c.Skills(t.Context(), "", true); return err },
	"GET /v1/skills/{slug}": func(t *testing.T, c *client.Client) error { _, err := c.Skill(t.Context(), "a/b", "p"); return err },
	"GET /v1/skills/{slug}/content": func(t *testing.T, c *client.Client) error {
		_, err := c.Content(t.Context(), "a/b")
		return err
	},
	"GET /v1/skills/{slug}/files/{path...}": func(t *testing.T, c *client.Client) error {
		_, _, err := c.File(t.Context(), "a/b", "refs/../c d?#%.md")
		return err
	},
	"POST /v1/skills": func(t *testing.T, c *client.Client) error {
		_, err := c.Install(t.Context(), pannier.InstallRequest{AllowMissing: true, DryRun: true}, pannier.InstallSource{Body: strings.NewReader("x"), Name: "a b.tgz"})
		return err
	},
	"PUT /v1/skills/{slug}": func(t *testing.T, c *client.Client) error {
		req := pannier.InstallRequest{Slug: "a/b", SourceKind: pannier.SourceManaged, Expected: pannier.DigestOf(nil)}
		_, err := c.Install(t.Context(), req, pannier.InstallSource{Body: strings.NewReader("x"), Format: pannier.Zip})
		return err
	},
	"DELETE /v1/skills/{slug}": func(t *testing.T, c *client.Client) error {
		_, err := c.Uninstall(t.Context(), pannier.RemoveRequest{Slug: "a/b"})
		return err
	},
	"POST /v1/skills/{slug}/rollback": func(t *testing.T, c *client.Client) error {
		_, err := c.Rollback(t.Context(), pannier.RemoveRequest{Slug: "a", DryRun: true})
		return err
	},
	"POST /v1/promotions": func(t *testing.T, c *client.Client) error {
		_, err := c.Promote(t.Context(), []byte("{}"))
		return err
	},
	"POST /v1/skills/{slug}/scan": func(t *testing.T, c *client.Client) error {
		_, err := c.Scan(t.Context(), "..", "", pannier.ScanRequest{})
		return err
	},
	"GET /v1/card": func(t *testing.T, c *client.Client) error { _, err := c.Card(t.Context()); return err },
	"GET /v1/prompt": func(t *testing.T, c *client.Client) error {
		_, err := c.AutomaticPrompt(t.Context(), "openclaw", new(9))
		return err
	},
	"POST /v1/prompt": func(t *testing.T, c *client.Client) error {
		_, err := c.Prompt(t.Context(), pannier.Turn{})
		return err
	},
	"POST /v1/resolve": func(t *testing.T, c *client.Client) error {
		_, err := c.Resolve(t.Context(), pannier.Turn{})
		return err
	},
	"POST /v1/find": func(t *testing.T, c *client.Client) error {
		_, err := c.Find(t.Context(), pannier.FindRequest{Text: "pdf", Limit: 3})
		return err
	},
	"GET /v1/commands": func(t *testing.T, c *client.Client) error { _, err := c.Commands(t.Context()); return err },
	"POST /v1/commands/{name}": func(t *testing.T, c *client.Client) error {
		_, err := c.RunCommand(t.Context(), "/a", "")
		return err
	},
	"GET /v1/tools": func(t *testing.T, c *client.Client) error { _, err := c.Tools(t.Context()); return err },
	"POST /v1/tools/{name}": func(t *testing.T, c *client.Client) error {
		_, err := c.CallTool(t.Context(), "skill.a.b", pannier.ToolCall{CallID: "c"})
		return err
	},
	"GET /v1/tools/calls/{id}/artifacts/{name...}": func(t *testing.T, c *client.Client) error {
		_, _, err := c.Artifact(t.Context(), "c", "sub/a b.json")
		return err
	},
	"POST /v1/skills/{slug}/prepare": func(t *testing.T, c *client.Client) error {
		_, err := c.PrepareTools(t.Context(), "a/b")
		return err
	},
	"DELETE /v1/tools/calls/{id}": func(t *testing.T, c *client.Client) error { return c.CancelTool(t.Context(), "c") },
	"POST /v1/health/acknowledge": func(t *testing.T, c *client.Client) error {
		_, err := c.Acknowledge(t.Context(), "state_lost")
		return err
	},
	"POST /v1/rescan":     func(t *testing.T, c *client.Client) error { return c.Rescan(t.Context()) },
	"GET /v1/environment": func(t *testing.T, c *client.Client) error { _, err := c.Environment(t.Context()); return err },
	"PUT /v1/environment": func(t *testing.T, c *client.Client) error {
		_, err := c.PutEnvironment(t.Context(), pannier.Environment{})
		return err
	},
	"GET /v1/policy": func(t *testing.T, c *client.Client) error { _, err := c.Policies(t.Context()); return err },
	"PUT /v1/policy/{slug}": func(t *testing.T, c *client.Client) error {
		_, err := c.SetPolicy(t.Context(), "a/b", pannier.SourceManaged, pannier.PolicyChange{})
		return err
	},
	"GET /v1/audit": func(t *testing.T, c *client.Client) error { _, err := c.Audit(t.Context(), "", 1); return err },
	"GET /v1/events": func(t *testing.T, c *client.Client) error {
		return c.Events(t.Context(), client.EventQuery{}, func(pannier.Event) error { return nil })
	},
	"GET /v1/session": func(t *testing.T, c *client.Client) error { _, err := c.Session(t.Context()); return err },
	"GET /v1/peers":   func(t *testing.T, c *client.Client) error { _, err := c.Peers(t.Context()); return err },
	"GET /v1/health":  func(t *testing.T, c *client.Client) error { _, err := c.Health(t.Context()); return err },
	"POST /v1/rpc": func(t *testing.T, c *client.Client) error {
		_, err := c.Call(t.Context(), "skills/list", nil)
		return err
	},
	"GET /openapi.json": func(t *testing.T, c *client.Client) error { _, err := c.OpenAPI(t.Context()); return err },
	"GET /readyz":       func(t *testing.T, c *client.Client) error { return c.Ready(t.Context()) },
	"GET /livez":        func(t *testing.T, c *client.Client) error { return c.Live(t.Context()) },
	"GET /metrics":      func(t *testing.T, c *client.Client) error { _, err := c.Metrics(t.Context()); return err },
}

// notCalled are routes that are no exchange of one request and one answer.
var notCalled = map[string]string{
	"POST /v1/tickets": "it is for browsers",
	"GET /mcp":         ofHosts, "POST /mcp": ofHosts, "DELETE /mcp": ofHosts,
	"GET /v1/rpc": "it is a WebSocket, of which libraries know more than this client",
}

const ofHosts = "hosts have clients of their own"

var documentedRoute = regexp.MustCompile("`((?:GET|POST|PUT|DELETE) [^`?]+)`")

// TestClientCoversTheRoutes of docs/API.md: each has a call, which asks for that route and no other.
func TestClientCoversTheRoutes(t *testing.T) {
	text, err := os.ReadFile("../../docs/API.md")
	if err != nil {
		t.Fatal(err)
	}
	var routes, noted []string
	mux := http.NewServeMux()
	for line := range strings.Lines(string(text)) {
		cells := strings.SplitN(line, "|", 3)
		if len(cells) < 3 || cells[0] != "" {
			continue
		}
		for _, m := range documentedRoute.FindAllStringSubmatch(cells[1], -1) {
			routes = append(routes, m[1])
			mux.HandleFunc(m[1], func(w http.ResponseWriter, r *http.Request) {
				noted = append(noted, m[1])
				w.Header().Set("ETag", `"`+pannier.DigestOf([]byte("{}")).String()+`"`)
				w.Write([]byte("{}"))
			})
		}
	}
	if len(routes) < 20 {
		t.Fatalf("the document has the routes %q", routes)
	}
	c := client.InProcess(mux)
	for _, route := range routes {
		if notCalled[route] != "" {
			continue
		}
		call, ok := calls[route]
		if path, get := strings.CutPrefix(route, "GET "); get && !ok {
			call, ok = func(t *testing.T, c *client.Client) error {
				_, err := client.Get[json.RawMessage](t.Context(), c, strings.NewReplacer("{", "", "...}", "", "}", "").Replace(path))
				return err
			}, true
		}
		if !ok {
			t.Errorf("the client has no call for %s", route)
			continue
		}
		noted = nil
		if err := call(t, c); err != nil || !slices.Equal(noted, []string{route}) {
			t.Errorf("%s: asked for %q (%v)", route, noted, err)
		}
	}
	for route := range calls {
		if !slices.Contains(routes, route) {
			t.Errorf("docs/API.md does not tell of %s", route)
		}
	}
}

func TestFile(t *testing.T) {
	digest := pannier.DigestOf([]byte("a\r\n\xff"))
	tag := digest.String()
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.URL.EscapedPath(); got != "/v1/skills/acme%2Fpdf/files/a%20b/%2E%2E/c%3F%2Emd" {
			t.Errorf("asked for %s", got)
		}
		w.Header().Set("ETag", `"`+tag+`"`)
		w.Write([]byte("a\r\n\xff"))
	})
	both(t, h, func(t *testing.T, c *client.Client) {
		tag = digest.String()
		content, got, err := c.File(t.Context(), "acme/pdf", "a b/../c?.md")
		if err != nil || string(content) != "a\r\n\xff" || got != digest {
			t.Errorf("%q %s %v", content, got, err)
		}
		tag = pannier.DigestOf(nil).String()
		if _, _, err := c.File(t.Context(), "acme/pdf", "a b/../c?.md"); !errors.Is(err, client.ErrTorn) {
			t.Errorf("another digest: %v", err)
		}
		tag = "none"
		if _, _, err := c.File(t.Context(), "acme/pdf", "a b/../c?.md"); err == nil {
			t.Error("no digest is no error")
		}
	})
}

func TestCallFails(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method","data":{"code":"x"}}}`))
	})
	_, err := client.InProcess(h).Call(t.Context(), "no", map[string]int{"a": 1})
	if e, ok := errors.AsType[*client.CallError](err); !ok || e.Code != -32601 || e.Error() != "no such method" || string(e.Data) != `{"code":"x"}` {
		t.Errorf("%v", err)
	}
}
