package api_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/hashicorp/go-hclog"

	"pannier"
	"pannier/publish/api"
	"pannier/service"
)

// hexOf is the digest of a token as sha256sum prints it.
func hexOf(token string) string {
	return strings.TrimPrefix(pannier.DigestOf([]byte(token)).String(), "sha256:")
}

func TestParseTokens(t *testing.T) {
	a, b := hexOf("a"), hexOf("b")
	for _, tt := range []struct {
		name, text string
		want       []string
		code       string
	}{
		{name: "nothing"},
		{name: "comments", text: "# one\n\n  # two\n#ci read " + a + "\n"},
		{name: "all scopes", text: "r read " + a + "\ne  environment\t" + b + "\r\nw write sha256:" + hexOf("c"), want: []string{"r read", "e environment", "w write"}},
		{name: "capital digits", text: "r read " + strings.ToUpper(a), want: []string{"r read"}},
		{name: "two words", text: "r read", code: "token.line"},
		{name: "four words", text: "r read " + a + " x", code: "token.line"},
		{name: "name", text: "a/b read " + a, code: "token.name"},
		{name: "long name", text: strings.Repeat("n", 65) + " read " + a, code: "token.name"},
		{name: "scope", text: "r admin " + a, code: "token.scope"},
		{name: "the token itself", text: "r read pannier_secret", code: "token.digest"},
		{name: "short digest", text: "r read " + a[:62], code: "token.digest"},
		{name: "the digest of nothing", text: "r read " + hexOf(""), code: "token.digest"},
		{name: "zeros", text: "r read " + strings.Repeat("0", 64), code: "token.digest"},
		{name: "a prefix alone", text: "r read sha256:", code: "token.digest"},
		{name: "a name twice", text: "r read " + a + "\nr read " + b, code: "token.twice"},
		{name: "a token twice", text: "r read " + a + "\ns write sha256:" + a, code: "token.twice"},
		{name: "a good line before a bad one", text: "r read " + a + "\nbad", code: "token.line"},
	} {
		tokens, err := api.ParseTokens([]byte(tt.text))
		refusal, refused := errors.AsType[*pannier.Refusal](err)
		if refused != (tt.code != "") || refused && (refusal.Code != tt.code || refusal.Hint == "" || !strings.HasPrefix(refusal.Message, "line ")) || err != nil && !refused {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.code)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error holds the third word: %v", tt.name, err)
		}
		var got []string
		for _, token := range tokens {
			got = append(got, token.Name+" "+string(token.Scope))
		}
		if strings.Join(got, ",") != strings.Join(tt.want, ",") {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestTokensAreBounded(t *testing.T) {
	var text strings.Builder
	for i := range 1025 {
		fmt.Fprintf(&text, "t%d read %s\n", i, hexOf(fmt.Sprint(i)))
	}
	if _, err := api.ParseTokens([]byte(text.String())); err == nil || !strings.Contains(err.Error(), "line 1025") {
		t.Errorf("1025 tokens: %v", err)
	}
}

func FuzzParseTokens(f *testing.F) {
	f.Add("ci read " + hexOf("a") + "\n# x\n")
	f.Add("ci write sha256:" + hexOf("b"))
	f.Fuzz(func(t *testing.T, text string) {
		tokens, err := api.ParseTokens([]byte(text))
		if _, refused := errors.AsType[*pannier.Refusal](err); err != nil && (!refused || tokens != nil) {
			t.Fatalf("%v with %d tokens", err, len(tokens))
		}
		for _, token := range tokens {
			if api.CheckTokenName(token.Name) != nil || !token.Scope.Includes(service.ScopeRead) || token.Digest.IsZero() {
				t.Fatalf("%+v", token)
			}
		}
	})
}

// scopes are three tokens, each called by its scope.
func scopes() []api.Token {
	var tokens []api.Token
	for _, scope := range service.Scopes() {
		tokens = append(tokens, api.Token{Name: "t-" + string(scope), Scope: scope, Digest: pannier.DigestOf([]byte("secret-" + scope))})
	}
	return tokens
}

func TestTokens(t *testing.T) {
	put := []string{"PUT", "/v1/environment", `{"os":"linux"}`}
	set := []string{"PUT", "/v1/policy/alpha", `{"enabled":false}`}
	list := []string{"GET", "/v1/skills", ""}
	resolve := []string{"POST", "/v1/resolve", `{}`}
	call := []string{"POST", "/v1/rpc", `{"jsonrpc":"2.0","id":1,"method":"skills/policy/set","params":{"skill_slug":"alpha","enabled":false}}`}
	for _, tt := range []struct {
		name    string
		request []string
		header  []string
		status  int
		code    string
	}{
		{"no token", list, nil, 401, "token_missing"},
		{"no token for a probe", []string{"GET", "/livez", ""}, nil, 401, "token_missing"},
		{"no token where nothing is", []string{"GET", "/nope", ""}, nil, 401, "token_missing"},
		{"basic", list, []string{"Authorization", "Basic c2VjcmV0LXdyaXRlOg=="}, 401, "token_missing"},
		{"another token", list, []string{"Authorization", "Bearer secret"}, 401, "token_unknown"},
		{"an empty token", list, []string{"Authorization", "Bearer "}, 401, "token_unknown"},
		{"a digest in the place of a token", list, []string{"Authorization", "Bearer " + hexOf("secret-write")}, 401, "token_unknown"},
		{"two headers", list, []string{"Authorization", "Bearer secret-read", "Authorization", "Bearer secret-write"}, 401, "token_missing"},
		{"in the query", []string{"GET", "/v1/skills?access_token=secret-read", ""}, nil, 401, "token_missing"},
		{"a page", list, []string{"Authorization", "Bearer secret-write", "Origin", "http://x"}, 403, "browser_refused"},
		{"a page without a token", list, []string{"Referer", "http://x"}, 403, "browser_refused"},
		{"read lists", list, []string{"Authorization", "Bearer secret-read"}, 200, ""},
		{"the scheme in small letters", list, []string{"Authorization", "bearer secret-read"}, 200, ""},
		{"read resolves", resolve, []string{"Authorization", "Bearer secret-read"}, 200, ""},
		{"read puts", put, []string{"Authorization", "Bearer secret-read"}, 403, "forbidden"},
		{"read sets", set, []string{"Authorization", "Bearer secret-read"}, 403, "forbidden"},
		{"environment lists", list, []string{"Authorization", "Bearer secret-environment"}, 200, ""},
		{"environment puts", put, []string{"Authorization", "Bearer secret-environment"}, 200, ""},
		{"environment sets", set, []string{"Authorization", "Bearer secret-environment"}, 403, "forbidden"},
		{"write lists", list, []string{"Authorization", "Bearer secret-write"}, 200, ""},
		{"write puts", put, []string{"Authorization", "Bearer secret-write"}, 200, ""},
		{"write sets", set, []string{"Authorization", "Bearer secret-write"}, 200, ""},
		{"environment calls", call, []string{"Authorization", "Bearer secret-environment"}, 200, `"skills.forbidden"`},
	} {
		m := newMutable()
		h := m.handler().WithTokens(scopes)
		w := ask(h, tt.request[0], tt.request[1], tt.request[2], tt.header...)
		switch {
		case tt.status == 200 && (w.Code != 200 || !strings.Contains(w.Body.String(), tt.code)):
			t.Errorf("%s: %d %s", tt.name, w.Code, w.Body)
		case tt.status != 200:
			checkProblem(t, tt.name, w, tt.status, tt.code)
		}
		if strings.Contains(w.Body.String(), "secret-") {
			t.Errorf("%s: the answer holds the token", tt.name)
		}
		if challenge := w.Header().Get("WWW-Authenticate"); (challenge != "") != (tt.status == 401) || tt.code == "token_unknown" && !strings.Contains(challenge, "invalid_token") {
			t.Errorf("%s: challenge %q", tt.name, challenge)
		}
		if tt.status == 200 && tt.request[0] == "PUT" && tt.request[1] == put[1] && (m.actor.Kind != "tcp" || !strings.HasPrefix(m.actor.Name, "t-") || m.actor.UID != nil || m.actor.GID != nil) {
			t.Errorf("%s: actor %+v", tt.name, m.actor)
		}
	}
}

func TestTokenIsNotSeenBehind(t *testing.T) {
	m := newMutable()
	var seen string
	m.options.Metrics = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = fmt.Sprint(r.Header) })
	ask(m.handler().WithTokens(scopes), "GET", "/metrics", "", "Authorization", "Bearer secret-read", "X-Seen", "yes")
	if !strings.Contains(seen, "X-Seen") || strings.Contains(seen, "Authorization") {
		t.Errorf("the handler behind got %s", seen)
	}
}

