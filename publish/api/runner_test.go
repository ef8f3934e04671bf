package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pannier/publish/api"
	"pannier/service"
	"pannier/tools/module"
	"pannier/tools/runner"
)

// TestRunnerIsAccepted for the users that the settings name alone, over the socket alone.
func TestRunnerIsAccepted(t *testing.T) {
	h := newHouse()
	if w := ask(h.handler(), "GET", "/v1/runner", ""); w.Code != http.StatusNotFound {
		t.Errorf("without a runner: %d", w.Code)
	}
	accepted := 0
	var answer error
	h.options.Routes = []api.Route{module.RunnerRoute([]uint32{7}, func(http.ResponseWriter, *http.Request, context.Context) error {
		accepted++
		return answer
	})}
	h.content.Rights.WriteUIDs = []uint32{1000}
	h.snapshot = nil // the runner connects before the first scan
	for name, tt := range map[string]struct {
		caller   service.Caller
		upgrade  string
		answer   error
		status   int
		code     string
		accepted int
	}{
		"a runner":        {caller: service.Caller{UID: 7}, upgrade: "WebSocket", status: 200, accepted: 1},
		"root":            {caller: service.Caller{}, upgrade: "websocket", status: 403, code: "forbidden"},
		"a writer":        {caller: service.Caller{UID: 1000}, upgrade: "websocket", status: 403, code: "forbidden"},
		"a token":         {caller: service.Caller{UID: 7, Token: "ci", Scope: service.ScopeWrite}, upgrade: "websocket", status: 403, code: "forbidden"},
		"not a WebSocket": {caller: service.Caller{UID: 7}, status: 426, code: "no_websocket"},
		"a second one":    {caller: service.Caller{UID: 7}, upgrade: "websocket", answer: runner.ErrConnected, status: 409, code: "runner_connected", accepted: 1},
	} {
		accepted, answer = 0, tt.answer
		r := httptest.NewRequest("GET", "/v1/runner", nil)
		r.Header.Set("Upgrade", tt.upgrade)
		w := httptest.NewRecorder()
		h.handler().ServeHTTP(w, r.WithContext(service.WithCaller(r.Context(), tt.caller)))
		if w.Code != tt.status || accepted != tt.accepted || !strings.Contains(w.Body.String(), tt.code) {
			t.Errorf("%s: %d %s, accepted %d", name, w.Code, w.Body, accepted)
		}
	}
}
