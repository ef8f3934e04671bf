package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pannier"
)

// consoleUnderTest is a running `pannier console`.
type consoleUnderTest struct {
	*process
	origin string // of the page
	code   string // of the link
	flags  string // that the newest login was answered with
}

var consoleLink = regexp.MustCompile(`(http://127\.0\.0\.1:\d+)/console/#code=([A-Za-z0-9_-]{40,})`)

// startConsole runs `pannier console --no-open` with more arguments, and returns when it has printed its link.
func startConsole(t *testing.T, args ...string) *consoleUnderTest {
	t.Helper()
	return awaitConsole(t, start(t, append([]string{"console", "--no-open"}, args...)...))
}

func awaitConsole(t *testing.T, p *process) *consoleUnderTest {
	t.Helper()
	c := &consoleUnderTest{process: p}
	eventually(t, "the link is printed", func() error {
		found := consoleLink.FindStringSubmatch(p.log.String())
		if found == nil {
			return errors.New("not yet: " + p.log.String())
		}
		c.origin, c.code = found[1], found[2]
		return nil
	})
	return c
}

// consoleRequest is one request of a page.
type consoleRequest struct {
	method, path, body, token string
	host                      string
	header                    []string
}

// ask sends a request, and returns the status, the header and the body of the answer.
func (c *consoleUnderTest) ask(t *testing.T, r consoleRequest) (int, http.Header, string) {
	t.Helper()
	req := must(http.NewRequestWithContext(t.Context(), r.method, c.origin+r.path, strings.NewReader(r.body)))(t)
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	if r.host != "" {
		req.Host = r.host
	}
	if r.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(r.header); i += 2 {
		req.Header.Add(r.header[i], r.header[i+1])
	}
	res := must((&http.Transport{DisableKeepAlives: true}).RoundTrip(req))(t)
	defer res.Body.Close()
	text := must(io.ReadAll(res.Body))(t)
	return res.StatusCode, res.Header, string(text)
}

// login exchanges the code of a link for a token.
func (c *consoleUnderTest) login(t *testing.T, code string) string {
	t.Helper()
	status, _, body := c.ask(t, consoleRequest{method: "POST", path: "/console/session", body: `{"code":"` + code + `"}`, header: []string{"Origin", c.origin}})
	var session struct{ Token, Flags string }
	if err := json.Unmarshal([]byte(body), &session); err != nil || status != http.StatusOK || session.Token == "" {
		t.Fatalf("login: %d %s", status, body)
	}
	c.flags = session.Flags
	return session.Token
}

func TestConsole(t *testing.T) {
	t.Parallel()
	dir := workspaceWith(t, skillScript("alpha", "Counts."))
	s := startSidecar(t, dir)
	c := startConsole(t, "--socket", s.socket)
	status, header, _ := c.ask(t, consoleRequest{method: "GET", path: "/"})
	if status != http.StatusFound || header.Get("Location") != "/console/" {
		t.Errorf("/: %d to %s", status, header.Get("Location"))
	}
	status, header, page := c.ask(t, consoleRequest{method: "GET", path: "/console/"})
	if status != http.StatusOK || !strings.Contains(page, "<!doctype html>") || header.Get("ETag") == "" {
		t.Errorf("the page: %d %v\n%s", status, header, page)
	}
	if status, _, body := c.ask(t, consoleRequest{method: "GET", path: "/console/config.json"}); status != http.StatusOK || body != `{"mode":"command","embed_origins":[]}` {
		t.Errorf("config.json: %d %s", status, body)
	}
	token := c.login(t, c.code)
	for path, want := range map[string]string{"/v1/skills": `"slug":"alpha"`, "/v1/session": `"write":true`, "/openapi.json": `"getSession"`, "/v1/health": `"workspace":"` + dir} {
		if status, _, body := c.ask(t, consoleRequest{method: "GET", path: path, token: token}); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d %.300s", path, status, body)
		}
	}
	put := consoleRequest{method: "PUT", path: "/v1/policy/alpha", body: `{"enabled":false}`, token: token, header: []string{"Origin", c.origin}}
	if status, _, body := c.ask(t, put); status != http.StatusOK {
		t.Errorf("a change: %d %s", status, body)
	}
	if c.flags != "--socket "+s.socket {
		t.Errorf("flags %q", c.flags)
	}
	c.checkNoSecrets(t, token)
	c.stops(t)
}

