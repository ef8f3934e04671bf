package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pannier/publish/client"
)

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
	w := newWorkspace(t)
	writeIn(t, w, skillScript("second", "Is the other one."))
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
