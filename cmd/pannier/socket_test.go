package main

import (
	"bufio"
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

	"pannier/publish/client"
)

// TestClientsFindTheSocket compares the rule of the example clients with the cases that the rule of the sidecar is tested with, and
// what they find in an environment with what `pannier socket` prints in it.
func TestClientsFindTheSocket(t *testing.T) {
	t.Parallel()
	cases := must(filepath.Abs("../../config/testdata/sockets.json"))(t)
	programs := map[string]string{
		"python3": `
import json, sys
from pannier import default_socket
for c in json.load(open(sys.argv[1])):
    got = default_socket(c["environ"], c["uid"])
    if got != c["want"]:
        print(c["name"], repr(got))
print(default_socket())
`,
		"node": `
const { readFileSync } = await import("node:fs");
const { defaultSocket } = await import(process.cwd() + "/examples/node/pannier.mjs");
for (const c of JSON.parse(readFileSync(process.argv[1]))) {
  const got = defaultSocket(c.environ, c.uid);
  if (got !== c.want) console.log(c.name, got);
}
console.log(defaultSocket());
`,
	}
	environs := map[string][]string{
		"own socket":        {"PANNIER_SOCKET=/own.sock", "XDG_RUNTIME_DIR=/run/user/7", "HOME=/h"},
		"runtime directory": {"PANNIER_SOCKET=", "XDG_RUNTIME_DIR=/run/user/7", "HOME=/h"},
		"home":              {"PANNIER_SOCKET=", "HOME=/h"},
	}
	forEachExample(t, func(t *testing.T, e example) {
		flag := map[string][]string{"python3": {"-c"}, "node": {"--input-type=module", "--eval"}}[e.interpreter]
		for name, environ := range environs {
			ours := exec.Command(binary, "socket")
			ours.Env = append([]string{"PATH=" + os.Getenv("PATH")}, environ...)
			want, err := ours.CombinedOutput()
			if err != nil || !strings.HasPrefix(string(want), "/") {
				t.Errorf("%s: pannier socket: %v %s", name, err, want)
			}
			theirs := e.command("", append(flag, programs[e.interpreter], cases)...)
			theirs.Env = append(append(ours.Env, "PYTHONPATH=examples/python", "PYTHONDONTWRITEBYTECODE=1"), environ...)
			if got, err := theirs.CombinedOutput(); err != nil || string(got) != string(want) {
				t.Errorf("%s: printed (%v) %s, and pannier socket printed %s", name, err, got, want)
			}
		}
	})
}

// TestHealthShowsTheSocket finds the address that was asked in what health prints.
func TestHealthShowsTheSocket(t *testing.T) {
	t.Parallel()
	s := startSidecar(t, newWorkspace(t), "--platform-url", "off")
	cmd := command("health", "--socket", s.socket)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "socket        "+s.socket+"\n") {
		t.Errorf("printed (%v)\n%s", err, out)
	}
}

// keptConnection is a connection to a socket that is used for one request after the other.
type keptConnection struct {
	net.Conn
	read *bufio.Reader
}

func keepConnection(t *testing.T, socket string) *keptConnection {
	t.Helper()
	conn := must(net.Dial("unix", socket))(t)
	t.Cleanup(func() { conn.Close() })
	return &keptConnection{conn, bufio.NewReader(conn)}
}

func (k *keptConnection) get(t *testing.T, path string) (int, string) {
	t.Helper()
	need(t, k.SetDeadline(time.Now().Add(patience)))
	must(fmt.Fprintf(k, "GET %s HTTP/1.1\r\nHost: pannier\r\n\r\n", path))(t)
	res := must(http.ReadResponse(k.read, nil))(t)
	defer res.Body.Close()
	body := must(io.ReadAll(res.Body))(t)
	return res.StatusCode, string(body)
}

// answersAt waits until a new connection to a socket is answered.
func answersAt(t *testing.T, socket string) {
	t.Helper()
	eventually(t, "a new connection is answered", func() error {
		c := client.New(socket)
		defer c.Close()
		_, err := c.Health(t.Context())
		return err
	})
}

// becomes waits until an address is answered with a status and a text.
func becomes(t *testing.T, url string, want int, text string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s is answered with %d", url, want), func() error {
		if status, body := fetch(t, http.DefaultClient, url, "", ""); status != want || !strings.Contains(body, text) {
			return fmt.Errorf("%d %s", status, body)
		}
		return nil
	})
}

func remove(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		need(t, os.RemoveAll(path))
	}
}

