package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pannier"
	"pannier/publish/client"
)

// TestListenUnderManyConnections holds 2,000 silent connections to the listener of a sidecar that may open 1,024 files. The
// socket and the probes answer, and so does the listener.
func TestListenUnderManyConnections(t *testing.T) {
	const flood = 2000
	needFiles(t, flood+200)
	socket := filepath.Join(shortDir(t), "s")
	p := startCommand(t, "", "sh", "-c", `ulimit -n 1024; exec "$@"`, "sh", binary, "run", "--workspace", newWorkspace(t), "--socket", socket,
		"--workspace-id", testWorkspaceID, "--state-dir", "none", "--environment-own", "block", "--platform-url", "off", "--listen", "127.0.0.1:0")
	s := &sidecarUnderTest{process: p, socket: socket, Client: client.New(socket)}
	t.Cleanup(s.Close)
	awaitReady(t, s.Client)
	address := s.listenAddress(t)
	for range flood {
		conn := must(net.Dial("tcp", address))(t)
		t.Cleanup(func() { conn.Close() })
	}
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		probe := exec.CommandContext(ctx, binary, "probe", "--live", "--socket", socket)
		probe.Env = cleanEnviron()
		if out, err := probe.CombinedOutput(); err != nil {
			t.Errorf("probe: %v %s", err, out)
		}
		if _, err := s.Client.Health(ctx); err != nil {
			t.Errorf("the socket: %v", err)
		}
		cancel()
	}
	if fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.cmd.Process.Pid)); err != nil || len(fds) > 200 {
		t.Errorf("%d descriptors are open, %v", len(fds), err)
	}
	c := &http.Client{Timeout: patience}
	for _, path := range []string{"/livez", "/metrics"} {
		if status, body := fetch(t, c, "http://"+address+path, "", ""); status != http.StatusOK {
			t.Errorf("%s over TCP: %d %s", path, status, body)
		}
	}
}

// TestListenDoesNotWaitForBodies sends the listener requests whose bodies never come. It answers others meanwhile.
func TestListenDoesNotWaitForBodies(t *testing.T) {
	const flood = 600
	needFiles(t, 2*flood)
	s := startSidecar(t, newWorkspace(t), "--platform-url", "off", "--listen", "127.0.0.1:0")
	address := s.listenAddress(t)
	sendHalfRequests(t, address, flood)
	begun := time.Now()
	if status, body := fetch(t, &http.Client{Timeout: patience}, "http://"+address+"/livez", "", ""); status != http.StatusOK {
		t.Errorf("/livez: %d %s", status, body)
	}
	if took := time.Since(begun); took > 15*time.Second {
		t.Errorf("it answered after %v", took)
	}
}

// sendHalfRequests sends requests whose bodies never come, each over a connection from another address.
func sendHalfRequests(t *testing.T, address string, n int) {
	t.Helper()
	for i := range n {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, byte(1+i/200), byte(1+i%200))}}
		conn := must(dialer.DialContext(t.Context(), "tcp", address))(t)
		t.Cleanup(func() { conn.Close() })
		head := "Content-Length: 1000"
		if i%2 == 1 {
			head = "Transfer-Encoding: chunked"
		}
		must(fmt.Fprintf(conn, "POST /v1/rescan HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n", head))(t)
	}
}

// TestTokenHoldersDoNotWaitForBodies sends the API requests without a token whose bodies never come.
func TestTokenHoldersDoNotWaitForBodies(t *testing.T) {
	const flood = 2000
	needFiles(t, 2*flood)
	file, token := newTokens(t)
	s := startSidecar(t, newWorkspace(t), "--platform-url", "off", "--api-listen", "127.0.0.1:0", "--api-tokens", file)
	address := s.apiAddress(t)
	sendHalfRequests(t, address, flood)
	f := far{client: &http.Client{Timeout: patience}, base: "http://" + address}
	begun := time.Now()
	if status, body := f.ask(t, token["read"], "GET", "/v1/skills", ""); status != http.StatusOK {
		t.Errorf("%d %s", status, body)
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it answered after %v", took)
	}
}

