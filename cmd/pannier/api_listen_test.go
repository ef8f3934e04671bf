package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"pannier"
)

// apiAddress returns where a sidecar with --api-listen listens.
func (s *sidecarUnderTest) apiAddress(t *testing.T) string {
	return s.loggedAddress(t, "serving the API: address=")
}

// newTokens makes a token of each scope, called by it. The texts lie in files with those names beside the file of tokens.
func newTokens(t *testing.T) (file string, token map[string]string) {
	t.Helper()
	dir := t.TempDir()
	file, token = filepath.Join(dir, "tokens"), map[string]string{}
	for _, scope := range []string{"read", "environment", "call", "write"} {
		stdout, stderr, code := pannierToken(t, scope, scope, "--append", file)
		if code != exitYes || stderr != "" {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		token[scope] = strings.TrimSpace(stdout)
		need(t, os.WriteFile(filepath.Join(dir, scope), []byte(stdout), 0o600))
	}
	return file, token
}

// far asks over TCP.
type far struct {
	client *http.Client
	base   string
}

func (f far) ask(t *testing.T, token, method, path, body string) (int, string) {
	t.Helper()
	req := must(http.NewRequestWithContext(t.Context(), method, f.base+path, strings.NewReader(body)))(t)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	req.Close = true
	res := must(f.client.Do(req))(t)
	defer res.Body.Close()
	text := must(io.ReadAll(res.Body))(t)
	return res.StatusCode, string(text)
}

// checkSecrets fails where the output of a sidecar holds a token or a digest of one.
func (s *sidecarUnderTest) checkSecrets(t *testing.T, tokens map[string]string) {
	t.Helper()
	for name, token := range tokens {
		digest := strings.TrimPrefix(pannier.DigestOf([]byte(token)).String(), "sha256:")
		if log := s.log.String(); strings.Contains(log, token) || strings.Contains(log, digest) {
			t.Errorf("the log holds the token %s, or its digest", name)
		}
	}
}

func TestAPIOverTCP(t *testing.T) {
	file, token := newTokens(t)
	w := workspaceWith(t, skillScript("pdf", "Reads it."))
	s := startSidecar(t, w, "--platform-url", "off", "--api-listen", "127.0.0.1:0", "--api-tokens", file, "--state-dir", t.TempDir(), "--log-level", "trace")
	f := far{http.DefaultClient, "http://" + s.apiAddress(t)}
	off := `{"enabled":false}`
	for _, tt := range []struct {
		token, method, path, body string
		status                    int
	}{
		{"", "GET", "/v1/skills", "", 401},
		{"pannier_unknown", "GET", "/v1/skills", "", 401},
		{token["read"], "GET", "/v1/skills", "", 200},
		{token["read"], "GET", "/livez", "", 200},
		{token["read"], "GET", "/metrics", "", 200},
		{token["read"], "POST", "/v1/resolve", `{"text":"$pdf"}`, 200},
		{token["read"], "PUT", "/v1/environment", "{}", 403},
		{token["environment"], "PUT", "/v1/environment", `{"os":"linux","arch":"amd64"}`, 200},
		{token["environment"], "PUT", "/v1/policy/pdf", off, 403},
		{token["environment"], "POST", "/v1/skills/pdf/scan", "", 403},
		{token["write"], "PUT", "/v1/policy/pdf", off, 200},
	} {
		if status, body := f.ask(t, tt.token, tt.method, tt.path, tt.body); status != tt.status {
			t.Errorf("%s %s: %d %.300s, want %d", tt.method, tt.path, status, body, tt.status)
		}
	}
	audit, err := s.Audit(t.Context(), "", 10)
	var entries []string // the newest first
	for _, e := range audit.Entries {
		if e.Actor.Kind != "tcp" || e.Actor.UID != nil {
			t.Errorf("an entry is by %+v", e.Actor)
		}
		entries = append(entries, fmt.Sprintf("%s %s %s", e.Actor.Name, e.Action, e.Phase))
	}
	want := []string{
		"write policy.set outcome", "write policy.set intent", "environment request.denied outcome", "environment request.denied outcome",
		"environment environment.put outcome", "environment environment.put intent", "read request.denied outcome",
	}
	if diff := cmp.Diff(want, entries); err != nil || diff != "" {
		t.Fatalf("audit log: %v (-want +got):\n%s", err, diff)
	}
	conn := dialRPC(t, "ws://"+s.apiAddress(t), websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + token["read"]}}})
	if answer := callOver(t, conn, listCall); !strings.Contains(answer, `"pdf"`) {
		t.Errorf("answered %s", answer)
	}
	s.stops(t)
	s.checkSecrets(t, token)
}

