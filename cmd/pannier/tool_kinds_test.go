package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pannier"
	"pannier/publish/client"
)

// kindsSkill has a tool of each kind; U is the address of an HTTP server.
const kindsSkill = `mkdir -p skills/kinds/scripts skills/kinds/tools; cd skills/kinds
cat > SKILL.md <<'EOF'
---
name: kinds
description: Has a tool of each kind.
runtime:
  tools:
    - {tool_slug: who, kind: shell, config: {command: [sh, -c, 'id -u; cat']}}
    - {tool_slug: where, kind: shell, config: {command: [sh, -c, 'cmp "$0/SKILL.md" "$1/SKILL.md" && echo same', '${skill_dir}', '${skill_asset_root}']}}
    - {tool_slug: post, kind: http, config: {url: 'U/{id}', method: post, headers: {Authorization: 'Bearer ${secret:KEY}'}, query: [q], body: [text]}}
    - {tool_slug: metadata, kind: http, config: {url: 'http://169.254.169.254/latest'}}
    - {tool_slug: loopback, kind: http, config: {url: 'http://[::1]:1/'}}
    - {tool_slug: proxy, kind: function_proxy, config: {target_tool: read_file}}
    - {tool_slug: itself, kind: function_proxy, config: {target_tool: skill.kinds.itself}}
---
Text
EOF
printf 'from langchain_core.tools import tool\n@tool\ndef add(a: int, b: int = 2) -> dict:\n    "Add."\n    print("adding")\n    return {"sum": a + b}\n@tool("times")\ndef multiply(a: int) -> int:\n    return 2 * a\n' > tools/sums.py
printf '#!/bin/sh\nfor a; do echo "<$a>"; done\n' > scripts/say; chmod 755 scripts/say
cat > scripts/count.sh <<'EOF'
# Counts lines.
# Usage: count.sh [--words] [--name NAME]
while [ $# -gt 0 ]; do
  case "$1" in
    --words) words=1; shift ;;
    --name) name="$2"; shift 2 ;;
    *) echo "unknown $1"; exit 2 ;;
  esac
done
text=$(cat)
echo "$name$words: $text"
EOF
`

// kindsCalls are calls of the tools, with what the result has.
var kindsCalls = []struct{ tool, arguments, want, code string }{
	{"where", `{}`, "same\n", ""},
	{"add", `{"a":40}`, "adding\n{\"sum\": 42}", ""},
	{"add", `{"a":"x"}`, "", pannier.ToolArgumentsInvalid},
	{"add", `{}`, "", pannier.ToolArgumentsInvalid},
	{"add", `{"a":1,"c":2}`, "", pannier.ToolArgumentsInvalid},
	{"times", `{"a":21}`, "42", ""},
	{"say", `{"argv":["--help","$(id)","a b"]}`, "<--help>\n<$(id)>\n<a b>\n", ""},
	{"count-sh", `{"name":"-n","words":true,"stdin":"a\nb\n"}`, "-n1: a\nb\n", ""},
	{"count-sh", `{"argv":["--words"],"stdin":"a"}`, "1: a\n", ""},
	{"count-sh", `{"argv":["--else"]}`, "", pannier.ToolFailed},
	{"count-sh", `{"other":1}`, "", pannier.ToolArgumentsInvalid},
	{"say", `{"argv":[],"stdin":"a"}`, "", pannier.ToolArgumentsInvalid},
	{"say", `{"argv":"one text"}`, "", pannier.ToolArgumentsInvalid},
	{"post", `{"id":"a/b","q":"1 2","text":"hello"}`, `POST /a%2Fb?q=1+2 Bearer *** {"text":"hello"}`, ""},
	{"metadata", `{}`, "", pannier.ToolHTTPRefused},
	{"metadata", `{"url":"http://example.org/"}`, "", pannier.ToolArgumentsInvalid},
	{"loopback", `{}`, "", pannier.ToolHTTPRefused},
	{"proxy", `{"arguments":{"path":"a"}}`, `{"tool":"read_file","arguments":{"path":"a"}}`, ""},
	{"proxy", `{"path":"b"}`, `{"tool":"read_file","arguments":{"path":"b"}}`, ""},
	{"itself", `{}`, "", pannier.ToolNotFound},
}

// kindsWorkspace has the skill, and a copy of the binary that every user can execute.
func kindsWorkspace(t *testing.T, script string) (base, program string) {
	t.Helper()
	base = shortDir(t)
	writeIn(t, base, "mkdir w w/skills state copies; echo value-of-the-key > key; cp "+binary+" pannier; cd w; ("+script+")\ncd ..; chmod -R a+rX .; chmod 777 . w state copies")
	return base, filepath.Join(base, "pannier")
}