// TestSocketFileThatIsRemoved takes away the file, the file and its lock, and the directory. The sidecar listens anew each
// time, and connections go on.
func TestSocketFileThatIsRemoved(t *testing.T) {
	t.Parallel()
	s := startSidecar(t, newWorkspace(t), "--platform-url", "off")
	kept := keepConnection(t, s.socket)
	for _, gone := range [][]string{{s.socket}, {s.socket, s.socket + ".lock"}, {filepath.Dir(s.socket)}} {
		remove(t, gone...)
		answersAt(t, s.socket)
		if info, err := os.Lstat(s.socket + ".lock"); err != nil || !info.Mode().IsRegular() {
			t.Errorf("after %v the lock is %v, %v", gone, info, err)
		}
		if status, body := kept.get(t, "/livez"); status != http.StatusOK {
			t.Errorf("after %v the kept connection has %d %s", gone, status, body)
		}
	}
	s.stops(t)
	if left, err := os.ReadDir(filepath.Dir(s.socket)); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// TestSocketFileThatIsReplaced puts a file in the place of the socket. The sidecar is not live until it is gone, and leaves
// it alone.
func TestSocketFileThatIsReplaced(t *testing.T) {
	t.Parallel()
	s := startSidecar(t, newWorkspace(t), "--platform-url", "off", "--listen", "127.0.0.1:0")
	live := "http://" + s.listenAddress(t) + "/livez"
	kept := keepConnection(t, s.socket)
	remove(t, s.socket)
	need(t, os.WriteFile(s.socket, []byte("kept"), 0o600))
	becomes(t, live, http.StatusServiceUnavailable, s.socket)
	if status, body := kept.get(t, "/v1/health"); status != http.StatusOK || !strings.Contains(body, `"socket_lost"`) {
		t.Errorf("health on the kept connection: %d %s", status, body)
	}
	if text, err := os.ReadFile(s.socket); err != nil || string(text) != "kept" {
		t.Errorf("the file holds %q, %v", text, err)
	}
	remove(t, s.socket)
	answersAt(t, s.socket)
	becomes(t, live, http.StatusOK, "")
}

// TestSocketOfAnotherSidecarIsNotTaken removes the socket and the lock of one sidecar, and starts another one there before
// the first has noticed. The first is not live and takes nothing; once the second has ended, it listens again.
func TestSocketOfAnotherSidecarIsNotTaken(t *testing.T) {
	t.Parallel()
	first := startSidecar(t, newWorkspace(t), "--platform-url", "off", "--listen", "127.0.0.1:0")
	live := "http://" + first.listenAddress(t) + "/livez"
	w := workspaceWith(t, skillScript("second", "Is the other one."))
	// The path is another one for the second, so that its start does not wait for the first to notice.
	socket := filepath.Join(shortDir(t), "s")
	second := start(t, "run", "--workspace", w, "--socket", socket, "--state-dir", "none", "--environment-own", "block", "--platform-url", "off")
	answersAt(t, socket)
	for _, name := range []string{"", ".lock"} { // in one step each, as a second sidecar that was quicker would have it
		if err := os.Link(socket+name, first.socket+".new"); err != nil {
			t.Skip(err)
		}
		need(t, os.Rename(first.socket+".new", first.socket+name))
	}
	becomes(t, live, http.StatusServiceUnavailable, "")
	c := client.New(first.socket)
	defer c.Close()
	for until := time.Now().Add(3 * time.Second); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		if list, err := c.Skills(t.Context(), "", true); err != nil || len(list.Skills) != 1 {
			t.Fatalf("the second sidecar answers %+v %v", list, err)
		}
	}
	second.kill()
	eventually(t, "the first sidecar listens again", func() error {
		c := client.New(first.socket)
		defer c.Close()
		list, err := c.Skills(t.Context(), "", true)
		if err == nil && len(list.Skills) != 0 {
			err = errors.New("this is the second one")
		}
		return err
	})
}

// TestLockFileOfOthersKeepsItsMode has a file of others in the place of the lock.
func TestLockFileOfOthersKeepsItsMode(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(shortDir(t), "s")
	need(t, os.WriteFile(socket+".lock", []byte("notes"), 0o600))
	need(t, os.Chmod(socket+".lock", 0o644))
	start(t, "run", "--workspace", newWorkspace(t), "--socket", socket, "--state-dir", "none", "--environment-own", "block", "--platform-url", "off")
	answersAt(t, socket)
	if info, err := os.Stat(socket + ".lock"); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("the lock is %v, %v", info, err)
	}
}