// TestRevokedTokenIsRefused takes a token out of the file while the sidecar runs, and then breaks the file.
func TestRevokedTokenIsRefused(t *testing.T) {
	file, token := newTokens(t)
	s := startSidecar(t, newWorkspace(t), "--platform-url", "off", "--api-listen", "127.0.0.1:0", "--api-tokens", file)
	f := far{http.DefaultClient, "http://" + s.apiAddress(t)}
	check := func(name string, want int) {
		t.Helper()
		if status, body := f.ask(t, token[name], "GET", "/v1/health", ""); status != want {
			t.Errorf("%s: %d %s, want %d", name, status, body, want)
		}
	}
	check("read", 200)
	writeIn(t, filepath.Dir(file), "sed -i /^read/d tokens")
	check("read", 401)
	check("write", 200)
	writeIn(t, filepath.Dir(file), "echo broken >> tokens; chmod 644 tokens")
	check("read", 401)
	check("write", 200)
	s.tellsOf(t, "api_tokens_unreadable")
	s.tellsOf(t, "api_tokens_exposed")
	writeIn(t, filepath.Dir(file), "rm tokens")
	check("write", 200)
	s.logs(t, "the tokens cannot be read; the earlier ones stay valid")
	s.checkSecrets(t, token)
}

// TestAPIWithTLS takes TLS from the file of exporter-toolkit, and does not ask for its passwords.
func TestAPIWithTLS(t *testing.T) {
	t.Parallel()
	file, token := newTokens(t)
	dir := t.TempDir()
	trusted := writeCertificate(t, dir)
	config := filepath.Join(dir, "web.yml")
	text := "tls_server_config: {cert_file: cert.pem, key_file: key.pem}\nbasic_auth_users: {prometheus: '" + webHash + "'}\n"
	need(t, os.WriteFile(config, []byte(text), 0o600))
	s := startSidecar(t, newWorkspace(t), "--platform-url", "off", "--api-listen", "0.0.0.0:0", "--api-tokens", file, "--web-config", config)
	_, port, err := net.SplitHostPort(s.apiAddress(t))
	need(t, err)
	address := "127.0.0.1:" + port
	f := far{&http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}, ForceAttemptHTTP2: true}}, "https://" + address}
	if status, body := f.ask(t, token["read"], "GET", "/v1/health", ""); status != 200 || strings.Contains(body, "api_without_tls") {
		t.Errorf("with a token: %d %s", status, body)
	}
	if status, body := f.ask(t, "", "GET", "/v1/health", ""); status != 401 || !strings.Contains(body, "token_missing") {
		t.Errorf("without: %d %s", status, body)
	}
	conn := must(tls.Dial("tcp", address, &tls.Config{RootCAs: trusted, NextProtos: []string{"h2", "http/1.1"}}))(t)
	defer conn.Close()
	if proto := conn.ConnectionState().NegotiatedProtocol; proto != "http/1.1" {
		t.Errorf("speaks %q", proto)
	}
	s.checkCommands(t, "https://"+address, filepath.Dir(file), filepath.Join(dir, "cert.pem"))
}

