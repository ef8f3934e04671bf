package httptool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"pannier"
	"pannier/loader/httpspec"
)

// server returns a server on loopback, and a client that may reach it. The secret KEY is bound to it.
func server(t *testing.T, answer http.HandlerFunc) (*httptest.Server, *Client) {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	host := strings.TrimPrefix(s.URL, "http://")
	return s, New(Options{Allow: []string{host}, Secrets: []Secret{
		{Name: "KEY", Host: "127.0.0.1", Skills: []string{"a"}, Read: func() (string, error) { return "s3cret/Value+1\n", nil }},
		{Name: "ELSEWHERE", Host: "api.example", Skills: []string{"a"}, Read: func() (string, error) { return "s3cret", nil }},
		{Name: "PORT", Host: host, Skills: []string{"b", "a"}, Read: func() (string, error) { return "s3cret", nil }},
		{Name: "OTHERS", Host: "127.0.0.1", Skills: []string{"b"}, Read: func() (string, error) { return "s3cret", nil }},
		{Name: "GONE", Host: "127.0.0.1", Skills: []string{"a"}, Read: func() (string, error) { return "", errors.New("no file") }},
	}})
}

// echo answers with what it was asked.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%s %s %s %s", r.Method, r.RequestURI, r.Header.Get("Content-Type"), body)
}

func run(t *testing.T, c *Client, config, arguments string) pannier.ToolResult {
	t.Helper()
	return c.Run(t.Context(), Call{ID: "1", Name: "skill.a.b", Skill: "a", Config: json.RawMessage(config), Arguments: json.RawMessage(arguments)})
}

func codeOf(r pannier.ToolResult) string {
	if r.Error == nil {
		return ""
	}
	return r.Error.Code
}

func TestRequests(t *testing.T) {
	s, c := server(t, echo)
	for _, tt := range []struct{ config, arguments, want string }{
		{`"url":"U/a"`, `{}`, "GET /a  "},
		{`"url":"U/a?b=1#c","method":"head"`, `{}`, ""},
		{`"url":"U/{id}/x?q={q}"`, `{"id":"a b/c?#%é","q":"x&y=1"}`, "GET /a%20b%2Fc%3F%23%25%C3%A9/x?q=x%26y%3D1  "},
		{`"url":"U/n/{n}/{b}"`, `{"n":12.50,"b":true}`, "GET /n/12.50/true  "},
		{`"url":"U/","query":["a","b","c"]`, `{"a":"1 2","b":["x","y"]}`, "GET /?a=1+2&b=x&b=y  "},
		{`"url":"U/?z=1"`, `{"query":{"a":1}}`, "GET /?z=1&a=1  "},
		{`"url":"U/","method":"post","body":["a"],"query":["q"]`, `{"a":{"b":[1]},"q":"x"}`, `POST /?q=x application/json {"a":{"b":[1]}}`},
		{`"url":"U/","method":"PUT"`, `{"body":[1,2]}`, `PUT / application/json [1,2]`},
		{`"url":"U/{body}","method":"POST"`, `{"body":"x"}`, `POST /x  `},
	} {
		got := run(t, c, "{"+strings.Replace(tt.config, "U", s.URL, 1)+"}", tt.arguments)
		if !got.OK || got.Output != tt.want || *got.StatusCode != 200 || got.Name != "skill.a.b" || got.CallID != "1" || got.Kind != pannier.RuntimeHTTP {
			t.Errorf("%s %s: %+v, %v", tt.config, tt.arguments, got, got.Error)
		}
	}
}

