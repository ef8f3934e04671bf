package api_test

import (
	"net/http"
	"strings"
	"testing"

	"pannier"
	"pannier/publish/api"
)

func TestSession(t *testing.T) {
	m := newMutable()
	tcp, socket := m.handler().WithTokens(scopes), api.AsOwn(m.handler())
	for _, tt := range []struct {
		handler           http.Handler
		header            []string
		name, scopes      string
		write             bool
		policy, resolving int
	}{
		{tcp, []string{"Authorization", "Bearer secret-read"}, "t-read", "read", false, 403, 200},
		{tcp, []string{"Authorization", "Bearer secret-environment"}, "t-environment", "read environment", false, 403, 200},
		{tcp, []string{"Authorization", "Bearer secret-write"}, "t-write", "read environment call write", true, 200, 200},
		{tcp, []string{"Authorization", "Bearer secret-write", "Pannier-Scope", "read"}, "t-write", "read", false, 403, 200},
		{tcp, []string{"Authorization", "Bearer secret-read", "Pannier-Scope", "write"}, "t-read", "read", false, 403, 200},
		{tcp, []string{"Authorization", "Bearer secret-environment", "Pannier-Scope", "call"}, "t-environment", "read environment", false, 403, 200},
		{socket, nil, "uid ", "read environment call write", true, 200, 200},
		{socket, []string{"Pannier-Scope", "read"}, "uid ", "read", false, 403, 200},
		{m.handler(), []string{"Pannier-Scope", "write"}, "", "read", false, 403, 200},
	} {
		s := decode[pannier.Session](t, ask(tt.handler, "GET", "/v1/session", "", tt.header...))
		if !strings.HasPrefix(s.Name, tt.name) || strings.Join(s.Scopes, " ") != tt.scopes || s.Write != tt.write || s.Workspace != "/w" || s.WorkspaceID != "id" || s.Version != "devel" {
			t.Errorf("%v: %+v", tt.header, s)
		}
		if w := ask(tt.handler, "PUT", "/v1/policy/alpha", `{"enabled":false}`, tt.header...); w.Code != tt.policy {
			t.Errorf("%v: policy %d %s", tt.header, w.Code, w.Body)
		}
		if w := ask(tt.handler, "POST", "/v1/resolve", `{}`, tt.header...); w.Code != tt.resolving {
			t.Errorf("%v: resolve %d %s", tt.header, w.Code, w.Body)
		}
		call := `{"jsonrpc":"2.0","id":1,"method":"skills/policy/set","params":{"skill_slug":"alpha","enabled":false}}`
		if w := ask(tt.handler, "POST", "/v1/rpc", call, tt.header...); strings.Contains(w.Body.String(), "skills.forbidden") != (tt.policy == 403) {
			t.Errorf("%v: call %d %s", tt.header, w.Code, w.Body)
		}
	}
	for _, header := range [][]string{{"Pannier-Scope", "all"}, {"Pannier-Scope", ""}, {"Pannier-Scope", "read", "Pannier-Scope", "write"}} {
		checkProblem(t, strings.Join(header, " "), ask(socket, "GET", "/v1/session", "", header...), 400, "invalid_scope")
	}
}

// TestSessionTellsTheBounds: a page says what is too large before it sends anything.
func TestSessionTellsTheBounds(t *testing.T) {
	c := newCallable(catalog())
	if s := decode[pannier.Session](t, ask(api.AsOwn(c.handler()), "GET", "/v1/session", "")); s.Install != nil {
		t.Errorf("bounds of uploads where there are none: %+v", s.Install)
	}
	c.content.Uploads = newUploads(t, t.TempDir())
	s := decode[pannier.Session](t, ask(api.AsOwn(c.handler()), "GET", "/v1/session", ""))
	want := pannier.SessionInstall{MaxCompressed: 100 << 20, MaxUncompressed: 500 << 20, MaxFile: 50 << 20, MaxEntries: 2048}
	if s.Install == nil || *s.Install != want {
		t.Errorf("bounds %+v, want %+v", s.Install, want)
	}
}