// checkNoSecrets fails where the token is in the output, or the code or the token in the list of processes.
func (c *consoleUnderTest) checkNoSecrets(t *testing.T, token string) {
	t.Helper()
	if strings.Contains(c.log.String(), token) {
		t.Error("the output holds the token of a session")
	}
	processes, err := exec.CommandContext(t.Context(), "sh", "-c", "cat /proc/[0-9]*/cmdline 2>/dev/null || true").Output()
	if err != nil || !bytes.Contains(processes, []byte("console")) {
		t.Fatalf("%v: the list of processes lacks the console", err)
	}
	if bytes.Contains(processes, []byte(token)) || bytes.Contains(processes, []byte(c.code)) {
		t.Error("the list of processes holds a secret")
	}
}

func TestConsoleWithoutSidecar(t *testing.T) {
	t.Parallel()
	code, out, complaint := runHere(t, "console", "--no-open", "--socket", shortDir(t)+"/none")
	if code != exitNoSidecar || out != "" || !strings.Contains(complaint, "hint: start one with `pannier run`") {
		t.Errorf("exit code %d\n%s%s", code, out, complaint)
	}
}

func TestConsoleReadOnly(t *testing.T) {
	t.Parallel()
	s := startSidecar(t, workspaceWith(t, skillScript("alpha", "Counts.")))
	c := startConsole(t, "--socket", s.socket, "--read-only")
	token := c.login(t, c.code)
	status, _, body := c.ask(t, consoleRequest{method: "GET", path: "/v1/session", token: token})
	var who pannier.Session
	if err := json.Unmarshal([]byte(body), &who); err != nil || status != http.StatusOK || who.Write || strings.Join(who.Scopes, " ") != "read" {
		t.Errorf("session: %d %s", status, body)
	}
	set := `{"jsonrpc":"2.0","id":1,"method":"skills/policy/set","params":{"skill_slug":"alpha","enabled":false}}`
	for _, r := range []consoleRequest{
		{method: "PUT", path: "/v1/policy/alpha", body: `{"enabled":false}`},
		{method: "PUT", path: "/v1/policy/alpha", body: `{"enabled":false}`, header: []string{"Pannier-Scope", "write"}},
		{method: "PUT", path: "/v1/policy/alpha", body: `{"enabled":false}`, header: []string{"pannier-scope", "write", "Connection", "Pannier-Scope"}},
		{method: "PUT", path: "/v1/environment", body: `{"os":"linux"}`},
		{method: "DELETE", path: "/v1/skills/alpha"},
		{method: "POST", path: "/v1/skills/alpha/scan"},
		{method: "POST", path: "/v1/rpc", body: set},
		{method: "POST", path: "/v1/rpc", body: "[" + set + "]"},
	} {
		r.token = token
		if status, _, body := c.ask(t, r); status != http.StatusForbidden && !strings.Contains(body, "skills.forbidden") {
			t.Errorf("%+v: %d %s", r, status, body)
		}
	}
	if status, _, body := c.ask(t, consoleRequest{method: "POST", path: "/v1/resolve", body: `{"text":"$alpha"}`, token: token}); status != http.StatusOK || !strings.Contains(body, `"slug":"alpha"`) {
		t.Errorf("a turn: %d %s", status, body)
	}
	if status, _, body := c.ask(t, consoleRequest{method: "GET", path: "/v1/policy", token: token}); status != http.StatusOK || strings.Contains(body, `"enabled":false`) {
		t.Errorf("policy afterwards: %d %s", status, body)
	}
}