// checkCommands asks by the command line, with the flags and with the variables.
func (s *sidecarUnderTest) checkCommands(t *testing.T, url, tokens, ca string) {
	t.Helper()
	s.write(t, skillScript("pdf", "Reads it."))
	s.listed(t, "pdf")
	for _, tt := range []struct {
		token, command, want string
		code                 int
	}{
		{"read", "list", "pdf", exitYes},
		{"read", "show pdf", "Reads it.", exitYes},
		{"read", "resolve $pdf", "pdf", exitYes},
		{"read", "prompt", "pdf", exitYes},
		{"read", "card", "pdf", exitYes},
		{"read", "health", "status", exitYes},
		{"read", "policy list", "pdf", exitYes},
		{"read", "events --json", "skill_catalog_updated", exitYes},
		{"read", "show none", "none", exitNo},
		{"read", "scan pdf", "has the scope read, and this takes write", exitNo},
		{"write", "scan pdf", "allow", exitYes},
		{"environment", "environment --put", "requirements are checked against", exitYes},
		{"none", "list", "read the token", exitUnknown},
	} {
		flags := []string{"--url", url, "--token-file", filepath.Join(tokens, tt.token), "--ca-file", ca}
		out, code := runCommand(t, nil, append(strings.Fields(tt.command), flags...)...)
		if code != tt.code || !strings.Contains(out, tt.want) {
			t.Errorf("pannier %s: exit code %d, want %d with %q\n%s", tt.command, code, tt.code, tt.want, out)
		}
	}
	environ := []string{"PANNIER_URL=" + url, "PANNIER_TOKEN_FILE=" + filepath.Join(tokens, "read"), "PANNIER_CA_FILE=" + ca}
	if out, code := runCommand(t, environ, "list"); code != exitYes || !strings.Contains(out, "pdf") {
		t.Errorf("with variables: exit code %d\n%s", code, out)
	}
	if out, code := runCommand(t, environ[:2], "list"); code != exitUnknown || !strings.Contains(out, "certificate") {
		t.Errorf("without the authority: exit code %d\n%s", code, out)
	}
}