func TestInvalidArguments(t *testing.T) {
	asked := false
	s, c := server(t, func(http.ResponseWriter, *http.Request) { asked = true })
	for _, tt := range []struct{ config, arguments string }{
		{`"url":"U/{id}"`, `{}`},
		{`"url":"U/{id}"`, `{"id":null}`},
		{`"url":"U/{id}"`, `{"id":""}`},
		{`"url":"U/{id}"`, `{"id":".."}`},
		{`"url":"U/{id}"`, `{"id":"../../admin"}`},
		{`"url":"U/{id}"`, `{"id":"a\\..\\b"}`},
		{`"url":"U/.{id}/x"`, `{"id":"."}`},
		{`"url":"U/{a}{b}"`, `{"a":".","b":"."}`},
		{`"url":"U/.{id}"`, `{"id":"%2e"}`},
		{`"url":"U/{id}"`, `{"id":{"a":1}}`},
		{`"url":"U/","query":["a"]`, `{"a":{"b":1}}`},
		{`"url":"U/"`, `{"query":"a"}`},
		{`"url":"U/"`, `{"url":"http://other"}`},
		{`"url":"U/"`, `{"headers":{"X":"y"}}`},
		{`"url":"U/","body":["a"]`, `{"body":{"b":1}}`},
		{`"url":"U/{id}"`, `{"id":"` + strings.Repeat("x", 8<<10) + `"}`},
		{`"url":"U/","method":"POST"`, `{"body":"` + strings.Repeat("x", 1<<20) + `"}`},
		{`"url":"U/"`, `[]`},
	} {
		got := run(t, c, "{"+strings.Replace(tt.config, "U", s.URL, 1)+"}", tt.arguments)
		if tt.arguments == `{"id":"%2e"}` {
			if !got.OK { // the server reads /.%2e, and no server undoes an escape twice
				t.Errorf("a percent sign: %v", got.Error)
			}
			asked = false
			continue
		}
		if codeOf(got) != pannier.ToolArgumentsInvalid || got.Error.Hint == "" || asked {
			t.Errorf("%s %.60s: %+v, asked %t", tt.config, tt.arguments, got.Error, asked)
		}
	}
}

func TestDeclarations(t *testing.T) {
	for _, config := range []string{
		``, `[]`, `{}`, `{"url":1}`, `{"url":"ftp://a/"}`, `{"url":"file:///etc/passwd"}`, `{"url":"http:///x"}`, `{"url":"/x"}`, `{"url":"http:a"}`,
		`{"url":"http://u:p@a/"}`, `{"url":"http://{host}/"}`, `{"url":"http://a{x}.b/"}`, `{"url":"http://a:{port}/"}`, `{"url":"http://a\\@b/"}`, `{"url":"http://a/${secret:KEY}"}`, `{"url":"http://a/{}"}`, `{"url":"http://a/{a b}"}`,
		`{"url":"http://a/","method":"CONNECT"}`, `{"url":"http://a/","method":"GET /x"}`, `{"url":"http://a/","headers":{"Host":"b"}}`, `{"url":"http://a/","headers":{"proxy-authorization":"b"}}`,
		`{"url":"http://a/","headers":{"X":"a\r\nY: b"}}`, `{"url":"http://a/","headers":{"X Y":"b"}}`, `{"url":"http://a/","headers":{"X":"${secret:}"}}`, `{"url":"http://a/","headers":{"X":"${env:HOME}"}}`, `{"url":"http://a/","timeout_ms":-1}`,
		`{"url":"{scheme}://a/"}`, `{"url":"http://a/","query":"a"}`,
	} {
		if httpspec.Check(json.RawMessage(config)) == nil {
			t.Errorf("%s was accepted", config)
		}
		if got := run(t, New(Options{}), config, `{}`); codeOf(got) != pannier.ToolHTTPRefused {
			t.Errorf("%s: %v", config, got.Error)
		}
	}
	if err := httpspec.Check(json.RawMessage(`{"url":"HTTPS://a.example:8443/x/{id}?q={q}","method":"patch","headers":{"Authorization":"Bearer ${secret:KEY}"},"query":["a"],"body":["b"],"timeout_ms":5,"more":1}`)); err != nil {
		t.Error(err)
	}
}