// TestConsoleRefusesOthers has what other pages, other names of this machine and other users can send.
func TestConsoleRefusesOthers(t *testing.T) {
	t.Parallel()
	s := startSidecar(t, newWorkspace(t))
	c := startConsole(t, "--socket", s.socket)
	at := must(url.Parse(c.origin))(t)
	token := c.login(t, c.code)
	login := func(header ...string) consoleRequest {
		return consoleRequest{method: "POST", path: "/console/session", body: `{"code":"` + c.code + `"}`, header: header}
	}
	read := func(host string, header ...string) consoleRequest {
		return consoleRequest{method: "GET", path: "/v1/skills", token: token, host: host, header: header}
	}
	for _, tt := range []struct {
		name    string
		request consoleRequest
		status  int
		code    string
	}{
		{"another site", read("", "Origin", "https://evil.example"), 403, "browser_refused"},
		{"a file or a sandboxed frame", read("", "Origin", "null"), 403, "browser_refused"},
		{"another port of this machine", read("", "Origin", "http://127.0.0.1:1"), 403, "browser_refused"},
		{"another name of this machine", read("", "Origin", "http://localhost:"+at.Port()), 403, "browser_refused"},
		{"another scheme", read("", "Origin", "https://"+at.Host), 403, "browser_refused"},
		{"two origins", read("", "Origin", c.origin, "Origin", c.origin), 403, "browser_refused"},
		{"a request without an origin from another site", read("", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"), 403, "browser_refused"},
		{"a request without an origin from another port", read("", "Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "no-cors"), 403, "browser_refused"},
		{"a frame of another site", consoleRequest{method: "GET", path: "/console/", header: []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}}, 403, "browser_refused"},
		{"a preflight", consoleRequest{method: "OPTIONS", path: "/v1/skills", header: []string{"Origin", "https://evil.example", "Access-Control-Request-Method", "GET"}}, 403, "browser_refused"},
		{"a name that was rebound", read("evil.example:" + at.Port()), 403, "host_refused"},
		{"a name below localhost", read("evil.localhost:" + at.Port()), 403, "host_refused"},
		{"a name with a dot behind", read("localhost.:" + at.Port()), 403, "host_refused"},
		{"an address of all interfaces", read("0.0.0.0:" + at.Port()), 403, "host_refused"},
		{"an address in another form", read("2130706433:" + at.Port()), 403, "host_refused"},
		{"no token", consoleRequest{method: "GET", path: "/v1/skills"}, 401, "token_missing"},
		{"a token in the query", consoleRequest{method: "GET", path: "/v1/skills?token=" + token}, 401, "token_missing"},
		{"a token in a cookie", consoleRequest{method: "GET", path: "/v1/skills", header: []string{"Cookie", "token=" + token}}, 401, "token_missing"},
		{"two tokens", read("", "Authorization", "Bearer x"), 401, "token_missing"},
		{"another token", consoleRequest{method: "GET", path: "/v1/skills", token: token + "x"}, 401, "token_unknown"},
		{"a code in the place of a token", consoleRequest{method: "GET", path: "/v1/skills", token: c.code}, 401, "token_unknown"},
		{"a code that was used", login("Origin", c.origin), 401, "code_unknown"},
		{"a code from another page", login("Origin", "http://127.0.0.1:1"), 403, "browser_refused"},
		{"a code in the query", consoleRequest{method: "POST", path: "/console/session?code=" + c.code, body: "{}"}, 405, "method_not_allowed"},
		{"a code by GET", consoleRequest{method: "GET", path: "/console/session"}, 405, "method_not_allowed"},
		{"a form", consoleRequest{method: "POST", path: "/console/session", header: []string{"Content-Type", "application/x-www-form-urlencoded"}}, 415, "unsupported_media_type"},
		{"a large login", consoleRequest{method: "POST", path: "/console/session", body: `{"code":"` + strings.Repeat("x", 5000) + `"}`}, 400, "invalid_body"},
		{"a query of the page", consoleRequest{method: "GET", path: "/console/?code=" + c.code}, 400, ""},
		{"MCP", consoleRequest{method: "POST", path: "/mcp", body: "{}", token: token}, 404, "no_such_route"},
		{"metrics", consoleRequest{method: "GET", path: "/metrics", token: token}, 404, "no_such_route"},
		{"a path out of the API", consoleRequest{method: "GET", path: "/v1/../metrics", token: token}, 404, ""},
	} {
		status, header, body := c.ask(t, tt.request)
		if status != tt.status || tt.code != "" && !strings.Contains(body, `"code":"`+tt.code+`"`) {
			t.Errorf("%s: %d %s, want %d %s", tt.name, status, body, tt.status, tt.code)
		}
		if header.Get("Access-Control-Allow-Origin") != "" || header.Get("Set-Cookie") != "" || strings.Contains(body, token) {
			t.Errorf("%s: %v %s", tt.name, header, body)
		}
		if !strings.Contains(header.Get("Content-Security-Policy"), "frame-ancestors 'none'") || header.Get("X-Content-Type-Options") != "nosniff" || header.Get("X-Frame-Options") != "DENY" {
			t.Errorf("%s: headers %v", tt.name, header)
		}
	}
	for _, host := range []string{"", "localhost:" + at.Port(), "[::1]:" + at.Port(), "127.0.0.1", "localhost:8080"} {
		if status, _, body := c.ask(t, read(host)); status != http.StatusOK {
			t.Errorf("host %q: %d %s", host, status, body)
		}
	}
}

// TestConsoleMalformedBody: a body that cannot be read is the fault of who sends it.
func TestConsoleMalformedBody(t *testing.T) {
	t.Parallel()
	s := startSidecar(t, newWorkspace(t))
	c := startConsole(t, "--socket", s.socket)
	address := strings.TrimPrefix(c.origin, "http://")
	conn := must(new(net.Dialer).DialContext(t.Context(), "tcp", address))(t)
	defer conn.Close()
	request := "POST /v1/resolve HTTP/1.1\r\nHost: " + address + "\r\nAuthorization: Bearer " + c.login(t, c.code) +
		"\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{\"\r\nno size\r\n"
	must(io.WriteString(conn, request))(t)
	res := must(http.ReadResponse(bufio.NewReader(conn), nil))(t)
	defer res.Body.Close()
	var p pannier.ErrorDocument
	if err := json.NewDecoder(res.Body).Decode(&p); err != nil || res.StatusCode != http.StatusBadRequest || p.Type != "about:blank" || p.Code != "invalid_body" || p.Hint == "" {
		t.Errorf("%v, status %d, %+v", err, res.StatusCode, p)
	}
}

// TestWhatAPageReads: the card that the platform shows, pushes, counts and the audit log, as they follow from an installation.
func TestWhatAPageReads(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	s := startSidecar(t, newWorkspace(t), "--state-dir", state) // with the embedded platform
	archive := packed(map[string]string{"a/SKILL.md": skillFile("a", "1"), "b/SKILL.md": brokenFile})
	if status, text := sendFiles(t, s, "/v1/skills?several=1", "application/gzip", archive); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	var status pannier.CardStatus
	shows := func(card json.RawMessage) bool { return strings.Contains(string(card), `"id":"a"`) }
	eventually(t, "the platform shows the skill", func() error {
		getJSON(t, s, "/v1/card/status", &status)
		if len(status.Platforms) != 1 || !shows(status.Platforms[0].Has) {
			return fmt.Errorf("%+v", status)
		}
		return nil
	})
	p := status.Platforms[0]
	if !shows(p.Wanted) || p.Reason != "" || p.ReadAt.IsZero() || len(p.Pushes) == 0 || p.Pushes[0].Outcome != "pushed" || p.Pushes[0].Version == 0 {
		t.Errorf("%+v", p)
	}
	var counts pannier.Stats
	getJSON(t, s, "/v1/stats", &counts)
	if c := counts.Totals; c.Installs != 1 || c.Refusals != 1 || c.Reloads == 0 || c.ReloadP50MS <= 0 || c.ReloadP99MS < c.ReloadP50MS || c.Pushes < len(p.Pushes) {
		t.Errorf("%+v", c)
	}
	checkAudit(t, s, state)
}

// checkAudit reads the audit log in parts, and finds out that it was changed.
func checkAudit(t *testing.T, s *sidecarUnderTest, state string) {
	t.Helper()
	var whole pannier.AuditList
	getJSON(t, s, "/v1/audit", &whole)
	if len(whole.Entries) != 4 {
		t.Fatalf("%d entries", len(whole.Entries))
	}
	seqs := func(entries []pannier.AuditEntry) (told []uint64) {
		for _, e := range entries {
			told = append(told, e.Seq)
		}
		return told
	}
	var parts []pannier.AuditEntry
	for after := ""; ; {
		var part pannier.AuditList
		getJSON(t, s, "/v1/audit?limit=3"+after, &part)
		if len(part.Entries) == 0 {
			break
		}
		parts = append(parts, part.Entries...)
		after = fmt.Sprintf("&after=%d", part.Entries[len(part.Entries)-1].Seq)
	}
	if got, want := fmt.Sprint(seqs(parts)), fmt.Sprint(seqs(whole.Entries)); got != want {
		t.Errorf("in parts %s, want %s", got, want)
	}
	var check pannier.AuditCheck
	getJSON(t, s, "/v1/audit/verify", &check)
	if !check.OK || check.Entries != 4 || !strings.HasPrefix(check.Head, "sha256:") || check.Error != "" {
		t.Errorf("%+v", check)
	}
	files, err := filepath.Glob(filepath.Join(state, "*", "audit", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err == nil {
		err = os.WriteFile(files[0], []byte(strings.Replace(string(text), pannier.ActionInstall, pannier.ActionUpdate, 1)), 0o600)
	}
	need(t, err)
	getJSON(t, s, "/v1/audit/verify", &check)
	if check.OK || check.Error == "" {
		t.Errorf("a changed log: %+v", check)
	}
}
