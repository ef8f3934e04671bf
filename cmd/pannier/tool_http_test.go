package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pannier"
	"pannier/publish/client"
)

// httpSecret is sent in a header of each request, and may be found in nothing that the sidecar keeps or tells.
const httpSecret = "value-of-the-key+that/no=record-holds"

// hostileAnswers is a server whose answers try to harm the client, and counts what it was asked.
type hostileAnswers struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
	end   chan struct{}
}

func newHostileAnswers(t *testing.T) *hostileAnswers {
	h := &hostileAnswers{end: make(chan struct{})}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	t.Cleanup(func() { close(h.end) })
	return h
}

// requests returns what was asked since the last time.
func (h *hostileAnswers) requests() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	asked := strings.Join(h.asked, " ")
	h.asked = nil
	return asked
}

// ServeHTTP implements [http.Handler].
func (h *hostileAnswers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.asked = append(h.asked, r.RequestURI)
	h.mu.Unlock()
	where, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch where {
	case "near":
		http.Redirect(w, r, "/echo", http.StatusFound)
	case "far":
		http.Redirect(w, r, "http://127.0.0.1:1/?"+r.Header.Get("Authorization"), http.StatusTemporaryRedirect)
	case "metadata":
		http.Redirect(w, r, "http://169.254.169.254/latest/", http.StatusFound)
	case "silent":
		select {
		case <-r.Context().Done():
		case <-h.end:
		}
	case "endless":
		for _, err := io.WriteString(w, "begin"); err == nil; {
			_, err = io.WriteString(w, strings.Repeat("x", 1<<16))
		}
	case "bomb":
		w.Header().Set("Content-Encoding", "gzip")
		bomb := gzip.NewWriter(w)
		for range 64 {
			bomb.Write(make([]byte, 1<<20))
		}
		bomb.Close()
	case "notgzip":
		w.Header().Set("Content-Encoding", "gzip")
		io.WriteString(w, "plain text")
	case "header":
		w.Header().Set("X-Large", strings.Repeat("x", 1<<20))
	case "status":
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(http.StatusInternalServerError)
	case "garbage":
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			fmt.Fprintf(conn, "HTTP/1.1 %s\r\n\r\n", r.Header.Get("Authorization"))
			conn.Close()
		}
	case "picture":
		w.Header().Set("Content-Type", "image/png")
		w.Write([]byte{0x89, 'P', 'N', 'G', 0, 0xff, 0x1b, '[', '3', '1', 'm'})
	case "notjson":
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"a":`)
	default:
		fmt.Fprintf(w, "%s %s", r.RequestURI, r.Header.Get("Authorization"))
	}
}

// httpAttack is a call of an http tool, and what has to become of it.
type httpAttack struct {
	name, url, arguments string
	code, output         string
	asked                string // what the server sees; empty is nothing
	unsure               bool   // it fails, with a code that depends on the resolver
	kept                 bool   // it is kept back when it is planned, so no call of it begins
}

// httpAttacks returns calls; U is the address of the hostile server, P its port, T the address of a server with a bad certificate.
func httpAttacks() []httpAttack {
	refused, failed, invalid := pannier.ToolHTTPRefused, pannier.ToolHTTPFailed, pannier.ToolArgumentsInvalid
	attacks := []httpAttack{
		{name: "near redirect", url: "U/near", output: "/echo Bearer ***", asked: "/near /echo"},
		{name: "redirect to another origin", url: "U/far", code: refused, asked: "/far"},
		{name: "redirect to the metadata", url: "U/metadata", code: refused, asked: "/metadata"},
		{name: "silent", url: "U/silent", code: pannier.ToolTimedOut, asked: "/silent"},
		{name: "endless", url: "U/endless", output: "begin", asked: "/endless"},
		{name: "gzip bomb", url: "U/bomb", output: "", asked: "/bomb"},
		{name: "not gzip", url: "U/notgzip", code: failed, asked: "/notgzip"},
		{name: "large header", url: "U/header", code: failed, asked: "/header"},
		{name: "error", url: "U/status", code: failed, asked: "/status"},
		{name: "secret in the status", url: "U/garbage", code: failed, asked: "/garbage"},
		{name: "picture", url: "U/picture", output: "PNG", asked: "/picture"},
		{name: "not JSON", url: "U/notjson", output: `{"a":`, asked: "/notjson"},
		{name: "bad certificate", url: "T/", code: failed},
		{name: "slash", url: "U/echo/{a}", arguments: `{"a":"b/c"}`, output: "/echo/b%2Fc", asked: "/echo/b%2Fc"},
		{name: "escaped slash", url: "U/echo/{a}", arguments: `{"a":"%2f%2e%2e"}`, output: "/echo/%252f%252e%252e", asked: "/echo/%252f%252e%252e"},
		{name: "parent", url: "U/echo/{a}", arguments: `{"a":"../admin"}`, code: invalid},
		{name: "parent of pieces", url: "U/echo/.{a}", arguments: `{"a":"."}`, code: invalid},
		{name: "host", url: "U/{a}", arguments: `{"a":"@169.254.169.254"}`, output: "/%40169.254.169.254", asked: "/%40169.254.169.254"},
		{name: "network path", url: "U/{a}", arguments: `{"a":"/169.254.169.254/"}`, output: "/%2F169.254.169.254%2F", asked: "/%2F169.254.169.254%2F"},
		{name: "lines", url: "U/echo?q={a}", arguments: `{"a":"x\r\nHost: other\r\n\r\nGET /y"}`, asked: "/echo?q=x%0D%0AHost%3A%20other%0D%0A%0D%0AGET%20%2Fy"},
		{name: "other url", url: "U/echo", arguments: `{"url":"http://169.254.169.254/"}`, code: invalid},
		{name: "other headers", url: "U/echo", arguments: `{"headers":{"Host":"a"}}`, code: invalid},
		{name: "test network, past a proxy", url: "http://192.0.2.1:P/", code: refused},
	}
	for _, host := range []string{
		"localhost", "127.0.0.2", "0.0.0.0", "169.254.169.254", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[fd00::1]", "[fe80::1]", "[fd00:ec2::254]",
		"[64:ff9b::7f00:1]", "[64:ff9b:1::a9fe:a9fe]", "[2002:7f00:1::]", "10.0.0.1", "172.16.0.1", "192.168.0.1", "100.100.100.200", "168.63.129.16",
	} {
		attacks = append(attacks, httpAttack{name: host, url: "http://" + host + ":P/", code: refused})
	}
	for _, host := range []string{"2130706433", "0x7f000001", "0177.0.0.1", "127.1", "127.0.0.1."} { // a name here, an address elsewhere
		attacks = append(attacks, httpAttack{name: host, url: "http://" + host + ":P/", unsure: true})
	}
	return append(attacks, httpAttack{name: "escaped host", url: "http://%31%32%37.0.0.2:P/", kept: true})
}

// TestHTTPToolAttacks calls http tools of the built binary, whose addresses, answers and arguments try to get somewhere else, to
// last for ever, or to keep a secret.
func TestHTTPToolAttacks(t *testing.T) {
	t.Parallel()
	server := newHostileAnswers(t)
	broken := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a server with a bad certificate was asked") }))
	broken.Config.ErrorLog = log.New(io.Discard, "", 0)
	broken.StartTLS()
	t.Cleanup(broken.Close)
	host, port := strings.TrimPrefix(server.URL, "http://"), server.URL[strings.LastIndexByte(server.URL, ':')+1:]
	attacks := httpAttacks()
	var declared strings.Builder
	for i, a := range attacks {
		address := strings.NewReplacer("U", server.URL, ":P", ":"+port, "T/", broken.URL+"/").Replace(a.url)
		headers := ""
		if strings.HasPrefix(a.url, "U") || strings.HasPrefix(a.url, "T") {
			headers = `, headers: {Authorization: "Bearer ${secret:KEY}"}`
		}
		timeout := ""
		if a.unsure || a.name == "silent" {
			timeout = ", timeout_ms: 1000"
		}
		fmt.Fprintf(&declared, "    - {tool_slug: t%d, kind: http, config: {url: %q%s%s}}\n", i, address, headers, timeout)
	}
	base := shortDir(t)
	key := filepath.Join(base, "key")
	need(t, os.WriteFile(key, []byte(httpSecret+"\n"), 0o600))
	w := workspaceWith(t, "mkdir -p skills/net; cat > skills/net/SKILL.md <<'EOF'\n---\nname: net\ndescription: Asks servers.\nruntime:\n  tools:\n"+declared.String()+"---\nText\nEOF\n")
	s := startProxied(t, w, server.URL, "--tools-http-allow", host+","+strings.TrimPrefix(broken.URL, "https://"), "--tools-secret", "KEY@127.0.0.1/net=@"+key)
	s.allow(t, "net", "skill.net.t0")
	for i, a := range attacks {
		s.attempts(t, server, fmt.Sprintf("skill.net.t%d", i), a)
	}
	s.keepsNoSecret(t, len(attacks)-1, httpSecret) // of the one that is kept back there is none
}

// startProxied starts a sidecar with tools whose variables name a proxy.
func startProxied(t *testing.T, w, proxy string, args ...string) *sidecarUnderTest {
	t.Helper()
	base := shortDir(t)
	s := &sidecarUnderTest{workspace: w, socket: filepath.Join(base, "s")}
	s.Client = client.New(s.socket)
	t.Cleanup(s.Close)
	cmd := exec.Command("env", append([]string{
		"HTTP_PROXY=" + proxy, "http_proxy=" + proxy, "HTTPS_PROXY=" + proxy, "https_proxy=" + proxy, "ALL_PROXY=" + proxy, "NO_PROXY=", binary, "run", "--workspace", w,
		"--socket", s.socket, "--state-dir", filepath.Join(base, "state"), "--platform-url", "off", "--environment-own", "block", "--resync", "0", "--log-level", "debug",
		"--scan=report", "--tools-enabled", "--turn-events", "replay",
	}, args...)...)
	s.process = startProcess(t, cmd)
	awaitReady(t, s.Client)
	return s
}

// attempts makes a call, and compares its result and what the server was asked with what has to become of it.
func (s *sidecarUnderTest) attempts(t *testing.T, server *hostileAnswers, tool string, a httpAttack) {
	t.Helper()
	if a.arguments == "" {
		a.arguments = "{}"
	}
	got, err := s.CallTool(t.Context(), tool, pannier.ToolCall{Arguments: json.RawMessage(a.arguments), CallID: tool})
	code, hint := codeOfCall(got, err)
	text, _ := json.Marshal(got)
	asked := server.requests()
	switch {
	case a.kept:
		if err == nil || !strings.Contains(err.Error(), "invalid_declaration") || asked != "" {
			t.Errorf("%s: asked %q, %v: %.300s", a.name, asked, err, text)
		}
	case err != nil:
		t.Errorf("%s: %v", a.name, err)
	case a.unsure && code == "", !a.unsure && code != a.code, code != "" && (hint == "" || got.Error.Message == ""):
		t.Errorf("%s: code %q, want %q, hint %q: %.300s", a.name, code, a.code, hint, text)
	case !strings.Contains(got.Output, a.output) || len(got.Output) > 256<<10 || asked != a.asked:
		t.Errorf("%s: asked %q, want %q: %.300s", a.name, asked, a.asked, text)
	case strings.Contains(string(text), httpSecret) || strings.ContainsRune(got.Output, 0x1b):
		t.Errorf("%s: the result has a secret or an escape: %.300s", a.name, text)
	}
}

// keepsNoSecret checks the record of all calls: an intent and a true outcome of each, and a secret in none, nor in log or metrics.
func (s *sidecarUnderTest) keepsNoSecret(t *testing.T, calls int, secret string) {
	t.Helper()
	audit, err := s.Audit(t.Context(), "net", 2*calls+100)
	audit.Entries = slices.DeleteFunc(audit.Entries, func(e pannier.AuditEntry) bool { return e.Action == pannier.ActionAllowTools })
	if err != nil || len(audit.Entries) != 2*calls {
		t.Errorf("%d entries about %d calls, %v", len(audit.Entries), calls, err)
	}
	outcomes := map[string]pannier.AuditEntry{}
	for _, e := range audit.Entries {
		if detail, ok := e.Detail.(map[string]any); ok && e.Phase == pannier.AuditOutcome {
			outcomes[fmt.Sprint(detail["call_id"])] = e
		}
	}
	events := 0
	for _, e := range s.envelopes(t) {
		if e.Type != pannier.EventSkillToolCalled {
			continue
		}
		var called pannier.SkillToolCalled
		err := json.Unmarshal(e.Data.(json.RawMessage), &called)
		outcome := outcomes[called.CallID]
		detail, _ := outcome.Detail.(map[string]any)
		if code, _ := detail["code"].(string); err != nil || detail["ok"] != called.OK || code != called.Code || called.OK != (outcome.Error == "") {
			t.Errorf("%s: the event says %t %q, the audit log %+v, %v", called.Name, called.OK, called.Code, outcome, err)
		}
		events++
	}
	if events != calls {
		t.Errorf("%d events about %d calls", events, calls)
	}
	metrics, err := s.Metrics(t.Context())
	if err != nil {
		t.Error(err)
	}
	entries, _ := json.Marshal(audit)
	timeline, _ := json.Marshal(s.envelopes(t))
	for name, text := range map[string]string{"metrics": metrics, "audit log": string(entries), "events": string(timeline), "log": s.log.String()} {
		for _, form := range []string{secret, strings.ReplaceAll(secret, "/", "%2F"), "value-of-the-key"} {
			if strings.Contains(text, form) {
				t.Errorf("the %s has the secret as %q", name, form)
			}
		}
	}
}
