package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"pannier"
)

// TestDenials floods a sidecar with requests that their senders may not make: each is counted, few are logged, and few denied changes
// are audited.
func TestDenials(t *testing.T) {
	t.Parallel()
	file, token := newTokens(t)
	w := newWorkspace(t)
	writeIn(t, w, skillScript("pdf", "Reads it."))
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
