package api_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pannier"
)

// checkProblem compares an answer with the error that it shall be.
func checkProblem(t *testing.T, name string, w *httptest.ResponseRecorder, status int, code string) pannier.ErrorDocument {
	t.Helper()
	if w.Code != status || w.Header().Get("Content-Type") != "application/problem+json" {
		t.Fatalf("%s: %d %s %s, want %d %s", name, w.Code, w.Header().Get("Content-Type"), w.Body, status, code)
	}
	p := decode[pannier.ErrorDocument](t, w)
	if p.Status != status || p.Code != code || p.Title != http.StatusText(status) || p.Type != "about:blank" || p.Detail == "" || p.Hint == "" {
		t.Errorf("%s: %+v, want code %s", name, p, code)
	}
	if w.Header().Get("ETag") != "" || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%s: an error that may be kept: %v", name, w.Header())
	}
	if retry := w.Header().Get("Retry-After"); (retry != "") != (status == http.StatusServiceUnavailable) {
		t.Errorf("%s: Retry-After %q", name, retry)
	}
	return p
}

func TestProblems(t *testing.T) {
	big := `{"text":"` + strings.Repeat("x", 1<<20) + `"}`
	for _, tt := range []struct {
		name, method, target, body string
		header                     []string
		status                     int
		code                       string
	}{
		{"slug", "GET", "/v1/skills/nope", "", nil, 404, "skill_not_found"},
		{"slug of content", "GET", "/v1/skills/nope/content", "", nil, 404, "skill_not_found"},
		{"route", "GET", "/v1/nope", "", nil, 404, "no_such_route"},
		{"root", "GET", "/", "", nil, 404, "no_such_route"},
		{"empty slug", "GET", "/v1/skills/", "", nil, 404, "no_such_route"},
		{"plain owner/slug", "GET", "/v1/skills/acme/alpha", "", nil, 404, "no_such_route"},
		{"method of a list", "POST", "/v1/skills", "", nil, 405, "method_not_allowed"},
		{"method of a mutation", "GET", "/v1/rescan", "", nil, 405, "method_not_allowed"},
		{"method that nobody knows", "BREW", "/v1/health", "", nil, 405, "method_not_allowed"},
		{"parameter", "GET", "/v1/skills?stat=eligible", "", nil, 400, "unknown_parameter"},
		{"parameter of another route", "GET", "/v1/card?path=x", "", nil, 400, "unknown_parameter"},
		{"parameter of health", "GET", "/v1/health?x=1", "", nil, 400, "unknown_parameter"},
		{"parameter of readyz", "GET", "/readyz?x", "", nil, 400, "unknown_parameter"},
		{"parameter in a POST", "POST", "/v1/resolve?verbos=1", "{}", nil, 400, "unknown_parameter"},
		{"state", "GET", "/v1/skills?state=good", "", nil, 400, "invalid_parameter.state"},
		{"state twice", "GET", "/v1/skills?state=eligible&state=shadowed", "", nil, 400, "invalid_parameter.state"},
		{"include", "GET", "/v1/skills?include=problems,wealth", "", nil, 400, "invalid_parameter.include"},
		{"query escape", "GET", "/v1/skills?state=%zz", "", nil, 400, "invalid_query"},
		{"query semicolon", "GET", "/v1/prompt?format=x;max_chars=1", "", nil, 400, "invalid_query"},
		{"format", "GET", "/v1/prompt?format=x", "", nil, 400, "invalid_parameter.format"},
		{"max_chars text", "GET", "/v1/prompt?max_chars=many", "", nil, 400, "invalid_parameter.max_chars"},
		{"max_chars negative", "GET", "/v1/prompt?max_chars=-1", "", nil, 400, "invalid_parameter.max_chars"},
		{"max_chars huge", "GET", "/v1/prompt?max_chars=99999999999999999999", "", nil, 400, "invalid_parameter.max_chars"},
		{"wait", "POST", "/v1/rescan?wait=perhaps", "", nil, 400, "invalid_parameter.wait"},
		{"format in a turn", "POST", "/v1/prompt", `{"format":"x"}`, nil, 400, "invalid_parameter.format"},
		{"max_chars in a turn", "POST", "/v1/resolve", `{"limits":{"max_chars":-1}}`, nil, 400, "invalid_parameter.max_chars"},
		{"no body", "POST", "/v1/resolve", "", nil, 400, "invalid_body"},
		{"no JSON", "POST", "/v1/resolve", "text", nil, 400, "invalid_body"},
		{"half of JSON", "POST", "/v1/resolve", `{"text":`, nil, 400, "invalid_body"},
		{"array", "POST", "/v1/resolve", `[]`, nil, 400, "invalid_body"},
		{"field", "POST", "/v1/resolve", `{"txt":""}`, nil, 400, "invalid_body"},
		{"field below", "POST", "/v1/prompt", `{"limits":{"chars":1}}`, nil, 400, "invalid_body"},
		{"type of a field", "POST", "/v1/prompt", `{"text":1}`, nil, 400, "invalid_body"},
		{"second value", "POST", "/v1/resolve", `{} {}`, nil, 400, "invalid_body"},
		{"trailing brace", "POST", "/v1/resolve", `{}}`, nil, 400, "invalid_body"},
		{"trailing bracket", "POST", "/v1/resolve", `{}]`, nil, 400, "invalid_body"},
		{"trailing text", "POST", "/v1/prompt", `{}x`, nil, 400, "invalid_body"},
		{"large", "POST", "/v1/resolve", big, nil, 413, "body_too_large"},
		{"large behind the value", "POST", "/v1/prompt", "{}" + strings.Repeat(" ", 1<<20), nil, 413, "body_too_large"},
		{"Origin", "GET", "/v1/skills", "", []string{"Origin", "null"}, 403, "browser_refused"},
		{"Referer", "POST", "/v1/rescan", "", []string{"Referer", "http://x"}, 403, "browser_refused"},
		{"Origin where nothing is", "GET", "/nope", "", []string{"Origin", "http://x"}, 403, "browser_refused"},
		{"Origin at the metrics", "GET", "/metrics", "", []string{"Origin", "http://x"}, 403, "browser_refused"},
		{"ineligible", "GET", "/v1/skills/beta/content", "", nil, 409, "skill_ineligible"},
		{"unlisted", "GET", "/v1/skills/delta/content", "", nil, 409, "skill_unlisted"},
		{"held", "GET", "/v1/skills/gamma/content", "", nil, 409, "skill_held"},
		{"shadowed", "GET", "/v1/skills/zeta/content", "", nil, 409, "skill_shadowed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHouse()
			w := ask(h.handler(), tt.method, tt.target, tt.body, tt.header...)
			checkProblem(t, tt.name, w, tt.status, tt.code)
			if allow := w.Header().Get("Allow"); (allow != "") != (tt.status == 405) {
				t.Errorf("Allow: %q", allow)
			}
			if len(h.events) > 0 || h.scans > 0 {
				t.Errorf("a refused request did something: %v, %d scans", h.events, h.scans)
			}
		})
	}
}