// TestSecrets sends a secret in a header, and finds it in nothing that is returned.
func TestSecrets(t *testing.T) {
	var header string
	s, c := server(t, func(w http.ResponseWriter, r *http.Request) {
		header = r.Header.Get("Authorization")
		if r.URL.Path == "/fail" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		fmt.Fprintf(w, `{"got":%q,"escaped":%q}`, header, url.QueryEscape(header))
	})
	for _, path := range []string{"/", "/fail"} {
		got := run(t, c, `{"url":"`+s.URL+path+`","headers":{"Authorization":"Bearer ${secret:KEY}"}}`, `{}`)
		text, _ := json.Marshal(got)
		if header != "Bearer s3cret/Value+1" || strings.Contains(string(text), "s3cret") || !strings.Contains(got.Output, "***") || got.OK != (path == "/") {
			t.Errorf("%q, %s", header, text)
		}
	}
	for name, config := range map[string]string{
		"unknown":          `{"url":"` + s.URL + `","headers":{"A":"${secret:OTHER}"}}`,
		"of another host":  `{"url":"` + s.URL + `","headers":{"A":"${secret:ELSEWHERE}"}}`,
		"of another skill": `{"url":"` + s.URL + `","headers":{"A":"${secret:OTHERS}"}}`,
		"of another port":  `{"url":"https://127.0.0.1:1/","headers":{"A":"${secret:PORT}"}}`,
		"not readable":     `{"url":"` + s.URL + `","headers":{"A":"${secret:GONE}"}}`,
		"without TLS":      `{"url":"http://api.example/","headers":{"A":"${secret:ELSEWHERE}"}}`,
		"of a longer host": `{"url":"https://api.example.evil.example/","headers":{"A":"${secret:ELSEWHERE}"}}`,
	} {
		header = ""
		if got := run(t, c, config, `{}`); codeOf(got) != pannier.ToolHTTPRefused || strings.Contains(got.Error.Message, "s3cret") || header != "" {
			t.Errorf("%s: %+v", name, got.Error)
		}
		if err := c.CheckSecrets("a", json.RawMessage(config)); !httpspec.SendsSecret(json.RawMessage(config)) || (err == nil) != (name == "not readable") {
			t.Errorf("%s: checked: %v", name, err)
		}
	}
	config := json.RawMessage(`{"url":"` + s.URL + `","headers":{"A":"x","B":"${secret:PORT}"}}`)
	if err := c.CheckSecrets("a", config); err != nil {
		t.Error(err)
	}
	if got := run(t, c, string(config), `{}`); !got.OK {
		t.Errorf("of the port: %+v", got.Error)
	}
	if httpspec.SendsSecret(json.RawMessage(`{"url":"https://a.example/","headers":{"A":"secret"}}`)) {
		t.Error("a header without a secret sends one")
	}
}

func TestRedirects(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("another origin was asked") }))
	t.Cleanup(elsewhere.Close)
	s, c := server(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/near":
			http.Redirect(w, r, "/end", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/end":
			io.WriteString(w, "end")
		default:
			http.Redirect(w, r, map[string]string{"/port": elsewhere.URL, "/metadata": "http://169.254.169.254/latest/", "/scheme": "https://" + r.Host + "/", "/file": "file:///etc/passwd", "/user": "http://u@" + r.Host + "/end"}[r.URL.Path], http.StatusTemporaryRedirect)
		}
	})
	c.Allow = append(c.Allow, "127.0.0.1") // the other origin may be asked, but not through a redirect
	for path, want := range map[string]string{
		"/near": "", "/loop": pannier.ToolHTTPFailed, "/port": pannier.ToolHTTPRefused, "/metadata": pannier.ToolHTTPRefused,
		"/scheme": pannier.ToolHTTPRefused, "/file": pannier.ToolHTTPRefused, "/user": pannier.ToolHTTPRefused,
	} {
		if got := run(t, c, `{"url":"`+s.URL+path+`"}`, `{}`); codeOf(got) != want {
			t.Errorf("%s: %+v", path, got.Error)
		}
	}
}

// TestPrivateAddresses are refused although a server listens there.
func TestPrivateAddresses(t *testing.T) {
	s, _ := server(t, func(http.ResponseWriter, *http.Request) { t.Error("the server was asked") })
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(s.URL, "http://"))
	t.Setenv("http_proxy", s.URL)
	t.Setenv("HTTP_PROXY", s.URL)
	c := New(Options{Allow: []string{"127.0.0.1:1", "other"}})
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]", "127.1.2.3", "169.254.169.254", "[::ffff:169.254.169.254]"} {
		got := c.Run(t.Context(), Call{Config: json.RawMessage(`{"url":"http://` + host + ":" + port + `/"}`), Timeout: 5 * time.Second})
		if codeOf(got) != pannier.ToolHTTPRefused {
			t.Errorf("%s: %+v", host, got.Error)
		}
	}
}

// TestRebinding has a name that first leads to a public address, and to loopback when it is connected to.
func TestRebinding(t *testing.T) {
	s, _ := server(t, func(http.ResponseWriter, *http.Request) { t.Error("the server was asked") })
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(s.URL, "http://"))
	asked := 0
	c := New(Options{})
	c.resolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go answerDNS(far, func() net.IP {
			if asked++; asked == 1 {
				return net.IPv4(93, 184, 216, 34)
			}
			return net.IPv4(127, 0, 0, 1)
		})
		return near, nil
	}}
	if found, err := c.resolver.LookupHost(t.Context(), "rebind.example."); err != nil || found[0] != "93.184.216.34" {
		t.Fatalf("%v, %v", found, err)
	}
	got := run(t, c, `{"url":"http://rebind.example.:`+port+`/"}`, `{}`)
	if codeOf(got) != pannier.ToolHTTPRefused || asked < 2 {
		t.Errorf("%+v, asked %d times", got.Error, asked)
	}
}

