package main

import (
	"bufio"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pannier"
	"pannier/publish/client"
)

// TestFewDescriptors runs a sidecar that may open 72 files: it takes 36 callers, of which 24 can follow the events, tells so
// in its health, and answers it when that many do.
func TestFewDescriptors(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(shortDir(t), "s")
	sidecar := exec.Command("sh", "-c", `ulimit -n 72; exec "$@"`, "sh", binary, "run", "--workspace", newWorkspace(t), "--socket", socket,
		"--state-dir", "none", "--platform-url", "off", "--resync", "0", "--log-level", "error")
	sidecar.Env = cleanEnviron()
	need(t, sidecar.Start())
	t.Cleanup(func() { sidecar.Process.Kill(); sidecar.Wait() })
	c := client.New(socket)
	t.Cleanup(c.Close)
	awaitReady(t, c)
	for range 24 {
		if status := openStream(t, socket); !strings.Contains(status, "200 OK") {
			t.Fatalf("a stream: %s", status)
		}
	}
	if status := openStream(t, socket); !strings.Contains(status, "503") {
		t.Errorf("one stream more: %s", status)
	}
	c.Close()
	h := must(c.Health(t.Context()))(t)
	at := slices.IndexFunc(h.Conditions, func(c pannier.Condition) bool { return c.Code == "few_descriptors" })
	if at < 0 || h.Status != pannier.HealthOK || !strings.Contains(h.Conditions[at].Message, "36 callers at a time, of which 24 can follow the events and 8 ") {
		t.Errorf("health: %+v", h)
	}
}

// openStream follows the events until the test ends, and returns the first line of the answer.
func openStream(t *testing.T, socket string) string {
	t.Helper()
	conn := must(net.Dial("unix", socket))(t)
	t.Cleanup(func() { conn.Close() })
	must(conn.Write([]byte("GET /v1/events HTTP/1.1\r\nHost: p\r\n\r\n")))(t)
	line := must(bufio.NewReader(conn).ReadString('\n'))(t)
	return line
}
