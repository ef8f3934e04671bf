package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"pannier"
)

// listeningPorts returns the TCP ports that a process listens on.
func listeningPorts(t *testing.T, pid int) (ports []string) {
	t.Helper()
	own := map[string]bool{}
	fds := must(os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid)))(t)
	for _, fd := range fds {
		target, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, fd.Name()))
		if inode, ok := strings.CutPrefix(target, "socket:["); ok {
			own[strings.TrimSuffix(inode, "]")] = true
		}
	}
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if err != nil {
			continue // a kernel without IPv6
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) > 9 && fields[3] == "0A" && own[fields[9]] {
				ports = append(ports, fields[1])
			}
		}
	}
	return ports
}

// TestEmbeddedPlatformHasNoPort runs a sidecar without a platform: its card is taken, its event stream is followed, and no
// other process can reach what takes it.
func TestEmbeddedPlatformHasNoPort(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	s := startSidecar(t, w)
	s.write(t, skillScript("first", "Comes first."))
	s.settled(t)
	if ports := listeningPorts(t, s.cmd.Process.Pid); len(ports) > 0 {
		t.Errorf("the sidecar listens on %v", ports)
	}
	health := must(s.Health(t.Context()))(t)
	if len(health.Push) != 1 || health.Push[0].Platform != "embedded development platform" {
		t.Errorf("push %+v", health.Push)
	}
	if slices.ContainsFunc(health.Conditions, func(c pannier.Condition) bool { return strings.HasPrefix(c.Code, "p") }) {
		t.Errorf("conditions %+v", health.Conditions)
	}
	eventually(t, "the event stream is followed", func() error {
		_, text := fetch(t, &s.HTTP, "http://pannier/metrics", "", "")
		if !strings.Contains(text, `pannier_platform_events_connected{platform="embedded"} 1`) {
			return fmt.Errorf("the metrics are %s", regexp.MustCompile(`(?m)^pannier_platform_events.*$`).FindAllString(text, -1))
		}
		return nil
	})
	if log := s.log.String(); strings.Contains(log, "127.0.0.1") || !strings.Contains(log, "embedded development platform, reachable in this process only") {
		t.Error("the log names an address, or not the embedded platform")
	}
}

// TestPlatformRefusesWebPages registers a stranger as a web page would, with the built binary on both sides. The agent's
// peers stay empty.
func TestPlatformRefusesWebPages(t *testing.T) {
	t.Parallel()
	p := startPlatform(t)
	s := startSidecar(t, newWorkspace(t), "--platform-url", p.url, "--platform-token-file", tokenFile(t))
	s.settled(t)
	const stranger = "99999999-9999-4999-8999-999999999999"
	body := `{"id":"` + stranger + `","url":"http://evil.example","agent_card":{"name":"Evil"}}`
	for _, page := range []struct{ host, origin, media string }{
		{"evil.example", "https://evil.example", "text/plain"},
		{"", "https://evil.example", "application/json"},
		{"", "", "text/plain"},
		{"evil.example", "", "application/json"},
	} {
		if status, text := postTo(t, p.url+"/registry/register", body, page.host, page.origin, page.media); status != http.StatusForbidden && status != http.StatusUnsupportedMediaType {
			t.Errorf("%+v: %d %s", page, status, text)
		}
	}
	s.settled(t)
	if status, peers := fetch(t, &s.HTTP, "http://pannier/v1/peers", "", ""); status != http.StatusOK || strings.Contains(peers, stranger) {
		t.Errorf("peers: %d %s", status, peers)
	}
	if status, text := postTo(t, p.url+"/registry/register", body, "", "", "application/json"); status != http.StatusOK {
		t.Errorf("a program: %d %s", status, text)
	}
}

// postTo posts a body as a page or a program would. An empty host is that of the address.
func postTo(t *testing.T, url, body, host, origin, media string) (int, string) {
	t.Helper()
	r := must(http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body)))(t)
	r.Header.Set("Content-Type", media)
	if origin != "" {
		r.Header.Set("Origin", origin)
	}
	r.Host, r.Close = host, true
	res := must(http.DefaultClient.Do(r))(t)
	defer res.Body.Close()
	text := must(io.ReadAll(res.Body))(t)
	return res.StatusCode, string(text)
}

// TestPlatformMemoryIsBounded posts 320 MiB of cards of many workspaces, some at the same time.
func TestPlatformMemoryIsBounded(t *testing.T) {
	p := startPlatform(t)
	card := bytes.Repeat([]byte("x"), 8<<20-1000)
	var posting sync.WaitGroup
	for n := range 4 {
		posting.Go(func() {
			for i := range 10 {
				body := fmt.Sprintf(`{"id":"00000000-0000-4000-8000-%012d","url":"http://agent.example","agent_card":"%s"}`, 10*n+i, card)
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/registry/register", strings.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				r.Header.Set("Content-Type", "application/json")
				if res, err := http.DefaultClient.Do(r); err == nil { // an early answer may reset the connection
					res.Body.Close()
				}
			}
		})
	}
	posting.Wait()
	// The race detector and the first collections take part of it; without bounds it is more than a gigabyte.
	if most := p.resident(t, "VmHWM"); most > 640<<10 {
		t.Errorf("the platform took %d MiB", most>>10)
	}
	if status, text := fetch(t, http.DefaultClient, p.url+"/health", "", ""); status != http.StatusOK {
		t.Errorf("afterwards: %d %s", status, text)
	}
}
