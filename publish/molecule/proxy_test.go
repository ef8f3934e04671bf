package molecule_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
)

// TestProxyHere is the process that TestProxies starts: net/http reads the variables once. It makes one try.
func TestProxyHere(t *testing.T) {
	url := os.Getenv("PANNIER_TEST_PLATFORM")
	if url == "" {
		t.Skip("only a process that TestProxies starts has something to do here")
	}
	told := make(tries, 1)
	p := newPublisher(t, options{URL: url, Logger: hclog.New(&hclog.LoggerOptions{Output: told, Level: hclog.Debug})})
	p.SetHosts(map[string]string{"platform.test:80": os.Getenv("PANNIER_TEST_DIRECT")})
	stop := start(t, offered(p, "a"))
	<-told
	stop()
	h := p.Health()
	fmt.Printf("acknowledged %v, error %q, hint %q\n", !h.Acknowledged.IsZero(), h.LastError, h.Hint)
}

// TestProxies: those of the environment are used, with their exceptions, and what is wrong with one is told without its
// password.
func TestProxies(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	note := func(who string, code int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			seen = append(seen, strings.TrimSpace(who+" "+r.Method+" "+r.RequestURI+" "+r.Header.Get("Proxy-Authorization")))
			mu.Unlock()
			w.WriteHeader(code)
		}
	}
	proxy, direct := httptest.NewServer(note("proxy", 200)), httptest.NewServer(note("platform", 200))
	t.Cleanup(proxy.Close)
	t.Cleanup(direct.Close)
	refusing := httptest.NewServer(note("proxy", 502)) // a tunnel would have to lead somewhere
	t.Cleanup(refusing.Close)
	wanting := httptest.NewServer(note("proxy", 407))
	t.Cleanup(wanting.Close)
	repeating := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent := r.Header.Get("Proxy-Authorization")
		plain, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(sent, "Basic "))
		note("proxy", 503)(w, r)
		fmt.Fprintf(w, `{"error":"no to %s, which is %s"}`, sent, plain)
	}))
	t.Cleanup(repeating.Close)
	gone := httptest.NewServer(note("nobody", 200))
	gone.Close()
	const local = "http://platform.test"
	as := func(user string, s *httptest.Server) string { return strings.Replace(s.URL, "//", "//"+user+"@", 1) }
	posted := "proxy POST " + local + "/registry/update-card"
	for _, test := range []struct {
		name, url string
		env       []string
		want      string   // in the output
		seen      []string // by whom
	}{
		{"none", local, nil, "acknowledged true", []string{"platform POST /registry/update-card"}},
		{"HTTP_PROXY", local, []string{"HTTP_PROXY=" + proxy.URL}, "acknowledged true", []string{"proxy POST " + local + "/registry/update-card"}},
		{"http_proxy with a password", local, []string{"http_proxy=" + as("ann:s3cret", proxy)}, "acknowledged true", []string{"proxy POST " + local + "/registry/update-card Basic YW5uOnMzY3JldA=="}},
		{"HTTPS_PROXY", "https://platform.test", []string{"HTTPS_PROXY=" + refusing.URL}, "the proxy answered CONNECT with 502 Bad Gateway", []string{"proxy CONNECT platform.test:443"}},
		{"NO_PROXY", local, []string{"HTTP_PROXY=" + proxy.URL, "NO_PROXY=other.test,platform.test"}, "acknowledged true", []string{"platform POST /registry/update-card"}},
		{"one that is no URL is not passed by", local, []string{"HTTP_PROXY=http://ann:s3cret@%zz"}, "the proxy that the environment names is not a valid URL", nil},
		{"one with a port that is none", local, []string{"HTTP_PROXY=127.0.0.1:s3cret"}, "HTTP_PROXY or HTTPS_PROXY, as http://host:port", nil},
		{"one without a scheme", local, []string{"HTTP_PROXY=" + proxy.Listener.Addr().String()}, "acknowledged true", []string{"proxy POST " + local + "/registry/update-card"}},
		{"one that is no URL, with an exception", local, []string{"HTTP_PROXY=127.0.0.1:s3cret", "NO_PROXY=other.test, .platform.test"}, "acknowledged true", []string{"platform POST /registry/update-card"}},
		{"one that is no URL, with exceptions for all", local, []string{"http_proxy=127.0.0.1:s3cret", "no_proxy=*"}, "acknowledged true", []string{"platform POST /registry/update-card"}},
		{"one that is no URL, for others", local, []string{"HTTPS_PROXY=127.0.0.1:s3cret"}, "acknowledged true", []string{"platform POST /registry/update-card"}},
		{"one that wants credentials", local, []string{"HTTP_PROXY=" + wanting.URL}, "write them into the variable", []string{"proxy POST " + local + "/registry/update-card"}},
		{"one that wants credentials for a tunnel", "https://platform.test", []string{"HTTPS_PROXY=" + wanting.URL}, "answered CONNECT with 407 Proxy Authentication Required", []string{"proxy CONNECT platform.test:443"}},
		{"one that repeats a password", local, []string{"HTTP_PROXY=" + as("ann:s3cret", repeating)}, "no to Basic [redacted], which is ann:[redacted]", []string{posted + " Basic YW5uOnMzY3JldA=="}},
		{"one that repeats a password with escapes", local, []string{"http_proxy=" + as("ann:s3cret%2Fx%40", repeating)}, "no to Basic [redacted], which is ann:[redacted]\"", []string{posted + " Basic YW5uOnMzY3JldC94QA=="}},
		{"one that repeats a token", local, []string{"HTTP_PROXY=" + as("s3cret", repeating)}, "no to Basic [redacted], which is [redacted]:", []string{posted + " Basic czNjcmV0Og=="}},
		{"one that does not run", local, []string{"HTTP_PROXY=" + gone.URL}, "go by the proxy that", nil},
		{"one that does not run, for a tunnel", "https://platform.test", []string{"HTTPS_PROXY=" + gone.URL}, "go by the proxy that", nil},
		{"only for https", local, []string{"HTTPS_PROXY=" + proxy.URL}, "acknowledged true", []string{"platform POST /registry/update-card"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			mu.Lock()
			seen = nil
			mu.Unlock()
			child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProxyHere$")
			child.Env = append(withoutProxies(), append(test.env, "PANNIER_TEST_PLATFORM="+test.url, "PANNIER_TEST_DIRECT="+direct.Listener.Addr().String())...)
			out, err := child.CombinedOutput()
			if err != nil || !strings.Contains(string(out), test.want) || strings.Contains(string(out), "s3cret") || strings.Contains(string(out), "3Jl") {
				t.Errorf("%v\n%s", err, out)
			}
			mu.Lock()
			defer mu.Unlock()
			if diff := cmp.Diff(test.seen, seen); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func withoutProxies() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(strings.ToLower(v), "=")
		return strings.HasSuffix(name, "_proxy") || name == "request_method"
	})
}
