package sandbox

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// needLoopback skips a test where programs have no loopback interface of their own.
func needLoopback(t *testing.T) {
	t.Helper()
	needSandbox(t)
	if !Support().Loopback {
		t.Skipf("no loopback interface: %s", strings.Join(Support().Missing, "; "))
	}
}

// python returns the order for a Python program.
func python(t *testing.T, program string) Spec {
	t.Helper()
	if _, err := exec.LookPath("/usr/bin/python3"); err != nil {
		t.Skip(err)
	}
	spec := shell("")
	spec.Argv = []string{"/usr/bin/python3", "-I", "-c", program}
	return spec
}

// TestOwnLoopback has a program that starts a server and asks it by both families and by name, while one of the same port runs outside.
func TestOwnLoopback(t *testing.T) {
	needLoopback(t)
	outside, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer outside.Close()
	_, port, _ := net.SplitHostPort(outside.Addr().String())
	spec := python(t, `
import socket, sys
for family, host in (socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"), (socket.AF_INET, "localhost"):
    server = socket.socket(family)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind((host, `+port+`))
    server.listen()
    client = socket.create_connection((host, `+port+`))
    client.sendall(b"hello")
    print(host, server.accept()[0].recv(5).decode())
    server.close()
try:
    socket.create_connection(("192.0.2.1", 80), timeout=5)
except OSError as failed:
    print(failed.strerror)
`)
	if exit, out := runs(t, spec); out != "127.0.0.1 hello\n::1 hello\nlocalhost hello\nNetwork is unreachable\n" {
		t.Errorf("%q, %+v", out, exit)
	}
}

// TestServe has a program that reaches the listener of its parent, and nothing else.
func TestServe(t *testing.T) {
	needLoopback(t)
	withLayers(t, func(t *testing.T) {
		spec := python(t, `
import urllib.request
print(urllib.request.urlopen("http://192.0.2.1/x").read().decode())
`)
		spec.Env = append(spec.Env, "http_proxy=http://127.0.0.1:"+strconv.Itoa(ProxyPort))
		ended := false
		spec.Serve = func(socket *os.File) (stop func()) {
			l, err := net.FileListener(socket)
			must(t, err)
			socket.Close()
			go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.String()) }))
			return func() { ended = l.Close() == nil }
		}
		if !supported().namespaces {
			if _, err := Run(t.Context(), spec, io.Discard); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "network by hosts") {
				t.Errorf("without namespaces: %v", err)
			}
			return
		}
		if exit, out := runs(t, spec); out != "http://192.0.2.1/x\n" || !ended {
			t.Errorf("%q, %+v, ended %t", out, exit, ended)
		}
		spec.Argv = []string{"/no/such/program"}
		if _, err := Run(t.Context(), spec, io.Discard); !errors.Is(err, ErrNotStarted) {
			t.Errorf("a program that does not start: %v", err)
		}
	})
}
