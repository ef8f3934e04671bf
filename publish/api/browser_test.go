package api_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"pannier/publish/api"
)

// browsers allow one other origin, and serve a page.
func browsers() api.Browsers {
	return api.Browsers{
		Origins: []string{"https://canvas.example"},
		Page: &api.Page{
			Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("the page")) }),
			IsPath:  func(path string) bool { return strings.HasPrefix(path, "/console/") },
		},
	}
}

// browserRequest is what a browser sends.
type browserRequest struct {
	method, host, target string
	secure               bool
	header               []string
}

func (b browserRequest) ask(h http.Handler) *httptest.ResponseRecorder {
	r := httptest.NewRequest(b.method, b.target, http.NoBody)
	r.Host = b.host
	if b.secure {
		r.TLS = &tls.ConnectionState{}
	}
	for i := 0; i < len(b.header); i += 2 {
		r.Header.Add(b.header[i], b.header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestBrowsers(t *testing.T) {
	const write = "Bearer secret-write"
	h := newMutable().handler().OverTCP(scopes, browsers())
	for _, tt := range []struct {
		name    string
		request browserRequest
		status  int
		body    string
		origin  string // that is allowed
	}{
		{"own origin", browserRequest{"GET", "localhost:1", "/v1/skills", false, []string{"Authorization", write, "Origin", "http://localhost:1"}}, 200, "alpha", ""},
		{"own origin with TLS", browserRequest{"GET", "p.example", "/v1/skills", true, []string{"Authorization", write, "Origin", "https://p.example"}}, 200, "alpha", ""},
		{"own origin of another scheme", browserRequest{"GET", "p.example", "/v1/skills", true, []string{"Authorization", write, "Origin", "http://p.example"}}, 403, "browser_refused", ""},
		{"a name that was rebound", browserRequest{"GET", "evil.example:1", "/v1/skills", false, []string{"Authorization", write, "Origin", "http://evil.example:1"}}, 403, "browser_refused", ""},
		{"another port", browserRequest{"GET", "localhost:1", "/v1/skills", false, []string{"Authorization", write, "Origin", "http://localhost:2"}}, 403, "browser_refused", ""},
		{"null", browserRequest{"GET", "localhost:1", "/v1/skills", false, []string{"Authorization", write, "Origin", "null"}}, 403, "browser_refused", ""},
		{"two origins", browserRequest{"GET", "localhost:1", "/v1/skills", false, []string{"Authorization", write, "Origin", "http://localhost:1", "Origin", "https://canvas.example"}}, 403, "browser_refused", ""},
		{"allowed origin", browserRequest{"GET", "p.example", "/v1/skills", true, []string{"Authorization", write, "Origin", "https://canvas.example", "Referer", "https://canvas.example/"}}, 200, "alpha", "https://canvas.example"},
		{"allowed origin without a token", browserRequest{"GET", "p.example", "/v1/skills", true, []string{"Origin", "https://canvas.example"}}, 401, "token_missing", "https://canvas.example"},
		{"allowed origin with another scheme", browserRequest{"GET", "p.example", "/v1/skills", true, []string{"Authorization", write, "Origin", "http://canvas.example"}}, 403, "browser_refused", ""},
		{"allowed origin with a port", browserRequest{"GET", "p.example", "/v1/skills", true, []string{"Authorization", write, "Origin", "https://canvas.example:444"}}, 403, "browser_refused", ""},
		{"a name below the allowed one", browserRequest{"GET", "p.example", "/v1/skills", true, []string{"Authorization", write, "Origin", "https://x.canvas.example"}}, 403, "browser_refused", ""},
		{"referer alone", browserRequest{"GET", "p.example", "/v1/skills", true, []string{"Authorization", write, "Referer", "https://canvas.example/"}}, 403, "browser_refused", ""},
		{"a program", browserRequest{"GET", "p.example", "/v1/skills", false, []string{"Authorization", write}}, 200, "alpha", ""},
		{"preflight", browserRequest{"OPTIONS", "p.example", "/v1/skills/alpha", true, []string{"Origin", "https://canvas.example", "Access-Control-Request-Method", "PUT"}}, 204, "", "https://canvas.example"},
		{"preflight of another origin", browserRequest{"OPTIONS", "p.example", "/v1/skills/alpha", true, []string{"Origin", "https://evil.example", "Access-Control-Request-Method", "PUT"}}, 403, "browser_refused", ""},
		{"options without a preflight", browserRequest{"OPTIONS", "p.example", "/v1/skills", true, []string{"Origin", "https://canvas.example"}}, 401, "token_missing", "https://canvas.example"},
		{"the page", browserRequest{"GET", "localhost:1", "/console/", false, nil}, 200, "the page", ""},
		{"the page by a link", browserRequest{"GET", "p.example", "/console/", true, []string{"Referer", "https://wiki.example/"}}, 200, "the page", ""},
		{"the page by a name that was rebound", browserRequest{"GET", "evil.example", "/console/", false, nil}, 403, "host_refused", ""},
		{"the page by the name of a proxy", browserRequest{"GET", "canvas.example", "/console/", false, nil}, 200, "the page", ""},
	} {
		w := tt.request.ask(h)
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.body) {
			t.Errorf("%s: %d %.200s, want %d %s", tt.name, w.Code, w.Body, tt.status, tt.body)
		}
		got := w.Header().Get("Access-Control-Allow-Origin")
		if got != tt.origin || w.Header().Get("Access-Control-Allow-Credentials") != "" || (got != "") != strings.Contains(strings.Join(w.Header().Values("Vary"), ","), "Origin") {
			t.Errorf("%s: headers %v", tt.name, w.Header())
		}
	}
	w := browserRequest{"OPTIONS", "p.example", "/mcp", true, []string{"Origin", "https://canvas.example", "Access-Control-Request-Method", "POST"}}.ask(h)
	for name, want := range map[string]string{"Access-Control-Allow-Methods": "PUT", "Access-Control-Allow-Headers": "Authorization", "Access-Control-Expose-Headers": "ETag, Location"} {
		if !strings.Contains(w.Header().Get(name), want) {
			t.Errorf("preflight: %s is %q", name, w.Header().Get(name))
		}
	}
}

// TestBrowsersAreRefusedWithoutSettings as before.
func TestBrowsersAreRefusedWithoutSettings(t *testing.T) {
	h := newMutable().handler().WithTokens(scopes)
	for _, origin := range []string{"http://localhost:1", "https://canvas.example", "null"} {
		w := browserRequest{"GET", "localhost:1", "/v1/skills", false, []string{"Authorization", "Bearer secret-write", "Origin", origin}}.ask(h)
		checkProblem(t, origin, w, 403, "browser_refused")
	}
	w := browserRequest{"GET", "localhost:1", "/console/", false, []string{"Authorization", "Bearer secret-write"}}.ask(h)
	checkProblem(t, "the page", w, 404, "no_such_route")
}

func TestLoopbackHosts(t *testing.T) {
	hosts := map[string]bool{
		"localhost": true, "LOCALHOST:80": true, "127.0.0.1": true, "127.0.0.1:8080": true, "127.8.9.1:1": true, "[::1]": true, "[::1]:80": true,
		"": false, "localhost.": false, "localhost.evil.example": false, "a.localhost": false, "127.0.0.1.evil.example": false, "0.0.0.0": false,
		"2130706433": false, "127.1": false, "localhost:80:90": false, "localhost:x": false, "10.0.0.1": false, "[::]": false, "[::1": false, "::1": false, "[::1]x": false, "127.0.0.1@evil.example": false,
	}
	got := map[string]bool{}
	for host := range hosts {
		got[host] = api.IsLoopbackHost(host)
	}
	if diff := cmp.Diff(hosts, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestTickets open one WebSocket. Here the handshake itself fails, because there is no connection: 426 means that the ticket holds.
func TestTickets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := scopes()
		h := newMutable().handler()
		tcp := h.OverTCP(func() []api.Token { return held }, browsers())
		issue := func(handler http.Handler, header ...string) string {
			t.Helper()
			body := decode[struct {
				Ticket  string `json:"ticket"`
				Expires int64  `json:"expires_in_ms"`
			}](t, ask(handler, "POST", "/v1/tickets", "", header...))
			if body.Expires != 30000 || len(body.Ticket) < 40 {
				t.Errorf("%+v", body)
			}
			return body.Ticket
		}
		check := func(name string, handler http.Handler, target string, status int, code string, header ...string) {
			t.Helper()
			checkProblem(t, name, ask(handler, "GET", target, "", header...), status, code)
		}
		mine := []string{"Authorization", "Bearer secret-read"}
		check("no ticket", tcp, "/v1/rpc", 401, "token_missing")
		check("an unknown one", tcp, "/v1/rpc?ticket=x", 401, "ticket_unknown")
		first := issue(tcp, mine...)
		check("the first use", tcp, "/v1/rpc?ticket="+first, 426, "no_websocket")
		check("the second use", tcp, "/v1/rpc?ticket="+first, 401, "ticket_unknown")
		check("beside another parameter", tcp, "/v1/rpc?ticket="+issue(tcp, mine...)+"&x=1", 401, "ticket_unknown")
		check("at another route", tcp, "/v1/skills?ticket="+issue(tcp, mine...), 401, "token_missing")
		check("beside a token", tcp, "/v1/rpc?ticket="+issue(tcp, mine...), 401, "ticket_unknown", mine...)
		old := issue(tcp, mine...)
		time.Sleep(30 * time.Second)
		check("after its time", tcp, "/v1/rpc?ticket="+old, 401, "ticket_unknown")
		revoked := issue(tcp, mine...)
		held = held[1:]
		check("of a token that was removed", tcp, "/v1/rpc?ticket="+revoked, 401, "ticket_unknown")
		check("of the unix socket, over TCP", tcp, "/v1/rpc?ticket="+issue(api.AsOwn(h)), 401, "ticket_unknown")
		check("on the unix socket", api.AsOwn(h), "/v1/rpc?ticket="+issue(api.AsOwn(h)), 426, "no_websocket")
		check("unknown on the unix socket", api.AsOwn(h), "/v1/rpc?ticket=x", 401, "ticket_unknown")
		check("of an unknown client", h, "/v1/rpc?ticket=x", 401, "ticket_unknown")
		checkProblem(t, "for an unknown client", ask(h, "POST", "/v1/tickets", ""), 403, "peer_unknown")
	})
}
