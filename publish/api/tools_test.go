package api_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pannier/service"
)

// askCaller answers a request of a caller.
func askCaller(h http.Handler, caller service.Caller, method, target, body string, header ...string) *httptest.ResponseRecorder {
	return ask(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(service.WithCaller(r.Context(), caller)))
	}), method, target, body, header...)
}

// TestWhoMayCallTools holds the scopes and users that may call tools: to read is not to run.
func TestWhoMayCallTools(t *testing.T) {
	for _, tt := range []struct {
		caller service.Caller
		status int
	}{
		{service.Caller{UID: 0}, http.StatusOK},
		{service.Caller{UID: 77}, http.StatusForbidden},
		{service.Caller{UID: 4343}, http.StatusOK}, // in tools.call_uids
		{service.Caller{UID: 4343, Limit: service.ScopeCall}, http.StatusOK},
		{service.Caller{UID: 4343, Limit: service.ScopeRead}, http.StatusForbidden},
		{service.Caller{Token: "a", Scope: service.ScopeRead}, http.StatusForbidden},
		{service.Caller{Token: "a", Scope: service.ScopeEnvironment}, http.StatusForbidden},
		{service.Caller{Token: "a", Scope: service.ScopeCall}, http.StatusOK},
		{service.Caller{Token: "a", Scope: service.ScopeWrite}, http.StatusOK},
		{service.Caller{Token: "a", UID: 4343, Scope: service.ScopeRead}, http.StatusForbidden}, // the ids of a token mean nothing
	} {
		h := newWhole()
		h.content.Rights.CallUIDs = []uint32{4343}
		handler := h.handler()
		if w := askCaller(handler, tt.caller, "POST", "/v1/tools/skill.alpha.run", "{}"); w.Code != tt.status {
			t.Errorf("%+v: %d %s, want %d", tt.caller, w.Code, w.Body, tt.status)
		}
		if w := askCaller(handler, tt.caller, "DELETE", "/v1/tools/calls/c1", ""); w.Code != tt.status {
			t.Errorf("%+v cancels: %d %s, want %d", tt.caller, w.Code, w.Body, tt.status)
		}
		answer := askCaller(handler, tt.caller, "POST", "/v1/rpc", rpcRequest("1", "skills/tools/call", `{"name":"skill.alpha.run"}`)).Body.String()
		if forbidden := strings.Contains(answer, "skills.forbidden"); forbidden != (tt.status == http.StatusForbidden) {
			t.Errorf("%+v: %s", tt.caller, answer)
		}
		if w := askCaller(handler, tt.caller, "GET", "/v1/tools", ""); w.Code != http.StatusOK {
			t.Errorf("%+v: %d %s", tt.caller, w.Code, w.Body)
		}
	}
}

// TestRPCTools answer in the published shapes.
func TestRPCTools(t *testing.T) {
	h := newWhole().handler()
	schemas := newMethodSchemas(t)
	for _, tt := range []struct{ method, params, want string }{
		{"skills/tools/call", `{"name":"skill.alpha.run","arguments":{"x":1},"call_id":"c9"}`, `"call_id":"c9"`},
		{"skills/tools/permission", `{"skill_slug":"alpha"}`, `"target_tool":"read_file"`},
		{"skills/tools/cancel", `{"call_id":"c1"}`, `"canceled":true`},
	} {
		call := rpcRequest("1", tt.method, tt.params)
		answer := askCaller(h, service.Caller{}, "POST", "/v1/rpc", call).Body.String()
		if !strings.Contains(answer, tt.want) {
			t.Errorf("%s: %s", tt.method, answer)
		}
		schemas.exchange(t, call, answer)
	}
	for params, want := range map[string]string{`{}`: "name is missing", `{"name":"skill.no.no"}`: `"code":"skills.not_found"`, `{"name":"skill.alpha.run","args":1}`: "args"} {
		if answer := askCaller(h, service.Caller{}, "POST", "/v1/rpc", rpcRequest("1", "skills/tools/call", params)).Body.String(); !strings.Contains(answer, want) {
			t.Errorf("%s: %s", params, answer)
		}
	}
}

// TestToolStream has the output of a call as it is written, and then its result.
func TestToolStream(t *testing.T) {
	h := newWhole().handler()
	w := askCaller(h, service.Caller{}, "POST", "/v1/tools/skill.alpha.run", "", "Accept", "text/event-stream")
	want := "event: output\ndata: {\"text\":\"first\\n\",\"bytes\":6}\n\nevent: progress\ndata: {\"bytes\":9}\n\nevent: result\ndata: {"
	if !strings.HasPrefix(w.Body.String(), want) || w.Header().Get("Content-Type") != "text/event-stream" {
		t.Errorf("%v\n%s", w.Header(), w.Body)
	}
	if w := askCaller(h, service.Caller{}, "POST", "/v1/tools/skill.no.no", "", "Accept", "text/event-stream"); w.Code != http.StatusNotFound || !json.Valid(w.Body.Bytes()) {
		t.Errorf("a refused call: %d %s", w.Code, w.Body)
	}
}

// TestToolCallBounds refuses bodies that are too large before anything is read of them.
func TestToolCallBounds(t *testing.T) {
	h := newWhole().handler()
	body := `{"arguments":{"a":"` + strings.Repeat("x", 10<<20) + `"}}`
	if w := askCaller(h, service.Caller{}, "POST", "/v1/tools/skill.alpha.run", body); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for _, body := range []string{"[]", `{"arguments":{}} {}`, `{"arguments":`} {
		if w := askCaller(h, service.Caller{}, "POST", "/v1/tools/skill.alpha.run", body); w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
}
