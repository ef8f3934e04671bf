package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pannier/publish/client"
)

// mcpBench is a sidecar with default settings on skills of three files each.
type mcpBench struct {
	workspace, socket string
	process           *os.Process
	http              *http.Client
}

func benchMCPSidecar(b *testing.B, skills int) *mcpBench {
	b.Helper()
	dir := must(os.MkdirTemp("", "p"))(b)
	b.Cleanup(func() { os.RemoveAll(dir) })
	s := &mcpBench{workspace: filepath.Join(dir, "w"), socket: filepath.Join(dir, "s")}
	for i := range skills {
		s.edit(b, i, "first")
		at := filepath.Join(s.workspace, "skills", fmt.Sprintf("skill-%04d", i), "references")
		need(b, os.MkdirAll(at, 0o755))
		for _, name := range []string{"a.md", "b.md"} {
			need(b, os.WriteFile(filepath.Join(at, name), []byte(strings.Repeat("Some reference.\n", 100)), 0o600))
		}
	}
	cmd := command("run", "--workspace", s.workspace, "--platform-url", "off", "--socket", s.socket, "--state-dir", filepath.Join(dir, "state"), "--log-level", "error")
	need(b, cmd.Start())
	b.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	s.process, s.http = cmd.Process, socketClient(s.socket)
	c := client.New(s.socket)
	defer c.Close()
	for deadline := time.Now().Add(patience); c.Ready(b.Context()) != nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.Fatal("the sidecar is not ready")
		}
	}
	return s
}

// edit replaces the SKILL.md of a skill.
func (s *mcpBench) edit(b *testing.B, i int, what string) {
	b.Helper()
	at := filepath.Join(s.workspace, "skills", fmt.Sprintf("skill-%04d", i))
	need(b, os.MkdirAll(at, 0o755))
	text := fmt.Sprintf("---\nname: skill-%04d\ndescription: %s. %s\nlicense: Apache-2.0\nmetadata:\n  author: bench\n---\n%s", i, what, strings.Repeat("Does what it says. ", 8), strings.Repeat("Do one thing after the other.\n", 100))
	fresh := filepath.Join(s.workspace, "new")
	need(b, os.WriteFile(fresh, []byte(text), 0o600))
	need(b, os.Rename(fresh, filepath.Join(at, "SKILL.md")))
}

func (s *mcpBench) connect(b *testing.B, version string, o *mcp.ClientOptions) *mcp.ClientSession {
	b.Helper()
	transport := &mcp.StreamableClientTransport{Endpoint: "http://pannier/mcp", HTTPClient: s.http}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, o).Connect(b.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	need(b, err)
	b.Cleanup(func() { session.Close() })
	return session
}

