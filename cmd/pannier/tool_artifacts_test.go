package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pannier"
)

// leavesFiles is a tool that asks a host and leaves files.
const leavesFiles = `cd "$PANNIER_ARTIFACTS"
mkdir sub; printf 'a,b\n1,2\n' >sub/out.csv; head -c 3000000 /dev/zero >zero.bin; ln -s /etc/passwd link
python3 -c 'import urllib.request; print(urllib.request.urlopen("http://HOST/", timeout=20).read().decode())'
`

// TestArtifactsOfCalls go from a tool that reaches one host to every kind of client, by a runner of the agent and by the sidecar's own.
func TestArtifactsOfCalls(t *testing.T) {
	t.Parallel()
	if report := needsSandbox(t); !report.Loopback || report.Python == "" {
		t.Skip("a network by hosts takes namespaces, and the tool takes Python")
	}
	l := must(net.Listen("tcp", "127.0.0.2:0"))(t) // another address than those of NO_PROXY
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "answer") })}
	go server.Serve(l)
	defer server.Close()
	host := l.Addr().String()
	for _, where := range []string{"self", "agent"} {
		w := reportWorkspace(t)
		writeReport(t, w, strings.ReplaceAll(leavesFiles, "HOST", host))
		s := startSidecar(
			t, w, "--tools-enabled", "--tools-runner", where, "--tools-runner-uids", fmt.Sprint(os.Geteuid()), "--scan=report",
			"--tools-network", host+",api.example", "--tools-http-allow", host,
		)
		if where == "agent" {
			base := must(os.MkdirTemp("", "run"))(t)
			t.Cleanup(func() { os.RemoveAll(base) })
			need(t, os.Chmod(base, 0o755))
			startProcess(t, exec.Command(binary, "runner", "--socket", s.socket, "--dir", base))
		}
		s.refusedBy(t, pannier.ToolNotAllowed)
		s.runs(t, exitYes, "", "tool", "allow", "repo-review", "--yes")
		s.refusedBy(t, "") // the runner is connected, too
		dir := filepath.Join(t.TempDir(), "saved")
		s.runs(t, exitYes, "answer", "tool", "call", reportTool, "--save", dir, "--call-id", "c1")
		csv, err1 := os.ReadFile(filepath.Join(dir, "sub", "out.csv"))
		zero, err2 := os.ReadFile(filepath.Join(dir, "zero.bin"))
		if string(csv) != "a,b\n1,2\n" || len(zero) != 3000000 || errors.Join(err1, err2) != nil {
			t.Errorf("%s: saved %q and %d bytes, %v, %v", where, csv, len(zero), err1, err2)
		}
		if _, err := os.Lstat(filepath.Join(dir, "link")); err == nil {
			t.Errorf("%s: a link was saved", where)
		}
		s.runs(t, exitUnknown, "is there already", "tool", "call", reportTool, "--save", dir)
		s.hasEvent(t, pannier.EventSkillToolCalled, `"media_type":"text/csv"`)
		s.hasEvent(t, pannier.EventSkillToolCalled, `"host":"`+host+`"`)
		if _, _, err := s.Artifact(t.Context(), "c1", "link"); err == nil || !strings.Contains(err.Error(), "no artifact of this name") {
			t.Errorf("%s: the link: %v", where, err)
		}
		h := startMCP(t, mcpVersions[0], command("mcp", "--socket", s.socket))
		result := must(h.CallTool(t.Context(), &mcp.CallToolParams{Name: "skill__repo-review__run-report"}))(t)
		var read []string
		for _, c := range result.Content {
			if link, ok := c.(*mcp.ResourceLink); ok && link.Name == "sub/out.csv" {
				got := must(h.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: link.URI}))(t)
				read = append(read, got.Contents[0].Text)
			}
		}
		if len(read) != 1 || read[0] != string(csv) {
			t.Errorf("%s: MCP read %q of %+v", where, read, result.Content)
		}
		answer := must(s.Client.Call(t.Context(), "skills/tools/call", map[string]any{"name": reportTool}))(t)
		if !strings.Contains(string(answer), `"name":"zero.bin"`) {
			t.Errorf("%s: JSON-RPC answers %s", where, answer)
		}
	}
}