// TestHints looks at the words of those that a person has to act on.
func TestHints(t *testing.T) {
	h := newHouse().handler()
	for target, want := range map[string][2]string{
		"/v1/skills/beta/content":           {"jq", "install jq"},
		"/v1/skills/delta/content":          {"unlisted", "config.yaml"},
		"/v1/skills/gamma/content":          {"as it last was", "mend line 3"},
		"/v1/skills?stat=x":                 {`"stat"`, "state, include"},
		"/v1/card?x=":                       {`"x"`, "no parameters"},
		"/v1/skills/omega?path=skills/nope": {`"skills/nope"`, "pannier list"},
	} {
		p := decode[pannier.ErrorDocument](t, ask(h, "GET", target, ""))
		if !strings.Contains(p.Detail, want[0]) || !strings.Contains(p.Hint, want[1]) {
			t.Errorf("%s: %q, %q", target, p.Detail, p.Hint)
		}
	}
	if p := decode[pannier.ErrorDocument](t, ask(h, "POST", "/v1/resolve", "")); !strings.Contains(p.Detail, "it is empty") {
		t.Errorf("no body: %s", p.Detail)
	}
}

func TestNotReady(t *testing.T) {
	h := newHouse()
	h.content.Snapshot = func() *pannier.Snapshot { return nil }
	for _, target := range []string{
		"GET /v1/skills", "GET /v1/skills/a", "GET /v1/skills/a/content", "GET /v1/card", "GET /.well-known/agent-card.json",
		"GET /v1/prompt", "POST /v1/prompt", "POST /v1/resolve", "POST /v1/rescan", "GET /readyz",
	} {
		method, path, _ := strings.Cut(target, " ")
		checkProblem(t, target, ask(h.handler(), method, path, "{}"), 503, "not_ready")
	}
	if w := ask(h.handler(), "GET", "/v1/health", ""); w.Code != 200 {
		t.Errorf("health: %d", w.Code)
	}
	if w := ask(h.handler(), "GET", "/metrics", ""); w.Code != 200 {
		t.Errorf("metrics: %d", w.Code)
	}
}

func TestInternalError(t *testing.T) {
	h := newHouse()
	h.content.Rescan = func(context.Context, bool) (*pannier.Snapshot, error) { return nil, errors.New("disk on fire") }
	p := checkProblem(t, "rescan", ask(h.handler(), "POST", "/v1/rescan", ""), 500, "internal")
	if !strings.Contains(p.Detail, "disk on fire") {
		t.Errorf("detail: %s", p.Detail)
	}
}