// runCommand runs the binary and returns all that it prints.
func runCommand(t *testing.T, environ []string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = append(cleanEnviron(), environ...)
	out, err := cmd.CombinedOutput()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	}
	if bytes.Contains(out, []byte("pannier_")) && bytes.Contains(out, []byte("Bearer")) {
		t.Errorf("printed the token: %s", out)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func TestFarCommandsRefuse(t *testing.T) {
	t.Parallel()
	file, token := newTokens(t)
	dir := filepath.Dir(file)
	writeIn(t, dir, `printf 'two words' > words; printf 'pannier_a\nb' > lines; : > empty`)
	ln := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	nobody := "http://" + ln.Addr().String()
	ln.Close()
	for _, tt := range []struct {
		args, says string
		code       int
	}{
		{"--url " + nobody, "--url needs a token", exitUnknown},
		{"--token-file read --url " + nobody, "no sidecar answers", exitNoSidecar},
		{"--token-file words --url " + nobody, "holds something that no token can", exitUnknown},
		{"--token-file lines --url " + nobody, "holds something that no token can", exitUnknown},
		{"--token-file empty --url " + nobody, "it is empty", exitUnknown},
		{"--token-file none --url " + nobody, "no such file", exitUnknown},
		{"--token-file read --ca-file none --url " + nobody, "read the certificate authorities", exitUnknown},
		{"--token-file read --ca-file words --url " + nobody, "no certificate found in words", exitUnknown},
		{"--token-file read --url ftp://x", "is not http:// or https://", exitUnknown},
		{"--token-file read --url https://u:secret@x", "is not http:// or https://", exitUnknown},
		{"--token-file read --url https://x/v1", "is not http:// or https://", exitUnknown},
	} {
		cmd := exec.CommandContext(t.Context(), binary, append([]string{"list"}, strings.Fields(tt.args)...)...)
		cmd.Env, cmd.Dir = cleanEnviron(), dir
		out, err := cmd.CombinedOutput()
		if _, ok := errors.AsType[*exec.ExitError](err); !ok || cmd.ProcessState.ExitCode() != tt.code || !strings.Contains(string(out), tt.says) {
			t.Errorf("%s: %v, want exit code %d and %q\n%s", tt.args, err, tt.code, tt.says, out)
		}
		for _, secret := range []string{token["read"], "secret", "two words", "pannier_a"} {
			if strings.Contains(string(out), secret) {
				t.Errorf("%s: printed %q\n%s", tt.args, secret, out)
			}
		}
	}
}

func TestAPIRefusesToStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeIn(t, dir, `printf 'ci admin 00\n' > scope; printf 'ci read secret-token\n' > digest; mkdir directory`)
	for args, want := range map[string]string{
		"":                                       "api_listen needs api_tokens",
		"--api-tokens " + dir + "/none":          "no such file",
		"--api-tokens " + dir + "/directory":     "not a regular file",
		"--api-tokens " + dir + "/scope":         "line 1: unknown scope \"admin\"",
		"--api-tokens " + dir + "/digest":        "line 1: the third word is not the SHA-256",
		"--api-tokens /dev/null":                 "not a regular file",
		"--web-config none --api-tokens " + "OK": "web_config none",
	} {
		if strings.HasSuffix(args, "OK") {
			file, _ := newTokens(t)
			args = strings.TrimSuffix(args, "OK") + file
		}
		out := refused(t, append([]string{"--api-listen", "127.0.0.1:0"}, strings.Fields(args)...)...)
		if !strings.Contains(out, want) || !strings.Contains(out, "\nhint: ") || strings.Contains(out, "secret-token") {
			t.Errorf("%s: said %q, want %q", args, out, want)
		}
	}
}

func TestAPIWithoutTLSIsTold(t *testing.T) {
	file, _ := newTokens(t)
	s := startSidecar(t, newWorkspace(t), "--platform-url", "off", "--api-listen", "0.0.0.0:0", "--api-tokens", file)
	s.tellsOf(t, "api_without_tls")
	s.loggedOnce(t, "[WARN]  pannier.tcp: the API is served without TLS")
}

// TestSlowCallersOverTCP hold connections without a token: they lose them, and others are answered meanwhile.
func TestSlowCallersOverTCP(t *testing.T) {
	t.Parallel()
	file, token := newTokens(t)
	s := startSidecar(t, newWorkspace(t), "--platform-url", "off", "--api-listen", "127.0.0.1:0", "--api-tokens", file)
	address := s.apiAddress(t)
	var slow []net.Conn
	for i := range 20 {
		conn := must(net.Dial("tcp", address))(t)
		defer conn.Close()
		fmt.Fprintf(conn, "GET /v1/skills HTTP/1.1\r\nX-%d: ", i)
		slow = append(slow, conn)
	}
	if status, body := (far{http.DefaultClient, "http://" + address}).ask(t, token["read"], "GET", "/v1/health", ""); status != 200 || !json.Valid([]byte(body)) {
		t.Errorf("beside slow callers: %d %s", status, body)
	}
	for _, conn := range slow {
		conn.SetReadDeadline(time.Now().Add(patience))
		if _, err := io.ReadAll(conn); err != nil {
			t.Errorf("a slow caller keeps its connection: %v", err)
		}
	}
	refusedConn := must(net.Dial("tcp", address))(t)
	defer refusedConn.Close()
	fmt.Fprint(refusedConn, "GET /v1/skills HTTP/1.1\r\nHost: x\r\n\r\n")
	refusedConn.SetReadDeadline(time.Now().Add(patience))
	text, err := io.ReadAll(refusedConn)
	if err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 401 ") {
		t.Errorf("who has no token keeps the connection: %q, %v", text, err)
	}
}
