package execute

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"pannier"
	"pannier/tools/sandbox"
)

// TestNetwork has tools that ask for hosts: by the proxy, without it, and with a server of their own.
func TestNetwork(t *testing.T) {
	if _, err := exec.LookPath("/usr/bin/python3"); err != nil {
		t.Skip(err)
	}
	e := executor(t, Options{Environ: []string{"HTTP_PROXY=http://192.0.2.1:1"}})
	if !sandbox.Support().Loopback {
		t.Skip("no loopback interface")
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("answer")) }))
	defer s.Close()
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(s.URL, "http://"))
	host := "127.0.0.2:" + port // which is outside of NO_PROXY
	l, err := net.Listen("tcp", host)
	if err != nil {
		t.Skip(err)
	}
	go func() { _ = http.Serve(l, s.Config.Handler) }()
	defer l.Close()
	dir := skill(t, "")
	const fetch = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=10).read().decode())"
	const plain = "import sys, socket; socket.create_connection((sys.argv[1], 80), timeout=10)"
	const own = `
import http.server, threading, urllib.request
server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(urllib.request.urlopen("http://localhost:%d/SKILL.md" % server.server_port).read().decode())
`
	listed := func(j *pannier.ToolJob) { j.Hosts, j.PrivateHosts = []string{host, "api.example"}, []string{host} }
	off := func(*pannier.ToolJob) {}
	for name, tt := range map[string]struct {
		settings              func(*pannier.ToolJob)
		program, argument     string
		message, hint, output string
		asked                 pannier.ToolHost
	}{
		"listed": {listed, fetch, "http://" + host, "", "", "answer", pannier.ToolHost{Host: host, Requests: 1}},
		"not listed": {
			listed, fetch, "https://other.example/path?token=1", "; tools.network does not list other.example:443", "add other.example to tools.network", "403 tools.network does not list other.example:443",
			pannier.ToolHost{Host: "other.example:443", Requests: 1, Refused: pannier.HostRefusedNotListed},
		},
		"another port": {
			listed, fetch, "http://api.example:8080/", "; tools.network does not list api.example:8080", "add api.example:8080 to tools.network", "403: tools.network does not list api.example:8080",
			pannier.ToolHost{Host: "api.example:8080", Requests: 1, Refused: pannier.HostRefusedNotListed},
		},
		"private": {
			func(j *pannier.ToolJob) { j.Hosts = []string{host} }, fetch, "http://" + host, "; the address of " + host + " is not public", "add " + host + " to tools.http_allow", "403",
			pannier.ToolHost{Host: host, Requests: 1, Refused: pannier.HostRefusedPrivate},
		},
		"unreachable": {
			func(j *pannier.ToolJob) { j.Hosts = []string{"nowhere.invalid"} }, fetch, "https://nowhere.invalid/", "; the runner did not reach nowhere.invalid:443", "call again", "502 nowhere.invalid",
			pannier.ToolHost{Host: "nowhere.invalid:443", Requests: 1, Refused: pannier.HostUnreachable},
		},
		"without the proxy": {listed, plain, "api.example", "reached through HTTP_PROXY and HTTPS_PROXY only", "use a client that reads", "", pannier.ToolHost{}},
		"off": {
			off, fetch, "https://api.example/", "; network is off: tools.network (it asked for api.example:443)", "add api.example to tools.network", "403 network is off: tools.network",
			pannier.ToolHost{Host: "api.example:443", Requests: 1, Refused: pannier.HostRefusedOff},
		},
		"off, without the proxy": {off, plain, "api.example", "; network is off: tools.network", "ask the operator", "", pannier.ToolHost{}},
		"off, by address":        {off, plain, "192.0.2.1", "; network is off: tools.network", "ask the operator", "", pannier.ToolHost{}},
		"its own server":         {off, own, "", "", "", "name", pannier.ToolHost{}},
	} {
		j := shell(t, dir, "/usr/bin/python3", "-c", tt.program, tt.argument)
		j.Env = []string{"HTTP_PROXY"} // ours counts
		tt.settings(&j)
		got := run(t, e, j)
		if !strings.Contains(got.Output, tt.output) || got.OK != (tt.message == "") {
			t.Errorf("%s: %+v, %+v", name, got, got.Error)
		}
		if got.Error != nil && (!strings.Contains(got.Error.Message, tt.message) || !strings.Contains(got.Error.Hint, tt.hint)) {
			t.Errorf("%s: %q, %q", name, got.Error.Message, got.Error.Hint)
		}
		if tt.asked.Host == "" && len(got.Network) > 0 || tt.asked.Host != "" && (len(got.Network) != 1 || got.Network[0] != tt.asked) {
			t.Errorf("%s: %+v", name, got.Network)
		}
	}
}

// TestNetworkWithoutNamespaces refuses hosts, and says why nothing is reached.
func TestNetworkWithoutNamespaces(t *testing.T) {
	e := executor(t, Options{})
	e.support.Loopback = false
	j := shell(t, skill(t, ""), "sh", "-c", "echo socket: Operation not permitted; exit 1")
	got := run(t, e, j)
	if got.Error == nil || !strings.Contains(got.Error.Message, "no loopback of their own") || len(got.Network) > 0 {
		t.Errorf("%+v", got.Error)
	}
	j.Hosts = []string{"api.example"}
	if got := run(t, e, j); codeOf(got) != pannier.ToolSandboxUnavailable || !strings.Contains(got.Error.Hint, "pannier runner --check") {
		t.Errorf("%+v", got.Error)
	}
}