func TestScopes(t *testing.T) {
	includes := map[service.Scope]string{"read": "read", "environment": "read environment", "call": "read call", "write": "read environment call write"}
	for _, a := range service.Scopes() {
		var allowed []string
		for _, b := range service.Scopes() {
			if a.Includes(b) {
				allowed = append(allowed, string(b))
			}
		}
		if got := strings.Join(allowed, " "); got != includes[a] {
			t.Errorf("%s includes %q, want %q", a, got, includes[a])
		}
		if a.Includes("") || service.Scope("").Includes(a) || service.Scope("admin").Includes(a) {
			t.Errorf("%s beside what ", a)
		}
	}
}

func TestOwner(t *testing.T) {
	for want, ctx := range map[string]context.Context{
		"socket":   t.Context(),
		"uid:1000": service.WithCaller(t.Context(), service.Caller{UID: 1000, GID: 1}),
		"uid:0":    service.WithCaller(t.Context(), service.Caller{}),
		"token:ci": service.WithCaller(t.Context(), service.Caller{Token: "ci", Scope: service.ScopeRead}),
	} {
		if got := service.ActorFrom(ctx).Owner(); got != want {
			t.Errorf("owner %q, want %q", got, want)
		}
	}
}

// serveTCP serves a handler for tokens until the test ends, and returns its address.
func serveTCP(t *testing.T, h *api.Handler) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	run := func(s *http.Server, ln net.Listener) error { return s.Serve(ln) }
	go func() { ended <- api.ServeTCP(ctx, ln, h.WithTokens(scopes), hclog.NewNullLogger(), run) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return ln.Addr().String()
}