func reportTimes(b *testing.B, took []time.Duration) {
	b.Helper()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// send sends a request to a route and returns the size of the answer.
func (s *mcpBench) send(b *testing.B, method, target, body string, headers ...string) int64 {
	req := must(http.NewRequestWithContext(b.Context(), method, "http://pannier"+target, strings.NewReader(body)))(b)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res := must(s.http.Do(req))(b)
	defer res.Body.Close()
	n, err := io.Copy(io.Discard, res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		b.Fatal(res.Status, err)
	}
	return n
}

// call calls a method of the protocol without sessions.
func (s *mcpBench) call(b *testing.B, method, name, params string) int64 {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	return s.send(b, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+params+meta+`}}`,
		"Content-Type", "application/json", "Accept", "application/json, text/event-stream", "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", method, "Mcp-Name", name)
}

// BenchmarkMCP measures what hosts ask for of 1,000 skills, with what the HTTP API has for the same beside it.
func BenchmarkMCP(b *testing.B) {
	s := benchMCPSidecar(b, 1000)
	s.call(b, "skills/list", "", "") // which computes the manifests
	for _, bm := range []struct {
		name string
		ask  func(n int) int64
	}{
		{"activate_skill", func(n int) int64 {
			return s.call(b, "tools/call", "activate_skill", fmt.Sprintf(`"name":"activate_skill","arguments":{"name":"skill-%04d"},`, n%1000))
		}},
		{"HTTP-content", func(n int) int64 { return s.send(b, "GET", fmt.Sprintf("/v1/skills/skill-%04d/content", n%1000), "") }},
		{"skills-list", func(int) int64 { return s.call(b, "skills/list", "", "") }},
		{"HTTP-skills", func(int) int64 { return s.send(b, "GET", "/v1/skills", "") }},
		{"skills-get", func(n int) int64 {
			return s.call(b, "skills/get", "", fmt.Sprintf(`"uri":"skill://skill-%04d/SKILL.md",`, n%1000))
		}},
		{"resources-read", func(n int) int64 {
			uri := fmt.Sprintf("skill://skill-%04d/references/a.md", n%1000)
			return s.call(b, "resources/read", uri, `"uri":"`+uri+`",`)
		}},
		{"resources-list", func(int) int64 { return s.call(b, "resources/list", "", "") }},
		{"tools-list", func(int) int64 { return s.call(b, "tools/list", "", "") }},
		{"prompts-list", func(int) int64 { return s.call(b, "prompts/list", "", "") }},
	} {
		b.Run(bm.name, func(b *testing.B) {
			var took []time.Duration
			var size int64
			for n := 0; b.Loop(); n++ {
				began := time.Now()
				size = bm.ask(n)
				took = append(took, time.Since(began))
			}
			reportTimes(b, took)
			b.ReportMetric(float64(size)/1000, "kB")
		})
	}
}

// BenchmarkMCPNotification measures from the rename that ends an edit to the notification of a host, with default settings. Use
// -benchtime 100x: each edit waits for the one before to be over.
func BenchmarkMCPNotification(b *testing.B) {
	s := benchMCPSidecar(b, 100)
	changed := make(chan struct{}, 16)
	s.connect(b, eras["sessions"], &mcp.ClientOptions{ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { changed <- struct{}{} }})
	var took []time.Duration
	for n := 0; b.Loop(); n++ {
		b.StopTimer()
		time.Sleep(500 * time.Millisecond)
		for len(changed) > 0 {
			<-changed
		}
		b.StartTimer()
		s.edit(b, n%100, strconv.Itoa(n))
		began := time.Now()
		<-changed
		took = append(took, time.Since(began))
	}
	reportTimes(b, took)
}

// BenchmarkMCPHosts measures the memory of a sidecar with 200 hosts that follow changes and call tools, half of each era.
func BenchmarkMCPHosts(b *testing.B) {
	s := benchMCPSidecar(b, 100)
	for b.Loop() {
		told := make(chan struct{}, 1000)
		var hosts []*mcp.ClientSession
		for n := range 200 {
			version := eras["sessions"]
			if n%2 == 0 {
				version = eras["stateless"]
			}
			hosts = append(hosts, s.connect(b, version, &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {}, ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { told <- struct{}{} }}))
		}
		for _, host := range hosts {
			go func() {
				for n := range 10 {
					_, _ = host.CallTool(b.Context(), &mcp.CallToolParams{Name: "activate_skill", Arguments: json.RawMessage(fmt.Sprintf(`{"name":"skill-%04d"}`, n))})
				}
				told <- struct{}{}
			}()
		}
		for range hosts {
			<-told
		}
		began := time.Now()
		s.edit(b, 0, time.Now().String())
		for range hosts {
			<-told
		}
		b.ReportMetric(float64(time.Since(began).Milliseconds()), "all-told-ms")
	}
	status := must(os.ReadFile(fmt.Sprintf("/proc/%d/status", s.process.Pid)))(b)
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kB, _ := strconv.Atoi(strings.Fields(text)[0])
			b.ReportMetric(float64(kB)/1000, "peak-MB")
		}
	}
}