// startTools runs a sidecar with tools as a user.
func startTools(t *testing.T, base, program string, as func(*exec.Cmd) *exec.Cmd, args ...string) *sidecarUnderTest {
	t.Helper()
	s := &sidecarUnderTest{workspace: filepath.Join(base, "w"), socket: filepath.Join(base, "s")}
	s.Client = client.New(s.socket)
	t.Cleanup(s.Close)
	cmd := exec.Command(program, append([]string{
		"run", "--workspace", s.workspace, "--socket", s.socket, "--state-dir", filepath.Join(base, "state"), "--environment-own", "block", "--resync", "0",
		"--debounce", "300ms", "--log-level", "debug", "--scan=report", "--tools-enabled", "--tools-kind", "shell,http,function_proxy,python,script",
	}, args...)...)
	s.process = startProcess(t, as(cmd))
	awaitReady(t, s.Client)
	return s
}

// allow lets the programs of a skill run, and waits until a tool of it can be called.
func (s *sidecarUnderTest) allow(t *testing.T, slug, tool string) {
	t.Helper()
	eventually(t, "programs of "+slug+" are allowed", func() error {
		if out, code := s.run("tool", "allow", slug); code != exitYes {
			return errors.New(out)
		}
		list, err := s.Tools(t.Context())
		for i := range list.Tools {
			if list.Tools[i].Name == tool && list.Tools[i].Why == nil {
				return err
			}
		}
		return errors.Join(err, fmt.Errorf("%+v", list))
	})
}

// codeOfCall returns the code of a refused call, or of its result.
func codeOfCall(result pannier.ToolResult, err error) (code, hint string) {
	if refused, ok := errors.AsType[*client.Error](err); ok {
		return refused.Code, refused.Hint
	}
	if err != nil {
		return err.Error(), ""
	}
	if result.Error != nil {
		return result.Error.Code, result.Error.Hint
	}
	return "", ""
}

// TestToolKinds calls tools of each kind, as root and as an ordinary user, with either runner.
func TestToolKinds(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %s", r.Method, r.RequestURI, r.Header.Get("Authorization"), body)
	}))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	for name, as := range users() {
		for _, where := range []string{"self", "agent"} {
			t.Run(name+" "+where, func(t *testing.T) {
				base, program := kindsWorkspace(t, strings.ReplaceAll(kindsSkill, "U/{id}", server.URL+"/{id}"))
				s := startTools(t, base, program, as, "--tools-runner", where, "--tools-runner-uids", "0,65533,"+fmt.Sprint(os.Geteuid()),
					"--tools-http-allow", host, "--tools-secret", "KEY@127.0.0.1/kinds=@"+filepath.Join(base, "key"))
				if where == "agent" {
					cmd := exec.Command(program, "runner", "--socket", s.socket, "--dir", filepath.Join(base, "copies"))
					startProcess(t, as(cmd))
				}
				s.allow(t, "kinds", "skill.kinds.who")
				who, err := s.CallTool(t.Context(), "skill.kinds.who", pannier.ToolCall{Arguments: json.RawMessage(`{"a":1}`)})
				if err != nil || !who.OK || strings.HasPrefix(who.Output, "0\n") || !strings.HasSuffix(who.Output, "\n{\"a\":1}") {
					t.Errorf("who: %+v, %v", who, err)
				}
				for _, tt := range kindsCalls {
					got, err := s.CallTool(t.Context(), "skill.kinds."+tt.tool, pannier.ToolCall{Arguments: json.RawMessage(tt.arguments)})
					code, hint := codeOfCall(got, err)
					text, _ := json.Marshal(got.Proxy)
					if code != tt.code || code != "" && hint == "" || !strings.Contains(got.Output+string(text), tt.want) {
						t.Errorf("%s %s: %q, %q, %+v, %+v, %v", tt.tool, tt.arguments, code, hint, got, got.Error, err)
					}
				}
			})
		}
	}
}

// TestToolOfVolume runs a script of a skill that is made of links, as volumes of Kubernetes are.
func TestToolOfVolume(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	w := reportWorkspace(t)
	writeIn(t, filepath.Join(w, "skills", "repo-review"), "mkdir ..1; mv SKILL.md scripts ..1; ln -s ..1 ..data; ln -s ..data/SKILL.md SKILL.md; ln -s ..data/scripts scripts")
	s := startSidecar(t, w, "--tools-enabled", "--tools-runner=self", "--scan=report", "--state-dir", t.TempDir())
	s.allow(t, "repo-review", reportTool)
	s.runs(t, exitYes, "report\n{}\n", "tool", "call", reportTool)
}