// flooding opens silent connections at a rate, from each of the source addresses in turn, until the test ends.
func flooding(t *testing.T, address string, perSecond int, sources []string) {
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		var open []net.Conn
		defer func() {
			for _, conn := range open {
				conn.Close()
			}
		}()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ; {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			for range perSecond / 100 {
				dialer := net.Dialer{Timeout: time.Second, LocalAddr: &net.TCPAddr{IP: net.ParseIP(sources[n%len(sources)])}}
				n++
				if conn, err := dialer.DialContext(ctx, "tcp", address); err == nil {
					open = append(open, conn)
				}
			}
			for len(open) > 4000 {
				open[0].Close()
				open = open[1:]
			}
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
}

// TestTokenHoldersAreServedInAFlood opens 500 silent connections a second, from one address and from many, while the holder of
// a token asks over new connections from another address.
func TestTokenHoldersAreServedInAFlood(t *testing.T) {
	t.Parallel()
	needFiles(t, 4500)
	many := make([]string, 100)
	for i := range many {
		many[i] = fmt.Sprintf("127.0.1.%d", i+1)
	}
	for name, sources := range map[string][]string{"one address": {"127.0.0.2"}, "many addresses": many} {
		t.Run(name, func(t *testing.T) {
			file, token := newTokens(t)
			s := startSidecar(t, newWorkspace(t), "--platform-url", "off", "--api-listen", "127.0.0.1:0", "--api-tokens", file)
			address := s.apiAddress(t)
			flooding(t, address, 500, sources)
			f := far{client: &http.Client{Timeout: patience}, base: "http://" + address}
			until := time.Now().Add(8 * time.Second)
			var slowest time.Duration
			for asked := 0; time.Now().Before(until); asked++ {
				begun := time.Now()
				if status, body := f.ask(t, token["read"], "GET", "/v1/skills", ""); status != http.StatusOK {
					t.Fatalf("request %d: %d %s", asked, status, body)
				}
				slowest = max(slowest, time.Since(begun))
				time.Sleep(50 * time.Millisecond)
			}
			t.Logf("the slowest request took %v", slowest)
			if slowest > 1500*time.Millisecond {
				t.Errorf("the slowest request took %v", slowest)
			}
		})
	}
}

// TestRepeatedFailuresAreSlow guesses tokens from one address, while the holder of one is served at once.
func TestRepeatedFailuresAreSlow(t *testing.T) {
	file, token := newTokens(t)
	s := startSidecar(t, newWorkspace(t), "--platform-url", "off", "--api-listen", "127.0.0.1:0", "--api-tokens", file)
	address := s.apiAddress(t)
	from := func(source string) far {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}}
		return far{client: &http.Client{Timeout: patience, Transport: &http.Transport{DialContext: dialer.DialContext}}, base: "http://" + address}
	}
	guesser, holder := from("127.0.0.2"), from("127.0.0.1")
	begun := time.Now()
	for range 14 { // of which four wait: 100, 200, 400 and 800 ms
		if status, body := guesser.ask(t, "guess", "GET", "/v1/skills", ""); status != http.StatusUnauthorized {
			t.Fatalf("a guess: %d %s", status, body)
		}
	}
	if took := time.Since(begun); took < 1500*time.Millisecond {
		t.Errorf("14 guesses took %v", took)
	}
	if status, body := holder.ask(t, token["read"], "GET", "/v1/skills", ""); status != http.StatusOK {
		t.Errorf("the holder: %d %s", status, body)
	}
	begun = time.Now()
	if status, body := guesser.ask(t, token["read"], "GET", "/v1/skills", ""); status != http.StatusOK || time.Since(begun) > time.Second {
		t.Errorf("a good token from the address of the guesses: %d %s after %v", status, body, time.Since(begun))
	}
}

// TestTooFewDescriptors starts a sidecar that could not open enough files to answer.
func TestTooFewDescriptors(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sh", "-c", `ulimit -n 16; exec "$@"`, "sh", binary, "run", "--workspace", newWorkspace(t), "--state-dir", "none",
		"--socket", filepath.Join(shortDir(t), "s"), "--platform-url", "off")
	cmd.Env = cleanEnviron()
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != exitUnknown || !strings.Contains(string(out), "the process may open 16 files") || !strings.Contains(string(out), "hint: raise") {
		t.Errorf("%v\n%s", err, out)
	}
}

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