// answerDNS answers one question over a stream, as over TCP (RFC 1035, 4.2.2): with an address for A, with none for others.
func answerDNS(conn net.Conn, address func() net.IP) {
	defer conn.Close()
	head := make([]byte, 2)
	for {
		if _, err := io.ReadFull(conn, head); err != nil {
			return
		}
		query := make([]byte, int(head[0])<<8|int(head[1]))
		if _, err := io.ReadFull(conn, query); err != nil {
			return
		}
		end := 12
		for query[end] != 0 {
			end += int(query[end]) + 1
		}
		question := query[12 : end+5]
		reply := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, question...)
		if question[len(question)-3] == 1 { // A
			reply[7] = 1
			reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
			reply = append(reply, address().To4()...)
		}
		if _, err := conn.Write(append([]byte{byte(len(reply) >> 8), byte(len(reply))}, reply...)); err != nil {
			return
		}
	}
}

func TestAnswers(t *testing.T) {
	s, c := server(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/json":
			io.WriteString(w, ` {"a":[1]} `)
		case "/large":
			io.WriteString(w, strings.Repeat("x", 2*MaxBody))
		case "/escapes":
			io.WriteString(w, "\x1b[31mred\xff")
		case "/error":
			w.WriteHeader(http.StatusTeapot)
			io.WriteString(w, "short")
		case "/cut":
			w.Header().Set("Content-Length", "10")
			io.WriteString(w, "abc")
		case "/headers":
			for i := range 2000 {
				w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 100))
			}
		}
	})
	for path, want := range map[string]struct {
		code, output, structured string
		truncated                bool
	}{
		"/json":    {output: ` {"a":[1]} `, structured: `{"a":[1]}`},
		"/large":   {output: strings.Repeat("x", MaxBody), truncated: true},
		"/escapes": {output: "red\uFFFD"},
		"/error":   {code: pannier.ToolHTTPFailed, output: "short"},
		"/cut":     {code: pannier.ToolHTTPFailed, output: "abc"},
		"/headers": {code: pannier.ToolHTTPFailed},
	} {
		got := run(t, c, `{"url":"`+s.URL+path+`"}`, `{}`)
		if codeOf(got) != want.code || got.OK != (want.code == "") || got.Output != want.output || string(got.Structured) != want.structured || got.Truncated != want.truncated {
			t.Errorf("%s: %v, %.80q, %s, %t", path, got.Error, got.Output, got.Structured, got.Truncated)
		}
	}
	if got := run(t, c, `{"url":"http://127.0.0.1:1/"}`, `{}`); codeOf(got) != pannier.ToolHTTPRefused {
		t.Errorf("another port: %+v", got.Error)
	}
}

// TestSlowAnswers end: one that never begins, and one that never ends.
func TestSlowAnswers(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	s, c := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/drip" {
			io.WriteString(w, "a")
			w.(http.Flusher).Flush()
		}
		if r.URL.Path == "/endless" {
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat("x", 1<<16)); err != nil {
					return
				}
			}
		}
		select {
		case <-r.Context().Done():
		case <-done:
		}
	})
	defer close(done)
	for path, tt := range map[string]struct {
		timeout int
		want    string
	}{"/silent": {200, ""}, "/drip": {5000, "a"}} { // what drips has to come before the timeout, also on a slow machine
		got := run(t, c, fmt.Sprintf(`{"url":%q,"timeout_ms":%d}`, s.URL+path, tt.timeout), `{}`)
		if codeOf(got) != pannier.ToolTimedOut || !got.TimedOut || got.Output != tt.want {
			t.Errorf("%s: %+v, %v", path, got, got.Error)
		}
	}
	if got := run(t, c, `{"url":"`+s.URL+`/endless"}`, `{}`); !got.OK || !got.Truncated || len(got.Output) != MaxBody {
		t.Errorf("endless: %v, %d bytes", got.Error, len(got.Output))
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if got := c.Run(ctx, Call{Config: json.RawMessage(`{"url":"` + s.URL + `/silent"}`)}); codeOf(got) != pannier.ToolCanceled {
		t.Errorf("canceled: %v", got.Error)
	}
}