func TestWebSocketOverTCP(t *testing.T) {
	c := newCallable(documentsOnly())
	url := "ws://" + serveTCP(t, c.handler()) + "/v1/rpc"
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	for _, tt := range []struct{ token, method, params, want string }{
		{"secret-read", "skills/list", `{}`, `"documents"`},
		{"secret-read", "skills/policy/set", `{"skill_slug":"documents","source_kind":"workspace","enabled":false}`, `"skills.forbidden"`},
	} {
		header := http.Header{"Authorization": {"Bearer " + tt.token}}
		conn, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}, HTTPHeader: header})
		if err != nil {
			t.Fatal(err)
		}
		call := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, tt.method, tt.params)
		if err := conn.Write(ctx, websocket.MessageText, []byte(call)); err != nil {
			t.Fatal(err)
		}
		for {
			_, text, err := conn.Read(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), `"method"`) {
				continue // a notification
			}
			if !strings.Contains(string(text), tt.want) {
				t.Errorf("%s: %s, want %s", tt.method, text, tt.want)
			}
			break
		}
		conn.CloseNow()
	}
	if _, res, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}}); err == nil || res.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a token: %v", err)
	}
}

func TestRequestsEndWithTheirToken(t *testing.T) {
	for name, then := range map[string]func([]api.Token) []api.Token{
		"gone":          func(held []api.Token) []api.Token { return held[1:] },
		"another scope": func(held []api.Token) []api.Token { held[0].Scope = service.ScopeWrite; return held },
		"another text":  func(held []api.Token) []api.Token { held[0].Digest = pannier.DigestOf(nil); return held },
	} {
		synctest.Test(t, func(t *testing.T) {
			var held atomic.Pointer[[]api.Token]
			set := func(tokens []api.Token) { held.Store(&tokens) }
			set(scopes())
			ctx, release := api.WhileHeld(t.Context(), func() []api.Token { return *held.Load() }, scopes()[0])
			defer release()
			<-time.After(time.Hour)
			if ctx.Err() != nil {
				t.Errorf("%s: done before", name)
			}
			set(then(scopes()))
			<-time.After(time.Minute)
			if ctx.Err() == nil {
				t.Errorf("%s: not done", name)
			}
		})
	}
}

func TestRequestsThatEndAreLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		_, release := api.WhileHeld(t.Context(), func() []api.Token { asked.Add(1); return scopes() }, scopes()[0])
		<-time.After(time.Minute)
		synctest.Wait()
		release()
		before := asked.Load()
		<-time.After(time.Minute)
		synctest.Wait()
		if after := asked.Load(); before == 0 || after != before {
			t.Errorf("the tokens were asked for %d times before, %d after", before, after-before)
		}
	})
}
